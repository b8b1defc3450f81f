import { listQuery } from '#lib/core/fields.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import { pageResult } from '#lib/http/input.ts'
import { listShownWithdrawals, totalWithdrawals } from '#lib/withdrawals/queries.ts'
import { WITHDRAWAL_STATUSES } from '#lib/withdrawals/states.ts'
import { ListedWithdrawalPage } from '#lib/withdrawals/wire.ts'

export const GET = endpoint({
  method: 'GET',
  isCompressible: true,
  summary: 'List withdrawals with their total and the receivers that the bank has named',
  allow: 'dashboard:read',
  query: listQuery(WITHDRAWAL_STATUSES),
  response: ListedWithdrawalPage,
  async handle({ account, mode, query, isViewing }) {
    const [page, total] = await Promise.all([
      listShownWithdrawals(account.id, mode, query, { isViewing }),
      totalWithdrawals(account.id, mode, query, { isViewing }),
    ])
    return pageResult(page, row => row, 'next_cursor', { total })
  },
})
