import { endpoint } from '#lib/edge/http/endpoint.ts'
import { pageResult } from '#lib/edge/http/page.ts'
import { listChargeRows } from '#lib/rooms/charges/queries.ts'
import { rowFiltersOf, shownChargesQuery } from '#lib/rooms/charges/shown-query.ts'
import { ListedChargePage } from '#lib/rooms/charges/wire.ts'

export const GET = endpoint({
  method: 'GET',
  isCompressible: true,
  summary: 'List charges with the statuses that the dashboard shows',
  allow: 'dashboard:read',
  query: shownChargesQuery,
  response: ListedChargePage,
  async handle({ account, mode, query, isViewing, readsPayers }) {
    const search = { ...rowFiltersOf(query), matchesDocuments: readsPayers, isViewing }
    return pageResult(await listChargeRows(account.ref, mode, search))
  },
})
