import { readFirstSteps } from '#lib/dashboard/home.ts'
import { StepsRead } from '#lib/dashboard/wire.ts'
import { endpoint } from '#lib/http/endpoint.ts'

export const GET = endpoint({
  method: 'GET',
  summary: 'Read the completed onboarding steps',
  allow: 'dashboard:read',
  response: StepsRead,
  async handle({ account, mode }) {
    return { data: await readFirstSteps(account.id, mode) }
  },
})
