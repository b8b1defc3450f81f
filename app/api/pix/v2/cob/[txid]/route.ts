import * as z from 'zod'
import { patchCharge, putCharge, readCharge } from '#lib/api-pix/charges.ts'
import { changeRequest, chargeRequest, revisionQuery } from '#lib/api-pix/wire.ts'
import { merchantOf } from '#lib/http/api-pix.ts'
import { endpoint } from '#lib/http/endpoint.ts'

export const PUT = endpoint({
  method: 'PUT',
  effect: 'none',
  summary: 'Create or revise a charge by API Pix',
  scope: 'cob.write',
  allow: 'transactions:write',
  proof: { notRequired: 'It takes no money.' },
  errorFormat: { invalid: 'CobOperacaoInvalida', missing: 'CobNaoEncontrado' },
  successStatus: 201,
  body: chargeRequest,
  response: z.looseObject({}),
  handle: call => putCharge(merchantOf(call), call.params.txid ?? '', call.body),
})

export const PATCH = endpoint({
  method: 'PATCH',
  effect: 'none',
  summary: 'Revise or remove a charge by API Pix',
  scope: 'cob.write',
  allow: 'transactions:write',
  proof: { notRequired: 'It takes no money; a payment that arrives later is credited.' },
  errorFormat: { invalid: 'CobOperacaoInvalida', missing: 'CobNaoEncontrado' },
  body: changeRequest,
  response: z.looseObject({}),
  handle: call => patchCharge(merchantOf(call), call.params.txid ?? '', call.body),
})

export const GET = endpoint({
  method: 'GET',
  isCompressible: true,
  summary: 'Read a charge by API Pix',
  scope: 'cob.read',
  allow: 'transactions:read',
  errorFormat: { invalid: 'CobConsultaInvalida', missing: 'CobNaoEncontrado' },
  query: revisionQuery,
  response: z.looseObject({}),
  handle: call => readCharge(merchantOf(call), call.params.txid ?? '', call.query.revisao),
})
