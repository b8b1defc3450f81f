import * as z from 'zod'
import { actorOf } from '#lib/audit/record.ts'
import { findDispute, listDisputes } from '#lib/charges/disputes/dispute.ts'
import { addEvidence, listEvidence, readEvidenceFile } from '#lib/charges/disputes/evidence.ts'
import { EVIDENCE_MAX, evidenceRequest } from '#lib/charges/disputes/schema.ts'
import {
  DisputePage,
  DisputeRead,
  disputesQuery,
  EvidenceList,
  EvidenceRead,
} from '#lib/charges/disputes/wire.ts'
import { ATTACHMENT_BODY_BYTES_MAX, ATTACHMENT_TYPES } from '#lib/core/attachments.ts'
import { refuse } from '#lib/core/errors.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import { pageResult } from '#lib/http/input.ts'
import { endpoints } from '#lib/http/routes.ts'

export const { GET, POST } = endpoints({
  'GET /disputes': endpoint({
    method: 'GET',
    operationId: 'listDisputes',
    isCompressible: true,
    summary: 'List disputes',
    description:
      'Returns the disputes of all charges, of every status, newest first. The events `transaction.dispute_opened` and `transaction.dispute_closed` report them.',
    allow: 'transactions:read',
    query: disputesQuery,
    response: DisputePage,
    async handle({ account, mode, query }) {
      return pageResult(await listDisputes(account.id, mode, query))
    },
  }),
  'GET /disputes/[id]': endpoint({
    method: 'GET',
    operationId: 'getDispute',
    summary: 'Read a dispute',
    description: 'Returns the dispute with its current status.',
    allow: 'transactions:read',
    hasEtag: true,
    response: DisputeRead,
    errorCodes: ['dispute_not_found'],
    async handle({ account, mode, params }) {
      const dispute = await findDispute(account.id, mode, params.id ?? '')
      if (!dispute) throw refuse('dispute_not_found')
      return { data: dispute }
    },
  }),
  'GET /disputes/[id]/evidence': endpoint({
    method: 'GET',
    operationId: 'listDisputeEvidence',
    isCompressible: true,
    summary: 'List the evidence of a dispute',
    description: 'Returns what was sent for the defense, oldest first.',
    allow: 'transactions:read',
    response: EvidenceList,
    errorCodes: ['dispute_not_found'],
    async handle({ account, mode, params }) {
      return { data: await listEvidence(account.id, mode, params.id ?? '') }
    },
  }),
  'POST /disputes/[id]/evidence': endpoint({
    method: 'POST',
    operationId: 'addDisputeEvidence',
    effect: 'none',
    summary: 'Add evidence to a dispute',
    description: `Sends your administrator a text, a file or both, for the defense that the bank gets. Possible while the dispute is open and no defense has been sent, at most ${EVIDENCE_MAX} times. What was sent cannot be changed.`,
    allow: 'transactions:write',
    proof: { notRequired: 'Moves no money, and shows nothing that was stored before.' },
    body: evidenceRequest,
    bodyBytesMax: ATTACHMENT_BODY_BYTES_MAX,
    isHeavy: true,
    response: EvidenceRead,
    errorCodes: ['dispute_not_found', 'already_final'],
    idempotency: { retentionS: 86_400 },
    async handle({ account, mode, body, params, userId, tokenId, once }) {
      const dispute = { accountId: account.id, mode, id: params.id ?? '' }
      return { data: await addEvidence(dispute, body, actorOf({ userId, tokenId }), once?.id) }
    },
  }),
  'GET /disputes/[id]/evidence/[evidence_id]': endpoint({
    method: 'GET',
    operationId: 'downloadDisputeEvidence',
    isHeavy: true,
    summary: 'Download the file of evidence',
    description: 'Returns the file as it was sent.',
    allow: 'transactions:read',
    isFile: true,
    response: z.string(),
    fileType: ATTACHMENT_TYPES,
    errorCodes: ['dispute_not_found'],
    handle: ({ account, mode, params: { id = '', evidence_id: evidenceId = '' } }) =>
      readEvidenceFile({ accountId: account.id, mode, id }, evidenceId),
  }),
})
