import { adminEndpoint } from '#lib/edge/http/accountless-endpoint.ts'
import { listItems, summarizeOpen } from '#lib/views/admin/inbox/list.ts'
import { InboxPage, inboxQuery } from '#lib/views/admin/inbox/schema.ts'

export const GET = adminEndpoint({
  method: 'GET',
  isCompressible: true,
  summary: 'List what staff must decide, with age and sum of what is open',
  query: inboxQuery,
  response: InboxPage,
  async handle({ query }) {
    const [{ rows, nextCursor }, open] = await Promise.all([listItems(query), summarizeOpen()])
    return { data: rows, next_cursor: nextCursor, open }
  },
})
