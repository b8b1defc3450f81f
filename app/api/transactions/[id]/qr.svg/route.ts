import * as z from 'zod'
import { findPayableCharge } from '#lib/charges/list.ts'
import { renderSvg } from '#lib/core/qr.ts'
import { endpoint } from '#lib/http/endpoint.ts'

export const GET = endpoint({
  method: 'GET',
  operationId: 'drawChargeSvg',
  summary: 'Draw the QR code of a charge as SVG',
  description:
    'Returns the QR code of `br_code` as an image of any size, as long as the charge is `pending`.',
  allow: 'transactions:read',
  isFile: true,
  hasEtag: true,
  fileType: 'image/svg+xml',
  response: z.string(),
  errorCodes: ['transaction_not_found', 'not_pending'],
  async handle({ account, mode, params: { id = '' } }) {
    const { br_code } = await findPayableCharge(account.id, mode, id)
    return { file: renderSvg(br_code) }
  },
})
