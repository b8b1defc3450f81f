import { requireActor } from '#lib/base/audit/note.ts'
import { adminEndpoint } from '#lib/edge/http/accountless-endpoint.ts'
import { confirmApprovalRule } from '#lib/rooms/accounts/confirm-approval.ts'
import { approvalConfirmation } from '#lib/rooms/accounts/schema.ts'
import { ApprovalSettingsRead, readApprovalSettings } from '#lib/views/dashboard/approval-rule.ts'

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
