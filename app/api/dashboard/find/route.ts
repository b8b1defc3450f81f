import { endpoint } from '#lib/edge/http/endpoint.ts'
import { FindQuery, Found, find } from '#lib/views/dashboard/find.ts'

export const GET = endpoint({
  summary: 'Search the account',
  allow: 'dashboard:read',
  query: FindQuery,
  answer: Found,
  async handle({ account, mode, query }) {
    return { data: await find(account.id, mode, query.q) }
  },
})
