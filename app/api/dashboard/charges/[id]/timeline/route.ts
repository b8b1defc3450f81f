import { endpoint } from '#lib/edge/http/endpoint.ts'
import { ChargeStoryRead, readChargeStory } from '#lib/views/dashboard/charge-timeline.ts'

export const GET = endpoint({
  summary: 'Read the timeline of a charge',
  allow: 'dashboard:read',
  answer: ChargeStoryRead,
  refuses: ['transaction_not_found'],
  async handle({ account, mode, params }) {
    return { data: await readChargeStory(account.id, mode, params.id ?? '') }
  },
})
