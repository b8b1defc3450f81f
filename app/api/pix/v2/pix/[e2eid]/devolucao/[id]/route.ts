import * as z from 'zod'
import { putRefund, readRefund } from '#lib/api-pix/payments.ts'
import { refundRequest } from '#lib/api-pix/wire.ts'
import { merchantOf } from '#lib/http/api-pix.ts'
import { endpoint } from '#lib/http/endpoint.ts'

export const PUT = endpoint({
  method: 'PUT',
  effect: 'refund',
  summary: 'Refund a payment by API Pix',
  scope: 'pix.write',
  allow: 'refunds:write',
  proof: 'required',
  errorFormat: { invalid: 'PixDevolucaoInvalida', missing: 'PixNaoEncontrado' },
  successStatus: 201,
  body: refundRequest,
  response: z.looseObject({}),
  handle: call => {
    const { e2eid = '', id = '' } = call.params
    const { authority } = call.account
    return putRefund({ ...merchantOf(call), authority }, e2eid, id, call.body)
  },
})

export const GET = endpoint({
  method: 'GET',
  isCompressible: true,
  summary: 'Read a refund by API Pix',
  scope: 'pix.read',
  allow: 'transactions:read',
  errorFormat: { invalid: 'PixConsultaInvalida', missing: 'PixDevolucaoNaoEncontrada' },
  response: z.looseObject({}),
  handle: call => {
    const { e2eid = '', id = '' } = call.params
    return readRefund(merchantOf(call), e2eid, id)
  },
})
