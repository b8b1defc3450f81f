import { Prisma, type Tx } from '#lib/base/db/client.ts'
import { ROLES_BY_PERMISSION } from '#lib/services/people/roles.ts'

/** What one owner does alone to the members counts for approvals only after this time. */
export const SETTLING_HOURS = 24
const settlingSql = Prisma.raw(`interval '${SETTLING_HOURS} hours'`)

export const APPROVER_ROLES = ROLES_BY_PERMISSION['withdrawals:approve']
const approverRoles = Prisma.raw(APPROVER_ROLES.map(role => `'${role}'`).join(', '))

/** Members `m`, users `u`: the role may approve, and the user may sign in. */
export const approverCondition = Prisma.sql`m.role IN (${approverRoles}) AND u.disabled_at IS NULL`

/**
 * Person who answers for member `m` of account `a`: the member, or for 24 hours the one who gave them
 * the role. Two members for whom the same person answers count as one, so that a stolen session
 * cannot invite its own approver. Roles given on the first day of the account count at once.
 */
export const voucherSql = Prisma.sql`
  CASE WHEN COALESCE(m.role_at, m.created_at) > GREATEST(now() - ${settlingSql}, a.created_at + ${settlingSql})
    THEN COALESCE(m.role_by, m.user_id) ELSE m.user_id END`

/** Whether account `a` has two members who may approve, or lost the second in the last 24 hours. */
export const inForceCondition = Prisma.sql`
  (COALESCE(a.approval_kept_until > now(), false) OR 2 <= (
    SELECT count(DISTINCT ${voucherSql}) FROM memberships m JOIN users u ON u.id = m.user_id
    WHERE m.account_id = a.id AND ${approverCondition}))`

/** Ids that may not approve what `requester` asks for: the requester and who answers for them. */
export function barredSql(requester: string | null): Prisma.Sql {
  return Prisma.sql`
    array_remove(ARRAY[${requester}::uuid, (SELECT ${voucherSql} FROM memberships m
      WHERE m.account_id = a.id AND m.user_id = ${requester}::uuid)], NULL)`
}

/** Locks a member of the role until commit. A row only if they are not barred: see `barredSql`. */
export function approverSql(accountId: string, userId: string): Prisma.Sql {
  return Prisma.sql`
    SELECT m.account_id, ARRAY[m.user_id, ${voucherSql}] AS ids, m.role
    FROM memberships m JOIN users u ON u.id = m.user_id JOIN accounts a ON a.id = m.account_id
    WHERE m.account_id = ${accountId}::uuid AND m.user_id = ${userId}::uuid AND ${approverCondition}
    FOR SHARE OF m`
}

/** Returns who answers for a user at the moment. */
export async function findVoucher(tx: Tx, accountId: string, userId: string): Promise<string> {
  const [row] = await tx.$queryRaw<{ id: string }[]>`
    SELECT ${voucherSql} AS id FROM memberships m JOIN accounts a ON a.id = m.account_id
    WHERE m.account_id = ${accountId}::uuid AND m.user_id = ${userId}::uuid`
  return row?.id ?? userId
}
