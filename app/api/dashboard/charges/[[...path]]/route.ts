import * as z from 'zod'
import { requireActor } from '#lib/audit/record.ts'
import { cancelCharge } from '#lib/charges/cancel.ts'
import {
  listChargeRows,
  maskCharge,
  maskChargeRead,
  rowFiltersOf,
  serializeCharge,
  shownChargeFilters,
  shownChargesQuery,
  totalCharges,
} from '#lib/charges/list.ts'
import { describeCharge, revealDocument } from '#lib/charges/reveal.ts'
import { descriptionRequest } from '#lib/charges/schema.ts'
import { ChargeRead, ChargesTotal, DocumentRead, ListedChargePage } from '#lib/charges/wire.ts'
import { chargesExportQuery, exportCharges, recordExport } from '#lib/dashboard/exports.ts'
import { streamCharge } from '#lib/dashboard/live.ts'
import { exportReceipt, receiptQuery } from '#lib/dashboard/receipt.ts'
import { ChargeTimelineRead, readChargeTimeline } from '#lib/dashboard/timeline.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import { pageResult } from '#lib/http/input.ts'
import { endpoints } from '#lib/http/routes.ts'

export const { GET, POST } = endpoints({
  'GET /dashboard/charges': endpoint({
    method: 'GET',
    isCompressible: true,
    summary: 'List charges with the statuses that the dashboard shows',
    allow: 'dashboard:read',
    query: shownChargesQuery,
    response: ListedChargePage,
    async handle({ account, mode, query, isViewing, readsPayers }) {
      const search = { ...rowFiltersOf(query), matchesDocuments: readsPayers, isViewing }
      return pageResult(await listChargeRows(account.id, mode, search))
    },
  }),
  'POST /dashboard/charges/[id]/cancel': endpoint({
    method: 'POST',
    summary: 'Cancel a pending charge',
    allow: 'charges:write',
    proof: { notRequired: 'It takes no money; a payment that arrives later is credited.' },
    effect: 'none',
    response: ChargeRead,
    mask: maskChargeRead,
    errorCodes: ['transaction_not_found', 'external_id_ambiguous', 'already_final'],
    idempotency: { retentionS: 86_400 },
    async handle({ account, mode, params: { id = '' }, userId }) {
      const canceller = { accountId: account.id, mode, by: requireActor(userId).id }
      const charge = await cancelCharge(canceller, id)
      return { status: 'success', data: serializeCharge(charge) }
    },
  }),
  'POST /dashboard/charges/[id]/description': endpoint({
    method: 'POST',
    summary: 'Describe a pending charge for its payer',
    allow: 'charges:write',
    proof: {
      notRequired: 'It changes a text on the payer’s page, and neither amount nor receiver.',
    },
    effect: 'none',
    body: descriptionRequest,
    response: ChargeRead,
    mask: maskChargeRead,
    errorCodes: ['transaction_not_found', 'external_id_ambiguous', 'already_final'],
    idempotency: { retentionS: 86_400 },
    async handle({ account, mode, params: { id = '' }, body }) {
      const charge = await describeCharge(account.id, mode, id, body.description ?? null)
      return { status: 'success', data: serializeCharge(charge) }
    },
  }),
  'POST /dashboard/charges/[id]/document': endpoint({
    method: 'POST',
    effect: 'document',
    summary: 'Reveal the payer’s document, recorded in the audit log',
    allow: 'documents:reveal',
    proof: 'required',
    response: DocumentRead,
    errorCodes: ['transaction_not_found'],
    async handle({ account, mode, params: { id = '' }, userId }) {
      const document = await revealDocument(
        { accountId: account.id, mode, id },
        requireActor(userId),
      )
      return { data: { document } }
    },
  }),
  'GET /dashboard/charges/[id]/live': endpoint({
    method: 'GET',
    summary: 'Stream the changes of a charge as server-sent events',
    allow: 'dashboard:read',
    response: z.string(),
    errorCodes: ['transaction_not_found', 'limit_reached'],
    handle: ({ account, mode, params, reauthorize }) =>
      streamCharge({ accountId: account.id, mode, reauthorize }, params.id ?? ''),
  }),
  'GET /dashboard/charges/[id]/receipt': endpoint({
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
  }),
  'GET /dashboard/charges/[id]/timeline': endpoint({
    method: 'GET',
    isCompressible: true,
    summary: 'Read the timeline of a charge',
    allow: 'dashboard:read',
    response: ChargeTimelineRead,
    mask: ({ data }) => ({ data: { ...data, charge: maskCharge(data.charge) } }),
    errorCodes: ['transaction_not_found'],
    async handle({ account, mode, params }) {
      return { data: await readChargeTimeline(account.id, mode, params.id ?? '') }
    },
  }),
  'GET /dashboard/charges/export': endpoint({
    method: 'GET',
    summary: 'Export the matching charges as CSV',
    allow: 'dashboard:read',
    proof: 'required',
    query: chargesExportQuery,
    response: z.string(),
    isExport: true,
    async handle({ account, mode, userId, query, readsPayers }) {
      await recordExport('charges.exported', userId, account.id, { ...query, mode })
      return exportCharges(account.id, mode, { ...query, matchesDocuments: readsPayers })
    },
  }),
  'GET /dashboard/charges/totals': endpoint({
    method: 'GET',
    summary: 'Read the totals of the matching charges',
    allow: 'dashboard:read',
    query: shownChargeFilters,
    response: ChargesTotal,
    handle({ account, mode, query, isViewing, readsPayers }) {
      const search = { ...rowFiltersOf(query), matchesDocuments: readsPayers, isViewing }
      return totalCharges(account.id, mode, search)
    },
  }),
})
