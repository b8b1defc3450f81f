import { createCharge, createdResponse, rebuildCreated } from '#lib/charges/create.ts'
import { listCharges, maskCharge, maskChargeRead, serializeCharge } from '#lib/charges/list.ts'
import { chargeRequest, listIgnoredOfCharge } from '#lib/charges/schema.ts'
import { chargesQuery } from '#lib/charges/search.ts'
import { needsReview } from '#lib/charges/states.ts'
import { ChargeCreated, ChargePage } from '#lib/charges/wire.ts'
import { refuse } from '#lib/core/errors.ts'
import { REVIEWED_AMOUNT_HEADER } from '#lib/core/headers.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import { pageResult } from '#lib/http/input.ts'

export const POST = endpoint({
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
})

export const GET = endpoint({
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
    return pageResult(page, serializeCharge)
  },
})
