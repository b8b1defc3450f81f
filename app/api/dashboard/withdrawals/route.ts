import { endpoint } from '#lib/http/endpoint.ts'
import { pageResult } from '#lib/http/input.ts'
import {
  listShownWithdrawals,
  shownWithdrawalsQuery,
  totalWithdrawals,
} from '#lib/withdrawals/queries.ts'
import { ListedWithdrawalPage } from '#lib/withdrawals/wire.ts'

export const GET = endpoint({
  method: 'GET',
  isCompressible: true,
  summary: 'List withdrawals with their total and the receivers that the bank has named',
  allow: 'dashboard:read',
  query: shownWithdrawalsQuery,
  response: ListedWithdrawalPage,
  async handle({ account, mode, query, isViewing }) {
    const [page, total] = await Promise.all([
      listShownWithdrawals(account.id, mode, query, { isViewing }),
      totalWithdrawals(account.id, mode, query, { isViewing }),
    ])
    return pageResult(page, row => row, 'next_cursor', { total })
  },
})
