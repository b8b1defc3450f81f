import * as z from 'zod'
import { exportReceipt, receiptQuery } from '#lib/dashboard/receipt.ts'
import { endpoint } from '#lib/http/endpoint.ts'

export const GET = endpoint({
  method: 'GET',
  summary: 'Export the receipt of a paid charge as PDF',
  allow: 'dashboard:read',
  isFile: true,
  query: receiptQuery,
  response: z.string(),
  errorCodes: ['transaction_not_found', 'receipt_not_found'],
  async handle({ account, mode, params: { id = '' }, userId, query: { locale } }) {
    return exportReceipt({ account, mode, kind: 'transaction', id, userId, locale })
  },
})
