import * as z from 'zod'
import { cancelCharge } from '#lib/charges/cancel.ts'
import { createCharge, createdResponse, rebuildCreated } from '#lib/charges/create.ts'
import {
  chargeRow,
  findCharge,
  findPayableCharge,
  listCharges,
  maskCharge,
  maskChargeRead,
  serializeCharge,
  serializeCharges,
} from '#lib/charges/list.ts'
import {
  createRefund,
  findRefund,
  listRefunds,
  readCreatedRefund,
} from '#lib/charges/refunds/refund.ts'
import { type RefundRow, refundRequest, refundsQuery } from '#lib/charges/refunds/schema.ts'
import {
  createdRefundToWire,
  RefundCreated,
  RefundPage,
  RefundRead,
} from '#lib/charges/refunds/wire.ts'
import { describeCharge } from '#lib/charges/reveal.ts'
import {
  cancelRequest,
  chargeRequest,
  descriptionRequest,
  listIgnoredOfCharge,
} from '#lib/charges/schema.ts'
import { chargesQuery } from '#lib/charges/search.ts'
import { needsReview } from '#lib/charges/states.ts'
import { ChargeCreated, ChargePage, ChargeRead } from '#lib/charges/wire.ts'
import { refuse } from '#lib/core/errors.ts'
import { REVIEWED_AMOUNT_HEADER } from '#lib/core/headers.ts'
import { isUuid } from '#lib/core/ids.ts'
import { pngQuery, renderPng, renderSvg } from '#lib/core/qr.ts'
import { apiReceiptQuery, sendReceipt } from '#lib/dashboard/receipt.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import { pageResult } from '#lib/http/input.ts'
import { endpoints } from '#lib/http/routes.ts'

export const { GET, POST, PUT } = endpoints({
  'POST /transactions': endpoint({
    method: 'POST',
    operationId: 'createCharge',
    effect: 'receiver',
    summary: 'Create a charge',
    description:
      'Returns the `br_code`, which the payer scans as a QR code or copies. Events are sent to `webhook_url` when the charge is paid, expires or fails. With `Prefer: return=representation`, the response has all fields of the charge and `qr_code_url`.',
    allow: 'transactions:write',
    proof: { notRequired: 'It takes no money, and its `webhook_url` receives this charge only.' },
    body: chargeRequest,
    errorFormat: 'first_message',
    ignoresQuery: true,
    listIgnoredFields: listIgnoredOfCharge,
    responseHeaders: ['X-Ignored-Fields'],
    response: ChargeCreated,
    mask: maskChargeRead,
    honorsPrefer: true,
    errorCodes: [
      'external_id_used',
      'placeholder_document',
      'limit_exceeded',
      'refused_by_bank',
      'review_required',
    ],
    idempotency: {
      retentionS: 86_400,
      hasDocument: () => true,
      rebuild: rebuildCreated,
    },
    async handle({ account, mode, body, ip, header, once, readsPayers, ...reader }) {
      // An amount that was confirmed does not cover another.
      const isReviewed = header(REVIEWED_AMOUNT_HEADER) === String(body.amount)
      if (!isReviewed && needsReview(body.amount, account.chargeReviewAbove))
        throw refuse('review_required')
      const creator = { ...account, webhookMasked: !readsPayers }
      const charge = await createCharge(creator, mode, body, ip, once)
      return createdResponse({ ...reader, accountId: account.id, mode }, charge)
    },
  }),
  'GET /transactions': endpoint({
    method: 'GET',
    operationId: 'listCharges',
    isCompressible: true,
    summary: 'List charges',
    description: "Returns the charges of the account in the token's mode, newest first.",
    allow: 'transactions:read',
    query: chargesQuery,
    response: ChargePage,
    mask: maskCharge,
    async handle({ account, mode, query, isViewing, readsPayers }) {
      const search = { ...query, matchesDocuments: readsPayers, isViewing }
      const page = await listCharges(account.id, mode, search)
      return pageResult(page, serializeCharges(page.rows))
    },
  }),
  'GET /transactions/[id]': endpoint({
    method: 'GET',
    operationId: 'getCharge',
    isCompressible: true,
    summary: 'Read a charge',
    description:
      'Returns the charge with its current status, by `transaction_id` or `external_id`.',
    allow: 'transactions:read',
    ignoresQuery: true,
    hasEtag: true,
    response: ChargeRead,
    mask: maskChargeRead,
    errorCodes: ['transaction_not_found'],
    reads: ({ id = '' }) => (isUuid(id) ? { row: chargeRow, id } : null),
    async handle({ account, mode, params, finder }) {
      const charge = await findCharge(account.id, mode, params.id ?? '', finder(chargeRow))
      if (!charge) throw refuse('transaction_not_found')
      return { status: 'success', data: serializeCharge(charge) }
    },
  }),
  'POST /transactions/[id]/cancel': endpoint({
    method: 'POST',
    operationId: 'cancelCharge',
    effect: 'none',
    summary: 'Cancel a charge',
    description:
      'Ends a pending charge as `expired`, with `cancelled_at`. A repeated call returns the same charge. A payment that arrives afterwards is credited: the charge is then `paid`.',
    allow: 'transactions:write',
    proof: { notRequired: 'It takes no money; a payment that arrives later is credited.' },
    body: cancelRequest,
    response: ChargeRead,
    mask: maskChargeRead,
    errorCodes: ['transaction_not_found', 'external_id_ambiguous', 'already_final'],
    idempotency: { retentionS: 86_400 },
    async handle({ account, mode, params: { id = '' }, userId }) {
      const charge = await cancelCharge({ accountId: account.id, mode, by: userId }, id)
      return { status: 'success', data: serializeCharge(charge) }
    },
  }),
  'PUT /transactions/[id]/description': endpoint({
    method: 'PUT',
    operationId: 'describeCharge',
    effect: 'none',
    summary: 'Change the description of a charge',
    description:
      'Replaces the description that the payer sees while the charge is `pending`. Without `description`, removes it.',
    allow: 'transactions:write',
    proof: {
      notRequired: 'It changes a text on the payer’s page, and neither amount nor receiver.',
    },
    body: descriptionRequest,
    response: ChargeRead,
    mask: maskChargeRead,
    errorCodes: ['transaction_not_found', 'external_id_ambiguous', 'already_final'],
    async handle({ account, mode, params: { id = '' }, body }) {
      const charge = await describeCharge(account.id, mode, id, body.description ?? null)
      return { status: 'success', data: serializeCharge(charge) }
    },
  }),
  'GET /transactions/[id]/qr.png': endpoint({
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
  }),
  'GET /transactions/[id]/qr.svg': endpoint({
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
  }),
  'GET /transactions/[id]/receipt.pdf': endpoint({
    method: 'GET',
    operationId: 'downloadChargeReceipt',
    summary: 'Download the receipt of a charge',
    description:
      'Returns the receipt from the dashboard as a PDF of one page. Its QR code opens a page on this server that verifies it. CPFs and CNPJs are masked. Available once the charge is `paid`.',
    allow: 'transactions:read',
    query: apiReceiptQuery,
    isFile: true,
    fileType: 'application/pdf',
    response: z.string(),
    errorCodes: ['transaction_not_found', 'receipt_not_found'],
    handle({ account, mode, params: { id = '' }, userId, query: { locale } }) {
      return sendReceipt({ account, mode, kind: 'transaction', id, userId, locale })
    },
  }),
  'POST /transactions/[id]/refunds': endpoint({
    method: 'POST',
    operationId: 'createRefund',
    effect: 'refund',
    summary: 'Refund a charge',
    description:
      'Refunds what is left of a paid charge, or a part of it, to the payer, within 90 days of the payment. An amount that the payer disputes cannot be refunded until the dispute ends; one that was lost in a dispute cannot be refunded at all. The amount is held at once. The events `transaction.refunded` and `transaction.refund_failed` report the outcome.',
    allow: 'refunds:write',
    proof: 'required',
    body: refundRequest,
    response: RefundCreated,
    errorCodes: [
      'transaction_not_found',
      'external_id_ambiguous',
      'not_paid',
      'refund_window_closed',
      'refund_exceeds_remainder',
      'insufficient_balance',
    ],
    idempotency: {
      retentionS: 30 * 86_400,
      rebuild: async ({ accountId, mode }, id) =>
        createdRefund(await readCreatedRefund(accountId, mode, id)),
    },
    async handle({ account, mode, params, body, userId: by, once }) {
      return createdRefund(
        await createRefund(account.authority, mode, params.id ?? '', { ...body, by }, once),
      )
    },
  }),
  'GET /transactions/[id]/refunds': endpoint({
    method: 'GET',
    operationId: 'listRefunds',
    isCompressible: true,
    summary: 'List the refunds of a charge',
    description: 'Returns refunds of every status, newest first.',
    allow: 'transactions:read',
    query: refundsQuery,
    response: RefundPage,
    errorCodes: ['transaction_not_found'],
    async handle({ account, mode, params, query }) {
      const charge = await findCharge(account.id, mode, params.id ?? '')
      if (!charge) throw refuse('transaction_not_found')
      return pageResult(await listRefunds(account.id, mode, charge.id, query))
    },
  }),
  'GET /transactions/[id]/refunds/[refund_id]': endpoint({
    method: 'GET',
    operationId: 'getRefund',
    summary: 'Read a refund',
    description: 'Returns the refund with its current status.',
    allow: 'transactions:read',
    hasEtag: true,
    response: RefundRead,
    errorCodes: ['transaction_not_found', 'refund_not_found'],
    async handle({ account, mode, params }) {
      const charge = await findCharge(account.id, mode, params.id ?? '')
      if (!charge) throw refuse('transaction_not_found')
      const refund = await findRefund(account.id, mode, charge.id, params.refund_id ?? '')
      if (!refund) throw refuse('refund_not_found')
      return { data: refund }
    },
  }),
})

function createdRefund(refund: RefundRow) {
  return { data: createdRefundToWire(refund) }
}
