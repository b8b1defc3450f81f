import { readTimeZone } from '#lib/accounts/queries.ts'
import { readHome } from '#lib/dashboard/home.ts'
import { HomeRead, homeQuery } from '#lib/dashboard/wire.ts'
import { endpoint } from '#lib/http/endpoint.ts'

export const GET = endpoint({
  summary: 'What the first page says: balances, what was received, the latest charges',
  allow: 'dashboard:read',
  query: homeQuery,
  answer: HomeRead,
  async handle({ account: { id }, mode, query }) {
    const timeZone = await readTimeZone(id)
    return { data: await readHome({ id, timeZone }, mode, query) }
  },
})
