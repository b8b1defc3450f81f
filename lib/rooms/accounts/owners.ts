import type { Tx } from '#lib/base/db/client.ts'
import { refuse } from '#lib/base/errors.ts'
import { Invariant } from '#lib/base/invariant.ts'
import { type Allowed, may, type Role } from '#lib/services/people/roles.ts'

/**
 * The account's name, and nobody else changes its people until the end of the transaction: owners
 * are counted under this lock.
 */
export async function lockPeople(tx: Tx, accountId: string): Promise<string> {
  const [account] = await tx.$queryRaw<{ name: string }[]>`
    SELECT name FROM accounts WHERE id = ${accountId}::uuid FOR NO KEY UPDATE`
  if (!account) throw new Invariant(`account ${accountId} has members but is missing`)
  return account.name
}

/** Checks the permission once more under the lock: the member may have lost the role meanwhile. */
export async function requireMay(
  tx: Tx,
  { accountId, userId }: { accountId: string; userId: string },
  permission: Allowed,
): Promise<void> {
  const where = { accountId_userId: { accountId, userId } }
  const member = await tx.membership.findUnique({ where, select: { role: true } })
  if (member && may(member.role as Role, permission)) return
  throw refuse('permission_denied', { permission })
}

/** Without an owner nobody could let anybody in; one who cannot sign in does not count. */
export async function requireOtherOwner(tx: Tx, accountId: string, userId: string): Promise<void> {
  const where = { accountId, role: 'owner', userId: { not: userId }, user: { disabledAt: null } }
  if ((await tx.membership.count({ where })) > 0) return
  throw refuse('last_owner')
}

/** Whoever is an owner no more lets nobody in either, not by what they sent before. */
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
