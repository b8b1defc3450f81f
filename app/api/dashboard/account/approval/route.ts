import { requireActor } from '#lib/base/audit/note.ts'
import { endpoint } from '#lib/edge/http/endpoint.ts'
import { cancelApprovalRule } from '#lib/rooms/accounts/confirm-approval.ts'
import { approvalRule } from '#lib/rooms/accounts/schema.ts'
import { setApprovalRule } from '#lib/rooms/accounts/set-approval.ts'
import { ApprovalSettingsRead, readApprovalSettings } from '#lib/views/dashboard/approval-rule.ts'

export const GET = endpoint({
  method: 'GET',
  summary: 'Read which withdrawals need a second member',
  allow: 'dashboard:read',
  response: ApprovalSettingsRead,
  async handle({ account, userId }) {
    return { data: await readApprovalSettings(account.id, requireActor(userId).id) }
  },
})

export const PATCH = endpoint({
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
})

export const DELETE = endpoint({
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
})
