import { requireActor } from '#lib/base/audit/note.ts'
import { endpoint } from '#lib/edge/http/endpoint.ts'
import { listWaiting } from '#lib/views/dashboard/approvals.ts'
import { WaitingList } from '#lib/views/dashboard/timeline-wire.ts'

export const GET = endpoint({
  method: 'GET',
  isCompressible: true,
  summary: 'List the withdrawals that wait for approval',
  allow: 'dashboard:read',
  response: WaitingList,
  async handle({ account, mode, userId }) {
    return { data: await listWaiting(account.id, mode, requireActor(userId).id) }
  },
})
