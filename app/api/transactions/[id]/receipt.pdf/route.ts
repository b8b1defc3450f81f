import * as z from 'zod'
import { endpoint } from '#lib/edge/http/endpoint.ts'
import { receiptFile, receiptFileQuery } from '#lib/views/dashboard/receipt-pdf.ts'

export const GET = endpoint({
  method: 'GET',
  summary: 'Download the receipt of a charge',
  description:
    'Returns the receipt that the dashboard exports, as a page to print. Its QR code leads to a page of this server that proves it. Documents are masked. Exists once the charge is `paid`.',
  allow: 'transactions:read',
  query: receiptFileQuery,
  isFile: true,
  fileType: 'application/pdf',
  response: z.string(),
  errorCodes: ['transaction_not_found', 'receipt_not_found'],
  async handle({ account, mode, params: { id = '' }, query: { locale } }) {
    return { file: await receiptFile({ account, mode, kind: 'transaction', id, locale }) }
  },
})
