import { endpoint } from '#lib/edge/http/endpoint.ts'
import { readTimeZone } from '#lib/rooms/accounts/queries.ts'
import { readHome } from '#lib/views/dashboard/home.ts'
import { HomeRead, homeQuery } from '#lib/views/dashboard/wire.ts'

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
