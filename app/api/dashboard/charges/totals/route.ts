import { endpoint } from '#lib/edge/http/endpoint.ts'
import { rowFiltersOf, shownChargeFilters } from '#lib/rooms/charges/shown-query.ts'
import { totalCharges } from '#lib/rooms/charges/total.ts'
import { ChargesTotal } from '#lib/rooms/charges/wire.ts'

export const GET = endpoint({
  method: 'GET',
  summary: 'Read the totals of the matching charges',
  allow: 'dashboard:read',
  query: shownChargeFilters,
  response: ChargesTotal,
  handle({ account, mode, query, isViewing, readsPayers }) {
    const search = { ...rowFiltersOf(query), matchesDocuments: readsPayers, isViewing }
    return totalCharges(account.ref, mode, search)
  },
})
