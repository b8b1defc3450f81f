import { keepApprovalInForce, mailNewApprover } from '#lib/accounts/approval-rule.ts'
import {
  lockMembers,
  requireOtherOwner,
  requirePermission,
  revokeInvitationsOf,
} from '#lib/accounts/owners.ts'
import type { Role } from '#lib/accounts/schema.ts'
import { findVouchers } from '#lib/accounts/vouchers.ts'
import { recordAudit } from '#lib/audit/record.ts'
import { refuse } from '#lib/core/errors.ts'
import { isUuid } from '#lib/core/ids.ts'
import type { Tx } from '#lib/db/client.ts'
import { transaction } from '#lib/db/client.ts'
import { queueMail } from '#lib/mail/queue.ts'
import { hasPermission } from '#lib/people/roles.ts'
import { endSessionsOf } from '#lib/people/sessions.ts'

/**
 * Ends the member's sessions, because open pages still show data that only the old role may see.
 * Refuses to change the last owner. `settleTokens` runs in the transaction, after the change.
 */
export function assignRole(
  { accountId, userId, role }: { accountId: string; userId: string; role: Role },
  actor: { type: 'user'; id: string },
  settleTokens: (tx: Tx) => Promise<void>,
): Promise<void> {
  return transaction(async tx => {
    const account = await lockMembers(tx, accountId)
    await requirePermission(tx, { accountId, userId: actor.id }, 'members:write')
    const key = { accountId_userId: { accountId, userId } }
    const member = isUuid(userId)
      ? await tx.membership.findUnique({ where: key, include: { user: true } })
      : null
    if (!member) throw refuse('member_not_found')
    if (member.role === role) return
    if (member.role === 'owner') {
      await requireOtherOwner(tx, accountId, userId)
      await revokeInvitationsOf(tx, accountId, userId)
    }
    if (isApprover(member.role) !== isApprover(role)) await recordGiver(tx, member, actor.id)
    await tx.membership.update({ where: key, data: { role } })
    await settleTokens(tx)
    await endSessionsOf(tx, userId)
    await mailNewApprover(tx, accountId, { userId, role })
    const change = { before: { role: member.role }, after: { role } }
    const action = 'member.role_changed'
    await recordAudit(tx, { actor, action, accountId, target: userId, ...change })
    await queueMail(tx, member.user, { kind: 'roleChanged', account, role })
  })
}

const isApprover = (role: string) => hasPermission(role as Role, 'withdrawals:approve')

/** Records who gave or took a role that may approve withdrawals; the rule stays in force meanwhile. */
async function recordGiver(
  tx: Tx,
  { accountId, userId }: { accountId: string; userId: string },
  actorId: string,
): Promise<void> {
  await keepApprovalInForce(tx, accountId)
  const { root, via } = await findVouchers(tx, { accountId, giver: actorId, userId })
  await tx.$executeRaw`
    UPDATE memberships SET role_at = now(), role_by = ${root}::uuid, role_via = ${via}::uuid[]
    WHERE account_id = ${accountId}::uuid AND user_id = ${userId}::uuid`
}
