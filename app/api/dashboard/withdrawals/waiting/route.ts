import { requireActor } from '#lib/audit/record.ts'
import { listWaiting, WaitingList } from '#lib/dashboard/timeline.ts'
import { endpoint } from '#lib/http/endpoint.ts'

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
