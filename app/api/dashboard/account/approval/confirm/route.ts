import { confirmApprovalRule } from '#lib/accounts/approval.ts'
import { approvalConfirmation } from '#lib/accounts/schema.ts'
import { requireActor } from '#lib/audit/record.ts'
import { ApprovalSettingsRead, readApprovalSettings } from '#lib/dashboard/approval-rule.ts'
import { endpoint } from '#lib/http/endpoint.ts'

export const POST = endpoint({
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
})
