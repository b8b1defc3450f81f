import { cancelApprovalRule, setApprovalRule } from '#lib/accounts/approval.ts'
import { approvalRule } from '#lib/accounts/schema.ts'
import { requireActor } from '#lib/audit/record.ts'
import { ApprovalSettingsRead, readApprovalSettings } from '#lib/dashboard/approval-rule.ts'
import { endpoint } from '#lib/http/endpoint.ts'

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
