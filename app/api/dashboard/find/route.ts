import { FindQuery, Found, find } from '#lib/dashboard/find.ts'
import { endpoint } from '#lib/http/endpoint.ts'

export const GET = endpoint({
  summary: 'Find whatever has this name',
  allow: 'dashboard:read',
  query: FindQuery,
  answer: Found,
  async handle({ account, mode, query }) {
    return { data: await find(account.id, mode, query.q) }
  },
})
