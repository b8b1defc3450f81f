import { requireActor } from '#lib/base/audit/note.ts'
import { endpoint } from '#lib/edge/http/endpoint.ts'
import { confirmApprovalRule } from '#lib/rooms/accounts/confirm-approval.ts'
import { approvalConfirmation } from '#lib/rooms/accounts/schema.ts'
import { ApprovalSettingsRead, readApprovalSettings } from '#lib/views/dashboard/approval-rule.ts'

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
