import * as z from 'zod'
import { adminEndpoint } from '#lib/edge/http/accountless-endpoint.ts'
import { exportInbox } from '#lib/views/admin/inbox/export.ts'
import { inboxExportQuery } from '#lib/views/admin/inbox/schema.ts'

export const GET = adminEndpoint({
  method: 'GET',
  summary: 'Export the inbox as CSV',
  proof: 'required',
  query: inboxExportQuery,
  response: z.string(),
  handle: ({ user, query }) => exportInbox(user.id, query),
})
