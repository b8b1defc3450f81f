import { Prisma } from '#lib/base/db/client.ts'
import type { Role } from '#lib/services/people/roles.ts'

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
