import * as z from 'zod'
import { streamCharge } from '#lib/dashboard/live-stream.ts'
import { endpoint } from '#lib/http/endpoint.ts'

export const GET = endpoint({
  summary: 'Tell of each change of a charge, as server-sent events',
  allow: 'dashboard:read',
  answer: z.string(),
  refuses: ['transaction_not_found', 'limit_reached'],
  handle: ({ account, mode, params, proveAgain }) =>
    streamCharge({ accountId: account.id, mode, proveAgain }, params.id ?? ''),
})
