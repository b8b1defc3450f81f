import { readTimeZone } from '#lib/accounts/queries.ts'
import { readHome } from '#lib/dashboard/home.ts'
import { HomeRead, homeQuery } from '#lib/dashboard/wire.ts'
import { endpoint } from '#lib/http/endpoint.ts'

export const GET = endpoint({
  method: 'GET',
  isCompressible: true,
  summary: 'Read the home page: balances, amounts received, latest charges',
  allow: 'dashboard:read',
  query: homeQuery,
  response: HomeRead,
  async handle({ account: { id }, mode, query }) {
    const timeZone = await readTimeZone(id)
    return { data: await readHome({ id, timeZone }, mode, query) }
  },
})
