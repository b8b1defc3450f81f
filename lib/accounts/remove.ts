import { keepApprovalInForce } from '#lib/accounts/approval-rule.ts'
import {
  lockMembers,
  requireOtherOwner,
  requirePermission,
  revokeInvitationsOf,
} from '#lib/accounts/owners.ts'
import { readVouchers } from '#lib/accounts/vouchers.ts'
import { recordAudit } from '#lib/audit/record.ts'
import { refuse } from '#lib/core/errors.ts'
import { isUuid } from '#lib/core/ids.ts'
import type { Tx } from '#lib/db/client.ts'
import { transaction } from '#lib/db/client.ts'
import { queueMail } from '#lib/mail/queue.ts'
import { hasPermission, type Role } from '#lib/people/roles.ts'
import { endSessionsOf } from '#lib/people/sessions.ts'

type UserActor = { type: 'user'; id: string }

/** Ends the member's sessions at once. `settleTokens` runs after that, in the transaction. */
export function removeMember(
  { accountId, userId }: { accountId: string; userId: string },
  actor: UserActor,
  settleTokens: (tx: Tx) => Promise<void>,
): Promise<void> {
  return transaction(async tx => {
    const account = await lockMembers(tx, accountId)
    await requirePermission(tx, { accountId, userId: actor.id }, 'members:write')
    const { user, role } = await removeMembership(tx, accountId, userId)
    await settleTokens(tx)
    await endSessionsOf(tx, userId)
    const entry = { actor, accountId, target: userId, before: { role } }
    await recordAudit(tx, { action: 'member.removed', ...entry })
    await queueMail(tx, user, { kind: 'memberRemoved', account })
  })
}

/**
 * Removes the acting member. Their sessions continue, since they may belong to other accounts.
 * `endTokens` runs after that, in the transaction.
 */
export function leaveAccount(
  accountId: string,
  actor: UserActor,
  endTokens: (tx: Tx) => Promise<void>,
): Promise<void> {
  return transaction(async tx => {
    await lockMembers(tx, accountId)
    const { role } = await removeMembership(tx, accountId, actor.id)
    await endTokens(tx)
    const entry = { actor, accountId, target: actor.id, before: { role } }
    await recordAudit(tx, { action: 'member.left', ...entry })
  })
}

/** Deletes a membership. Refuses for the last owner; revokes an owner's open invitations. */
async function removeMembership(tx: Tx, accountId: string, userId: string) {
  const key = { accountId_userId: { accountId, userId } }
  const member = isUuid(userId)
    ? await tx.membership.findUnique({ where: key, include: { user: true } })
    : null
  if (!member) throw refuse('member_not_found')
  if (hasPermission(member.role as Role, 'withdrawals:approve'))
    await keepApprovalInForce(tx, accountId)
  if (member.role === 'owner') {
    await requireOtherOwner(tx, accountId, userId)
    await revokeInvitationsOf(tx, accountId, userId)
  }
  await recordVouchers(tx, accountId, userId)
  await tx.membership.delete({ where: key })
  return member
}

/** Records who answers for the member: approvals of what their tokens request depend on it. */
async function recordVouchers(tx: Tx, accountId: string, userId: string): Promise<void> {
  const vouchers = (await readVouchers(tx, accountId, [userId])).get(userId)
  await tx.$executeRaw`
    INSERT INTO former_members (account_id, user_id, vouchers)
    VALUES (${accountId}::uuid, ${userId}::uuid, ${vouchers}::uuid[])
    ON CONFLICT (account_id, user_id) DO UPDATE SET vouchers = EXCLUDED.vouchers, left_at = now()`
}
