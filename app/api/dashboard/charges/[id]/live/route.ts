import * as z from 'zod'
import { endpoint } from '#lib/edge/http/endpoint.ts'
import { streamCharge } from '#lib/views/dashboard/live-stream.ts'

export const GET = endpoint({
  method: 'GET',
  summary: 'Stream the changes of a charge as server-sent events',
  allow: 'dashboard:read',
  response: z.string(),
  errorCodes: ['transaction_not_found', 'limit_reached'],
  handle: ({ account, mode, params, reauthorize }) =>
    streamCharge({ accountId: account.id, mode, reauthorize }, params.id ?? ''),
})
