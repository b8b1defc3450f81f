import { endpoint } from '#lib/edge/http/endpoint.ts'
import { readFirstSteps } from '#lib/views/dashboard/first-steps.ts'
import { StepsRead } from '#lib/views/dashboard/wire.ts'

export const GET = endpoint({
  method: 'GET',
  summary: 'Read the completed onboarding steps',
  allow: 'dashboard:read',
  response: StepsRead,
  async handle({ account, mode }) {
    return { data: await readFirstSteps(account.id, mode) }
  },
})
