import { Prisma, type Tx } from '#lib/base/db/client.ts'
import { refuse } from '#lib/base/errors.ts'
import { type AnyPermission, hasPermission, type Role } from '#lib/services/people/roles.ts'

interface Member {
  accountId: string
  userId: string
}

/**
 * Returns SQL that yields the account's id, or fails the statement with TR401 if the user no longer
 * has the role (prisma/functions/troco_refuse_caller.sql). Locks the member until commit: a
 * concurrent removal or change of the role takes effect before the statement or after it.
 */
export function memberProof({ accountId, userId }: Member, role: Role): Prisma.Sql {
  return Prisma.sql`(SELECT COALESCE((
    SELECT m.account_id FROM memberships m
    WHERE m.account_id = ${accountId}::uuid AND m.user_id = ${userId}::uuid AND m.role = ${role}
    FOR SHARE), troco_refuse_caller()))`
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
