import { totalCharges } from '#lib/charges/total.ts'
import { ChargesTotal, chargeFilters } from '#lib/charges/wire.ts'
import { endpoint } from '#lib/http/endpoint.ts'

export const GET = endpoint({
  summary: 'What the charges that fit come to',
  allow: 'dashboard:read',
  query: chargeFilters,
  answer: ChargesTotal,
  handle: ({ account, mode, query }) => totalCharges(account.ref, mode, query),
})
