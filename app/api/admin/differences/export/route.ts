import * as z from 'zod'
import { adminEndpoint } from '#lib/http/endpoint.ts'
import { exportDifferences } from '#lib/operator/differences/list.ts'
import { differenceExportQuery } from '#lib/operator/differences/schema.ts'

export const GET = adminEndpoint({
  method: 'GET',
  summary: 'Export the differences as CSV',
  proof: 'required',
  query: differenceExportQuery,
  response: z.string(),
  handle: ({ user, query }) => exportDifferences(user.id, query),
})
