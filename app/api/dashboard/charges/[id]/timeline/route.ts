import { ChargeStoryRead, readChargeStory } from '#lib/dashboard/charge-timeline.ts'
import { endpoint } from '#lib/http/endpoint.ts'

export const GET = endpoint({
  summary: 'Tell what became of a charge',
  allow: 'dashboard:read',
  answer: ChargeStoryRead,
  refuses: ['transaction_not_found'],
  async handle({ account, mode, params }) {
    return { data: await readChargeStory(account.id, mode, params.id ?? '') }
  },
})
