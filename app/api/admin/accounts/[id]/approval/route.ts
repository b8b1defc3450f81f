import { confirmApprovalRule } from '#lib/accounts/approval.ts'
import { approvalConfirmation } from '#lib/accounts/schema.ts'
import { requireActor } from '#lib/audit/record.ts'
import { ApprovalSettingsRead, readApprovalSettings } from '#lib/dashboard/approval-rule.ts'
import { adminEndpoint } from '#lib/http/endpoint.ts'

export const POST = adminEndpoint({
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
})
