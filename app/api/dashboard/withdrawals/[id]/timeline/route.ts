import { endpoint } from '#lib/edge/http/endpoint.ts'
import { readWithdrawalStory, StoryRead } from '#lib/views/dashboard/withdrawal-timeline.ts'

export const GET = endpoint({
  summary: 'Read the timeline of a withdrawal',
  allow: 'dashboard:read',
  answer: StoryRead,
  refuses: ['withdrawal_not_found'],
  async handle({ account, mode, params }) {
    return { data: await readWithdrawalStory(account.id, mode, params.id ?? '') }
  },
})
