import * as z from 'zod'
import { listCharges, postCharge } from '#lib/api-pix/charges.ts'
import { chargeRequest, chargesQuery } from '#lib/api-pix/wire.ts'
import { merchantOf } from '#lib/http/api-pix.ts'
import { endpoint } from '#lib/http/endpoint.ts'

export const POST = endpoint({
  method: 'POST',
  effect: 'none',
  summary: 'Create a charge by API Pix, whose txid is its id',
  scope: 'cob.write',
  allow: 'transactions:write',
  proof: { notRequired: 'It takes no money.' },
  errorFormat: { invalid: 'CobOperacaoInvalida' },
  successStatus: 201,
  body: chargeRequest,
  response: z.looseObject({}),
  handle: call => postCharge(merchantOf(call), call.body),
})

export const GET = endpoint({
  method: 'GET',
  isCompressible: true,
  summary: 'List charges by API Pix',
  scope: 'cob.read',
  allow: 'transactions:read',
  errorFormat: { invalid: 'CobConsultaInvalida' },
  query: chargesQuery,
  response: z.looseObject({}),
  handle: call => listCharges(merchantOf(call), call.query),
})
