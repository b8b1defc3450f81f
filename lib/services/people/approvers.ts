import { Prisma, type Tx } from '#lib/base/db/client.ts'
import { ROLES_BY_PERMISSION } from '#lib/services/people/roles.ts'

/** What one owner does alone to the members counts for approvals only after this time. */
export const SETTLING_HOURS = 24
export const settlingSql = Prisma.raw(`interval '${SETTLING_HOURS} hours'`)

export const APPROVER_ROLES = ROLES_BY_PERMISSION['withdrawals:approve']
const approverRoles = Prisma.raw(APPROVER_ROLES.map(role => `'${role}'`).join(', '))

/** Members `m`, users `u`: the role may approve, and the user may sign in. */
export const approverCondition = Prisma.sql`m.role IN (${approverRoles}) AND u.disabled_at IS NULL`

const isSettling = Prisma.sql`
  COALESCE(m.role_at, m.created_at) > GREATEST(now() - ${settlingSql}, a.created_at + ${settlingSql})`

/**
 * Ids of member `m` of account `a` and, for 24 hours after they got the role, of everyone who answers
 * for them: the giver and who answered for the giver. Members who share an id do not approve requests
 * of each other, so that a stolen session cannot invite its own approver. Roles given on the first day
 * of the account count at once.
 */
export const vouchersSql = Prisma.sql`
  CASE WHEN ${isSettling} THEN ARRAY[m.user_id, COALESCE(m.role_by, m.user_id)] || m.role_via
    ELSE ARRAY[m.user_id] END`

/** Whether account `a` has two members who may approve, or had them before a change in the last 24 hours. */
export const inForceCondition = Prisma.sql`
  (COALESCE(a.approval_kept_until > now(), false) OR 2 <= (
    SELECT count(DISTINCT CASE WHEN ${isSettling} THEN COALESCE(m.role_by, m.user_id)
      ELSE m.user_id END) FROM memberships m JOIN users u ON u.id = m.user_id
    WHERE m.account_id = a.id AND ${approverCondition}))`

/**
 * Ids that may not approve what `requester` asks of account `a`: the requester and who answers for
 * them. For a former member, who answered when they left: their tokens remain active.
 */
export function barredSql(requester: string | null): Prisma.Sql {
  const id = Prisma.sql`${requester}::uuid`
  return Prisma.sql`
    array_remove(COALESCE(
      (SELECT ${vouchersSql} FROM memberships m WHERE m.account_id = a.id AND m.user_id = ${id}),
      (SELECT f.vouchers FROM former_members f WHERE f.account_id = a.id AND f.user_id = ${id}),
      ARRAY[${id}]), NULL)`
}

/** Locks a member of the role until commit. A row only if they are not barred: see `barredSql`. */
export function approverSql(accountId: string, userId: string): Prisma.Sql {
  return Prisma.sql`
    SELECT m.account_id, ${vouchersSql} AS ids, m.role
    FROM memberships m JOIN users u ON u.id = m.user_id JOIN accounts a ON a.id = m.account_id
    WHERE m.account_id = ${accountId}::uuid AND m.user_id = ${userId}::uuid AND ${approverCondition}
    FOR SHARE OF m`
}

/** Who answers for a member with a new role: `root` is the last of the chain, `via` has all of it. */
export interface Vouchers {
  root: string
  via: string[]
}

/** Returns who answers for `userId` if `giver` gives them a role now, and who did so until now. */
export async function findVouchers(
  tx: Tx,
  { accountId, giver, userId }: { accountId: string; giver: string; userId: string },
): Promise<Vouchers> {
  const [row] = await tx.$queryRaw<{ ofGiver: string[]; ofUser: string[] }[]>`
    SELECT ${barredSql(giver)} AS "ofGiver", ${barredSql(userId)} AS "ofUser"
    FROM accounts a WHERE a.id = ${accountId}::uuid`
  const { ofGiver, ofUser } = row ?? { ofGiver: [giver], ofUser: [] }
  return { root: ofGiver[1] ?? giver, via: [...new Set([...ofGiver, ...ofUser])] }
}
