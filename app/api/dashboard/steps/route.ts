import { readSteps } from '#lib/dashboard/steps.ts'
import { StepsRead } from '#lib/dashboard/wire.ts'
import { endpoint } from '#lib/http/endpoint.ts'

export const GET = endpoint({
  summary: 'Which of the first steps a merchant has made',
  allow: 'dashboard:read',
  answer: StepsRead,
  async handle({ account, mode }) {
    return { data: await readSteps(account.id, mode) }
  },
})
