import { rowFiltersOf, shownChargeFilters, totalCharges } from '#lib/charges/list.ts'
import { ChargesTotal } from '#lib/charges/wire.ts'
import { endpoint } from '#lib/http/endpoint.ts'

export const GET = endpoint({
  method: 'GET',
  summary: 'Read the totals of the matching charges',
  allow: 'dashboard:read',
  query: shownChargeFilters,
  response: ChargesTotal,
  handle({ account, mode, query, isViewing, readsPayers }) {
    const search = { ...rowFiltersOf(query), matchesDocuments: readsPayers, isViewing }
    return totalCharges(account.id, mode, search)
  },
})
