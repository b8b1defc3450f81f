import * as z from 'zod'
import { listPayments } from '#lib/api-pix/payments.ts'
import { paymentsQuery } from '#lib/api-pix/wire.ts'
import { merchantOf } from '#lib/http/api-pix.ts'
import { endpoint } from '#lib/http/endpoint.ts'

export const GET = endpoint({
  method: 'GET',
  isCompressible: true,
  summary: 'List payments by API Pix',
  scope: 'pix.read',
  allow: 'transactions:read',
  errorFormat: { invalid: 'PixConsultaInvalida' },
  query: paymentsQuery,
  response: z.looseObject({}),
  handle: call => listPayments(merchantOf(call), call.query),
})
