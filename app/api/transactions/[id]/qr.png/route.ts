import * as z from 'zod'
import { findPayableCharge } from '#lib/charges/list.ts'
import { pngQuery, renderPng } from '#lib/core/qr.ts'
import { endpoint } from '#lib/http/endpoint.ts'

export const GET = endpoint({
  method: 'GET',
  operationId: 'drawChargePng',
  summary: 'Draw the QR code of a charge as PNG',
  description:
    'Returns the QR code of `br_code` as a square image, black on white, as long as the charge is `pending`.',
  allow: 'transactions:read',
  query: pngQuery,
  isFile: true,
  hasEtag: true,
  fileType: 'image/png',
  response: z.string(),
  errorCodes: ['transaction_not_found', 'not_pending'],
  async handle({ account, mode, params: { id = '' }, query: { size } }) {
    const { br_code } = await findPayableCharge(account.id, mode, id)
    return { file: renderPng(br_code, size) }
  },
})
