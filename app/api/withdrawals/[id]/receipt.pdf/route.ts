import * as z from 'zod'
import { apiReceiptQuery, sendReceipt } from '#lib/dashboard/receipt.ts'
import { endpoint } from '#lib/http/endpoint.ts'

export const GET = endpoint({
  method: 'GET',
  operationId: 'downloadWithdrawalReceipt',
  summary: 'Download the receipt of a withdrawal',
  description:
    'Returns the receipt from the dashboard as a PDF of one page. Its QR code opens a page on this server that verifies it. CPFs and CNPJs are masked. Available once the bank has paid the withdrawal; one that administrators ended has none.',
  allow: 'withdrawals:read',
  query: apiReceiptQuery,
  isFile: true,
  fileType: 'application/pdf',
  response: z.string(),
  errorCodes: ['withdrawal_not_found', 'receipt_not_found'],
  handle({ account, mode, params: { id = '' }, userId, query: { locale } }) {
    return sendReceipt({ account, mode, kind: 'withdrawal', id, userId, locale })
  },
})
