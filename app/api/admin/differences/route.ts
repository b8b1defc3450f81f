import { adminEndpoint } from '#lib/http/endpoint.ts'
import { listItems, summarizeOpen } from '#lib/operator/differences/list.ts'
import { DifferencePage, differenceQuery } from '#lib/operator/differences/schema.ts'

export const GET = adminEndpoint({
  method: 'GET',
  isCompressible: true,
  summary: 'List what staff must decide, with age and sum of what is open',
  query: differenceQuery,
  response: DifferencePage,
  async handle({ query }) {
    const [{ rows, nextCursor }, open] = await Promise.all([listItems(query), summarizeOpen()])
    return { data: rows, next_cursor: nextCursor, open }
  },
})
