import * as z from 'zod'
import { confirmApprovalRule } from '#lib/accounts/approval.ts'
import { assignConnections } from '#lib/accounts/connections.ts'
import { accountLimits, approvalConfirmation } from '#lib/accounts/schema.ts'
import {
  activateAccount,
  changeStatuses,
  limitAccount,
  suspendAccount,
} from '#lib/accounts/settings.ts'
import { writeOffClaim } from '#lib/accounts/write-off.ts'
import { requireActor } from '#lib/audit/record.ts'
import { AssignedConnections } from '#lib/banks/schema.ts'
import { readEvidenceFile } from '#lib/charges/disputes/evidence.ts'
import { answerDispute } from '#lib/charges/disputes/read-list.ts'
import { ANSWER_STATES } from '#lib/charges/disputes/schema.ts'
import { revealDocument } from '#lib/charges/reveal.ts'
import { DocumentRead } from '#lib/charges/wire.ts'
import { refuse } from '#lib/core/errors.ts'
import { ApprovalSettingsRead, readApprovalSettings } from '#lib/dashboard/approval-rule.ts'
import { adminEndpoint } from '#lib/http/endpoint.ts'
import { endpoints } from '#lib/http/routes.ts'
import { findAccounts, readStatusChange } from '#lib/operator/accounts.ts'
import {
  answerRequest,
  optionalReasonRequest,
  reasonRequest,
  writeOffRequest,
} from '#lib/operator/schema.ts'
import {
  AccountStatusChange,
  AccountStatusChanges,
  FindAccountsQuery,
  FoundAccounts,
  statusChangesRequest,
} from '#lib/operator/wire.ts'
import { beginViewing } from '#lib/people/sessions.ts'
import { revokeAccountTokens, revokeTokenAsOperator } from '#lib/tokens/change.ts'

export const { GET, POST, PUT } = endpoints({
  'GET /admin/accounts': adminEndpoint({
    method: 'GET',
    isCompressible: true,
    summary: "Find accounts by name, id or owner's e-mail",
    query: FindAccountsQuery,
    response: FoundAccounts,
    async handle({ query }) {
      return { data: await findAccounts(query.q) }
    },
  }),
  'POST /admin/accounts/[id]/activate': adminEndpoint({
    method: 'POST',
    effect: 'none',
    summary: 'Activate an account',
    body: optionalReasonRequest,
    response: AccountStatusChange,
    errorCodes: ['account_not_found'],
    proof: 'required',
    async handle({ user, body, params: { id = '' } }) {
      await activateAccount(id, body.reason, requireActor(user.id))
      return { data: await readStatusChange(id) }
    },
  }),
  'POST /admin/accounts/[id]/approval': adminEndpoint({
    method: 'POST',
    summary: 'Confirm a weaker rule of approval that an owner requested',
    body: approvalConfirmation,
    response: ApprovalSettingsRead,
    errorCodes: ['account_not_found', 'approval_by_other', 'approval_ended'],
    proof: 'required',
    effect: 'none',
    async handle({ user, body, params: { id = '' } }) {
      await confirmApprovalRule(id, body.id, requireActor(user.id), true)
      return { data: await readApprovalSettings(id, user.id, true) }
    },
  }),
  'POST /admin/accounts/[id]/charges/[charge_id]/document': adminEndpoint({
    method: 'POST',
    effect: 'document',
    summary: 'Reveal a payer’s document, recorded in the audit log of the account',
    body: reasonRequest,
    response: DocumentRead,
    errorCodes: ['transaction_not_found'],
    proof: 'required',
    async handle({ user, body, params: { id: accountId = '', charge_id: id = '' } }) {
      const document = await revealDocument({ accountId, id }, requireActor(user.id), body.reason)
      return { data: { document } }
    },
  }),
  'PUT /admin/accounts/[id]/connections': adminEndpoint({
    method: 'PUT',
    effect: 'none',
    summary: 'Set the connections through which an account receives and pays out in live mode',
    body: AssignedConnections,
    response: z.object({ data: AssignedConnections }),
    errorCodes: ['account_not_found'],
    proof: 'required',
    async handle({ user, body, params: { id = '' } }) {
      const data = await assignConnections(id, body, requireActor(user.id))
      if (!data) throw refuse('account_not_found')
      return { data }
    },
  }),
  'POST /admin/accounts/[id]/disputes/[dispute_id]/answer': adminEndpoint({
    method: 'POST',
    effect: 'none',
    summary: 'Send the defense in a dispute to the bank, once',
    body: answerRequest,
    response: z.object({ data: z.object({ state: z.enum(ANSWER_STATES) }) }),
    errorCodes: ['not_found', 'dispute_refused', 'service_unavailable'],
    proof: 'required',
    async handle({ user, body, params: { id: accountId = '', dispute_id: id = '' } }) {
      return {
        data: { state: await answerDispute({ accountId, id, text: body.text, by: user.id }) },
      }
    },
  }),
  'GET /admin/accounts/[id]/disputes/[dispute_id]/evidence/[evidence_id]': adminEndpoint({
    method: 'GET',
    summary:
      'Download a file that the merchant sent for the defense, recorded in the audit log of the account',
    response: z.string(),
    errorCodes: ['dispute_not_found'],
    handle: ({
      user,
      params: { id: accountId = '', dispute_id: id = '', evidence_id: evidenceId = '' },
    }) => readEvidenceFile({ accountId, id }, evidenceId, requireActor(user.id)),
  }),
  'PUT /admin/accounts/[id]/limits': adminEndpoint({
    method: 'PUT',
    effect: 'none',
    summary: 'Set the live-mode limits of an account',
    body: accountLimits,
    response: z.object({ data: accountLimits }),
    errorCodes: ['account_not_found'],
    proof: 'required',
    async handle({ user, body, params: { id = '' } }) {
      const data = await limitAccount(id, body, requireActor(user.id))
      if (!data) throw refuse('account_not_found')
      return { data }
    },
  }),
  'POST /admin/accounts/[id]/suspend': adminEndpoint({
    method: 'POST',
    effect: 'none',
    summary: 'Suspend an account',
    body: reasonRequest,
    response: AccountStatusChange,
    errorCodes: ['account_not_found'],
    proof: 'required',
    async handle({ user, body, params: { id = '' } }) {
      await suspendAccount(id, body.reason, requireActor(user.id))
      return { data: await readStatusChange(id) }
    },
  }),
  'POST /admin/accounts/[id]/tokens/[token_id]/revoke': adminEndpoint({
    method: 'POST',
    effect: 'none',
    summary: 'Revoke a token',
    body: reasonRequest,
    response: z.object({ data: z.object({ id: z.string(), was_in_force: z.boolean() }) }),
    errorCodes: ['token_not_found'],
    proof: 'required',
    async handle({ user, body, params: { id: accountId = '', token_id: id = '' } }) {
      const revoked = await revokeTokenAsOperator(
        { accountId, id },
        body.reason,
        requireActor(user.id),
      )
      return { data: { id, was_in_force: revoked !== null } }
    },
  }),
  'POST /admin/accounts/[id]/tokens/revoke': adminEndpoint({
    method: 'POST',
    effect: 'none',
    summary: 'Revoke all tokens of an account',
    body: reasonRequest,
    response: z.object({ data: z.object({ revoked: z.int() }) }),
    errorCodes: ['account_not_found'],
    proof: 'required',
    async handle({ user, body, params: { id = '' } }) {
      await readStatusChange(id)
      return {
        data: { revoked: await revokeAccountTokens(id, body.reason, requireActor(user.id)) },
      }
    },
  }),
  'POST /admin/accounts/[id]/view': adminEndpoint({
    method: 'POST',
    effect: 'none',
    summary: 'View the dashboard of an account read-only for 30 minutes',
    body: reasonRequest,
    response: z.object({ data: z.object({ until: z.iso.datetime() }) }),
    errorCodes: ['account_not_found'],
    proof: 'required',
    async handle({ user, body, params: { id = '' } }) {
      const viewer = { userId: user.id, sessionId: user.sessionId }
      const until = await beginViewing(viewer, id, body.reason)
      return { data: { until: until.toISOString() } }
    },
  }),
  'POST /admin/accounts/[id]/write-offs': adminEndpoint({
    method: 'POST',
    effect: 'none',
    summary: 'Give up what an account owes for lost disputes, at the cost of the operator',
    body: writeOffRequest,
    response: z.object({ data: z.object({ amount: z.int() }) }),
    errorCodes: ['not_found'],
    proof: 'required',
    async handle({ user, body: { mode, amount, reason }, params: { id = '' } }) {
      const terms = { amount, reason }
      return { data: { amount: await writeOffClaim(id, mode, terms, requireActor(user.id)) } }
    },
  }),
  'POST /admin/accounts/status': adminEndpoint({
    method: 'POST',
    effect: 'none',
    summary: 'Activate or suspend several accounts, with one result each',
    body: statusChangesRequest,
    response: AccountStatusChanges,
    proof: 'required',
    async handle({ user, body }) {
      return { data: await changeStatuses(body, requireActor(user.id)) }
    },
  }),
})
