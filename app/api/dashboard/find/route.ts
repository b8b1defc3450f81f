import { FindQuery, findHits, HitList } from '#lib/dashboard/find.ts'
import { endpoint } from '#lib/http/endpoint.ts'

export const GET = endpoint({
  method: 'GET',
  isCompressible: true,
  summary: 'Search the account',
  allow: 'dashboard:read',
  query: FindQuery,
  response: HitList,
  async handle({ account, mode, query, isViewing, readsPayers }) {
    return { data: await findHits(account.id, mode, query.q, readsPayers, isViewing) }
  },
})
