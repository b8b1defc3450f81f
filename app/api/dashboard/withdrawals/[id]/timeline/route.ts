import { requireActor } from '#lib/audit/record.ts'
import { readWithdrawalTimeline, WithdrawalTimelineRead } from '#lib/dashboard/timeline.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import { maskWithdrawal } from '#lib/withdrawals/wire.ts'

export const GET = endpoint({
  method: 'GET',
  isCompressible: true,
  summary: 'Read the timeline of a withdrawal',
  allow: 'dashboard:read',
  response: WithdrawalTimelineRead,
  mask: ({ data }) => ({ data: { ...data, withdrawal: maskWithdrawal(data.withdrawal) } }),
  errorCodes: ['withdrawal_not_found'],
  async handle({ account, mode, params: { id = '' }, userId }) {
    const { id: reader } = requireActor(userId)
    return { data: await readWithdrawalTimeline(account.id, mode, id, reader) }
  },
})
