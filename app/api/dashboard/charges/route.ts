import { listChargeRows, rowFiltersOf, shownChargesQuery } from '#lib/charges/list.ts'
import { ListedChargePage } from '#lib/charges/wire.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import { pageResult } from '#lib/http/input.ts'

export const GET = endpoint({
  method: 'GET',
  isCompressible: true,
  summary: 'List charges with the statuses that the dashboard shows',
  allow: 'dashboard:read',
  query: shownChargesQuery,
  response: ListedChargePage,
  async handle({ account, mode, query, isViewing, readsPayers }) {
    const search = { ...rowFiltersOf(query), matchesDocuments: readsPayers, isViewing }
    return pageResult(await listChargeRows(account.id, mode, search))
  },
})
