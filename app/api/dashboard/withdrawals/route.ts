import { listQuery } from '#lib/core/fields.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import { pageResult } from '#lib/http/query.ts'
import { listShownWithdrawals } from '#lib/withdrawals/queries.ts'
import { WITHDRAWAL_STATUSES } from '#lib/withdrawals/states.ts'
import { ListedWithdrawalPage } from '#lib/withdrawals/wire.ts'

export const GET = endpoint({
  method: 'GET',
  isCompressible: true,
  summary: 'List withdrawals with the receivers that the bank has named',
  allow: 'dashboard:read',
  query: listQuery(WITHDRAWAL_STATUSES),
  response: ListedWithdrawalPage,
  async handle({ account, mode, query, isViewing }) {
    return pageResult(await listShownWithdrawals(account.id, mode, query, { isViewing }))
  },
})
