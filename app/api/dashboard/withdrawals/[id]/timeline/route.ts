import { requireActor } from '#lib/base/audit/note.ts'
import { endpoint } from '#lib/edge/http/endpoint.ts'
import { maskWithdrawal } from '#lib/rooms/withdrawals/wire.ts'
import { WithdrawalTimelineRead } from '#lib/views/dashboard/timeline-wire.ts'
import { readWithdrawalTimeline } from '#lib/views/dashboard/withdrawal-timeline.ts'

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
