import { refuse } from '#lib/core/errors.ts'
import type { Tx } from '#lib/db/client.ts'
import { type AnyPermission, hasPermission, type Role } from '#lib/people/roles.ts'

interface Member {
  accountId: string
  userId: string
}

/**
 * Returns a function that locks the member until commit, or fails with TR401 if the user no longer
 * has the role (prisma/functions/troco_refuse_caller.sql). The first statement of a transaction: a
 * concurrent removal or change of the role takes effect before what follows or after it.
 */
export function memberLock({ accountId, userId }: Member, role: Role): (tx: Tx) => Promise<void> {
  return async tx => {
    await tx.$queryRaw`
      SELECT COALESCE((
        SELECT m.account_id FROM memberships m
        WHERE m.account_id = ${accountId}::uuid AND m.user_id = ${userId}::uuid AND m.role = ${role}
        FOR SHARE), troco_refuse_caller())`
  }
}

/**
 * Returns a function that checks the permission again in the transaction, and locks the member until
 * commit. It returns whether the present role may read payers' documents.
 */
export function permissionLock(
  { accountId, userId }: { accountId: string; userId: string | null },
  permission: AnyPermission,
): (tx: Tx) => Promise<{ readsPayers: boolean }> {
  return async tx => {
    const [member] = await tx.$queryRaw<{ role: Role }[]>`
      SELECT m.role FROM memberships m
      WHERE m.account_id = ${accountId}::uuid AND m.user_id = ${userId}::uuid FOR SHARE`
    if (!member || !hasPermission(member.role, permission))
      throw refuse('permission_denied', { permission })
    return { readsPayers: hasPermission(member.role, 'payers:read') }
  }
}
