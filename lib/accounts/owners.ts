import { refuse } from '#lib/core/errors.ts'
import { Invariant } from '#lib/core/invariant.ts'
import type { Tx } from '#lib/db/client.ts'
import { type AnyPermission, hasPermission, type Role } from '#lib/people/roles.ts'

/** Locks the members, so that the count of owners stays correct. Returns the account's name. */
export async function lockMembers(tx: Tx, accountId: string): Promise<string> {
  const [account] = await tx.$queryRaw<{ name: string }[]>`
    SELECT name FROM accounts WHERE id = ${accountId}::uuid FOR NO KEY UPDATE`
  if (!account) throw new Invariant(`account ${accountId} has members but is missing`)
  return account.name
}

/** Returns the account's status and keeps it until commit. */
export async function lockStatus(tx: Tx, accountId: string): Promise<string | undefined> {
  const [account] = await tx.$queryRaw<{ status: string }[]>`
    SELECT status FROM accounts WHERE id = ${accountId}::uuid FOR SHARE`
  return account?.status
}

/** Checks the permission again under the lock: the member may have lost the role meanwhile. */
export async function requirePermission(
  tx: Tx,
  { accountId, userId }: { accountId: string; userId: string },
  permission: AnyPermission,
): Promise<void> {
  const where = { accountId_userId: { accountId, userId } }
  const member = await tx.membership.findUnique({ where, select: { role: true } })
  if (member && hasPermission(member.role as Role, permission)) return
  throw refuse('permission_denied', { permission })
}

/** Refuses unless another owner can sign in: only owners can invite members. */
export async function requireOtherOwner(tx: Tx, accountId: string, userId: string): Promise<void> {
  const where = { accountId, role: 'owner', userId: { not: userId }, user: { disabledAt: null } }
  if ((await tx.membership.count({ where })) > 0) return
  throw refuse('last_owner')
}

/** Revokes the open invitations of a former owner, who may no longer invite anyone. */
export async function revokeInvitationsOf(
  tx: Tx,
  accountId: string,
  userId: string,
): Promise<number> {
  const { count } = await tx.invitation.updateMany({
    where: { accountId, invitedBy: userId, acceptedAt: null, revokedAt: null },
    data: { revokedAt: new Date() },
  })
  return count
}
