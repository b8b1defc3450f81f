import * as z from 'zod'
import { streamCharge } from '#lib/dashboard/live.ts'
import { endpoint } from '#lib/http/endpoint.ts'

export const GET = endpoint({
  method: 'GET',
  summary: 'Stream the changes of a charge as server-sent events',
  allow: 'dashboard:read',
  response: z.string(),
  errorCodes: ['transaction_not_found', 'limit_reached'],
  handle: ({ account, mode, params, reauthorize }) =>
    streamCharge({ accountId: account.id, mode, reauthorize }, params.id ?? ''),
})
