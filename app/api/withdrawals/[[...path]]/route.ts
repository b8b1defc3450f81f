import * as z from 'zod'
import { refuse } from '#lib/core/errors.ts'
import { listQuery } from '#lib/core/fields.ts'
import { apiReceiptQuery, sendReceipt } from '#lib/dashboard/receipt.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import { pageResult } from '#lib/http/input.ts'
import { endpoints } from '#lib/http/routes.ts'
import { createWithdrawal } from '#lib/withdrawals/create.ts'
import { findWithdrawal, listWithdrawals, readCreatedWithdrawal } from '#lib/withdrawals/queries.ts'
import {
  listIgnoredOfWithdrawal,
  toWithdrawalOrder,
  type WithdrawalRow,
  withdrawalRequest,
} from '#lib/withdrawals/schema.ts'
import { WITHDRAWAL_STATUSES } from '#lib/withdrawals/states.ts'
import {
  createdWithdrawalToWire,
  maskWithdrawal,
  maskWithdrawalRead,
  serializeWithdrawal,
  WithdrawalCreated,
  WithdrawalPage,
  WithdrawalRead,
} from '#lib/withdrawals/wire.ts'

const SEARCH_DESCRIPTION =
  'Search text: a complete Pix key or id, part of the reference, an amount (`446,54`) or at least four characters of the end of an end-to-end ID.'

function createdResponse(withdrawal: WithdrawalRow) {
  return { message: 'Withdrawal created', data: createdWithdrawalToWire(withdrawal) }
}

export const { GET, POST } = endpoints({
  'POST /withdrawals': endpoint({
    method: 'POST',
    operationId: 'createWithdrawal',
    effect: 'withdrawal',
    summary: 'Create a withdrawal',
    description:
      'Deducts the amount from the balance and sends it to the key. The amount is held before the bank is called. If the balance is too small, nothing changes.',
    allow: 'withdrawals:write',
    proof: 'required',
    body: withdrawalRequest,
    ignoresQuery: true,
    listIgnoredFields: listIgnoredOfWithdrawal,
    responseHeaders: ['X-Ignored-Fields'],
    response: WithdrawalCreated,
    errorCodes: [
      'withdrawals_disabled',
      'limit_exceeded',
      'insufficient_balance',
      'dispute_not_covered',
      'external_id_used',
    ],
    idempotency: {
      retentionS: 30 * 86_400,
      hasDocument: ({ owner_doc }) => Boolean(owner_doc),
      rebuild: async ({ accountId, mode }, id) =>
        createdResponse(await readCreatedWithdrawal(accountId, mode, id)),
    },
    async handle({ account, mode, body, userId: by, responsibleId, formerIssuers, once }) {
      const connectionId = account.payingConnectionId
      const requesters = { requestedBy: responsibleId, formerIssuers }
      const order = { ...toWithdrawalOrder(mode, body), by, ...requesters, connectionId }
      return createdResponse(await createWithdrawal(account.authority, mode, order, once))
    },
  }),
  'GET /withdrawals': endpoint({
    method: 'GET',
    operationId: 'listWithdrawals',
    isCompressible: true,
    summary: 'List withdrawals',
    description: "Returns the withdrawals of the account in the token's mode, newest first.",
    allow: 'withdrawals:read',
    query: listQuery(WITHDRAWAL_STATUSES, SEARCH_DESCRIPTION),
    response: WithdrawalPage,
    mask: maskWithdrawal,
    async handle({ account, mode, query, isViewing }) {
      const page = await listWithdrawals(account.id, mode, query, { isViewing })
      return pageResult(page, serializeWithdrawal)
    },
  }),
  'GET /withdrawals/[id]': endpoint({
    method: 'GET',
    operationId: 'getWithdrawal',
    isCompressible: true,
    summary: 'Read a withdrawal',
    description: 'Returns the withdrawal with its current status, by `id` or `external_id`.',
    allow: 'withdrawals:read',
    hasEtag: true,
    response: WithdrawalRead,
    mask: maskWithdrawalRead,
    errorCodes: ['withdrawal_not_found'],
    async handle({ account, mode, params }) {
      const withdrawal = await findWithdrawal(account.id, mode, params.id ?? '')
      if (!withdrawal) throw refuse('withdrawal_not_found')
      return { data: serializeWithdrawal(withdrawal) }
    },
  }),
  'GET /withdrawals/[id]/receipt.pdf': endpoint({
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
  }),
})
