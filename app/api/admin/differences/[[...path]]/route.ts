import * as z from 'zod'
import { requireActor } from '#lib/audit/record.ts'
import { payByUnmatched } from '#lib/charges/receive.ts'
import { ATTACHMENT_BODY_BYTES_MAX } from '#lib/core/attachments.ts'
import { approveCorrection, proposeCorrection } from '#lib/differences/corrections.ts'
import { adminEndpoint } from '#lib/http/endpoint.ts'
import { endpoints } from '#lib/http/routes.ts'
import {
  acknowledgeItem,
  creditAccount,
  exportDifferences,
  giveBack,
  listItems,
  summarizeOpen,
  takeUnmatched,
} from '#lib/operator/differences/differences.ts'
import { readAttachment, requireItem } from '#lib/operator/differences/evidence.ts'
import {
  correctionRequest,
  DifferenceDetailRead,
  DifferencePage,
  differenceExportQuery,
  differenceQuery,
  resolveRequest,
} from '#lib/operator/differences/schema.ts'

export const { GET, POST } = endpoints({
  'GET /admin/differences': adminEndpoint({
    method: 'GET',
    isCompressible: true,
    summary: 'List what staff must decide, with age and sum of what is open',
    query: differenceQuery,
    response: DifferencePage,
    async handle({ query }) {
      const [{ rows, nextCursor }, open] = await Promise.all([listItems(query), summarizeOpen()])
      return { data: rows, next_cursor: nextCursor, open }
    },
  }),
  'GET /admin/differences/[id]': adminEndpoint({
    method: 'GET',
    isCompressible: true,
    summary: 'Read a difference with the evidence of both sides',
    response: DifferenceDetailRead,
    errorCodes: ['item_not_found'],
    async handle({ user, params: { id = '' } }) {
      return { data: await requireItem(id, user.id) }
    },
  }),
  'POST /admin/differences/[id]/corrections': adminEndpoint({
    method: 'POST',
    effect: 'none',
    summary: 'Propose an entry that settles a difference',
    body: correctionRequest,
    bodyBytesMax: ATTACHMENT_BODY_BYTES_MAX,
    response: DifferenceDetailRead,
    errorCodes: ['item_not_found', 'correction_refused'],
    proof: 'required',
    async handle({ user, body: { attachment, ...body }, params: { id = '' } }) {
      const file = Buffer.from(attachment, 'base64')
      await proposeCorrection({ itemId: id, ...body, attachment: file }, user.id)
      return { data: await requireItem(id, user.id) }
    },
  }),
  'POST /admin/differences/[id]/corrections/[correction_id]/approve': adminEndpoint({
    method: 'POST',
    effect: 'none',
    summary: 'Book an entry that another admin proposed',
    response: DifferenceDetailRead,
    errorCodes: ['item_not_found', 'end_by_other', 'correction_refused'],
    proof: 'required',
    async handle({ user, params: { id = '', correction_id: correctionId = '' } }) {
      await approveCorrection(correctionId, id, user.id)
      return { data: await requireItem(id, user.id) }
    },
  }),
  'GET /admin/differences/[id]/corrections/[correction_id]/attachment': adminEndpoint({
    method: 'GET',
    isCompressible: true,
    summary: 'Download the attachment of an entry',
    response: z.string(),
    errorCodes: ['item_not_found'],
    handle: ({ params: { id = '', correction_id: correctionId = '' } }) =>
      readAttachment(id, correctionId),
  }),
  'POST /admin/differences/[id]/resolve': adminEndpoint({
    method: 'POST',
    effect: 'none',
    summary: 'Resolve a difference, with its money',
    body: resolveRequest,
    response: DifferenceDetailRead,
    errorCodes: [
      'item_not_found',
      'transaction_not_found',
      'already_final',
      'under_way',
      'refund_window_closed',
    ],
    proof: 'required',
    async handle({ user, body, params: { id = '' } }) {
      const { entry, reason, account_id: accountId = '', transaction_id: chargeId = '' } = body
      const decision = { itemId: id, reason, actor: requireActor(user.id) }
      if (entry === 'give_back') await giveBack(decision)
      else if (entry === 'credit') await creditAccount(decision, accountId)
      else if (entry === 'match') await payByUnmatched(decision, chargeId)
      else if (entry === 'keep') await takeUnmatched(decision)
      else await acknowledgeItem(decision)
      return { data: await requireItem(id, user.id) }
    },
  }),
  'GET /admin/differences/export': adminEndpoint({
    method: 'GET',
    summary: 'Export the differences as CSV',
    proof: 'required',
    query: differenceExportQuery,
    response: z.string(),
    handle: ({ user, query }) => exportDifferences(user.id, query),
  }),
})
