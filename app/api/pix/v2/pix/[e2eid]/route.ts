import * as z from 'zod'
import { readPayment } from '#lib/api-pix/payments.ts'
import { merchantOf } from '#lib/http/api-pix.ts'
import { endpoint } from '#lib/http/endpoint.ts'

export const GET = endpoint({
  method: 'GET',
  isCompressible: true,
  summary: 'Read a payment by API Pix',
  scope: 'pix.read',
  allow: 'transactions:read',
  errorFormat: { invalid: 'PixConsultaInvalida', missing: 'PixNaoEncontrado' },
  response: z.looseObject({}),
  handle: call => readPayment(merchantOf(call), call.params.e2eid ?? ''),
})
