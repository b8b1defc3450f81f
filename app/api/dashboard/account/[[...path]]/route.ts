import * as z from 'zod'
import { cancelApprovalRule, confirmApprovalRule, setApprovalRule } from '#lib/accounts/approval.ts'
import { requestLive } from '#lib/accounts/connections.ts'
import {
  AccountSettings,
  accountChange,
  approvalConfirmation,
  approvalRule,
} from '#lib/accounts/schema.ts'
import { updateAccount } from '#lib/accounts/settings.ts'
import { requireActor } from '#lib/audit/record.ts'
import { ApprovalSettingsRead, readApprovalSettings } from '#lib/dashboard/approval-rule.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import { endpoints } from '#lib/http/routes.ts'

const LiveRequested = z.object({ data: z.object({ requested: z.literal(true) }) })

export const { GET, POST, PATCH, DELETE } = endpoints({
  'PATCH /dashboard/account': endpoint({
    method: 'PATCH',
    effect: 'none',
    summary: 'Change the settings of the account',
    allow: 'settings:write',
    proof: 'required',
    body: accountChange,
    response: AccountSettings,
    errorCodes: ['external_ids_repeat'],
    async handle({ account, body, userId }) {
      return { data: await updateAccount(account.id, body, requireActor(userId)) }
    },
  }),
  'GET /dashboard/account/approval': endpoint({
    method: 'GET',
    summary: 'Read which withdrawals need a second member',
    allow: 'dashboard:read',
    response: ApprovalSettingsRead,
    async handle({ account, userId }) {
      return { data: await readApprovalSettings(account.id, requireActor(userId).id) }
    },
  }),
  'PATCH /dashboard/account/approval': endpoint({
    method: 'PATCH',
    summary: 'Change which withdrawals need a second member; a weaker rule waits for another owner',
    allow: 'settings:write',
    proof: 'required',
    effect: 'none',
    body: approvalRule,
    response: ApprovalSettingsRead,
    async handle({ account, body, userId }) {
      const actor = requireActor(userId)
      await setApprovalRule(account.id, body, actor)
      return { data: await readApprovalSettings(account.id, actor.id) }
    },
  }),
  'DELETE /dashboard/account/approval': endpoint({
    method: 'DELETE',
    summary: 'Cancel the weaker rule that waits for confirmation',
    allow: 'settings:write',
    proof: { notRequired: 'It keeps the stricter rule that already applies.' },
    effect: 'none',
    response: ApprovalSettingsRead,
    async handle({ account, userId }) {
      const actor = requireActor(userId)
      await cancelApprovalRule(account.id, actor)
      return { data: await readApprovalSettings(account.id, actor.id) }
    },
  }),
  'POST /dashboard/account/approval/confirm': endpoint({
    method: 'POST',
    summary: 'Confirm a weaker rule that another owner requested',
    allow: 'settings:write',
    proof: 'required',
    effect: 'none',
    body: { test: approvalConfirmation, live: approvalConfirmation },
    response: ApprovalSettingsRead,
    errorCodes: ['approval_by_other', 'approval_ended'],
    idempotency: { retentionS: 86_400 },
    async handle({ account, body, userId }) {
      const actor = requireActor(userId)
      await confirmApprovalRule(account.id, body.id, actor)
      return { data: await readApprovalSettings(account.id, actor.id) }
    },
  }),
  'POST /dashboard/account/live': endpoint({
    method: 'POST',
    summary: 'Ask the operator for live mode',
    allow: 'settings:write',
    proof: { notRequired: 'It only adds the account to what the operator decides.' },
    effect: 'none',
    response: LiveRequested,
    idempotency: { retentionS: 86_400 },
    async handle({ account, userId }) {
      await requestLive(account.id, requireActor(userId))
      return { data: { requested: true } }
    },
  }),
})
