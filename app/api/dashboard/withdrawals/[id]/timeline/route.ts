import { readWithdrawalStory, StoryRead } from '#lib/dashboard/withdrawal-timeline.ts'
import { endpoint } from '#lib/http/endpoint.ts'

export const GET = endpoint({
  summary: 'Tell what became of a withdrawal',
  allow: 'dashboard:read',
  answer: StoryRead,
  refuses: ['withdrawal_not_found'],
  async handle({ account, mode, params }) {
    return { data: await readWithdrawalStory(account.id, mode, params.id ?? '') }
  },
})
