import { type Actor, personOf } from '#lib/audit/record.ts'
import { db, Prisma, type Tx } from '#lib/db/client.ts'
import { type Message, queueMail, type Recipient } from '#lib/mail/queue.ts'
import { ROLES_BY_PERMISSION } from '#lib/people/roles.ts'

/** What one owner does alone to the members counts for approvals only after this time. */
const SETTLING_HOURS = 24
export const settlingSql = Prisma.raw(`interval '${SETTLING_HOURS} hours'`)

export const APPROVER_ROLES = ROLES_BY_PERMISSION['withdrawals:approve']
const approverRoles = Prisma.raw(APPROVER_ROLES.map(role => `'${role}'`).join(', '))

const vouchedColumns = Prisma.sql`
  ARRAY[m.user_id, COALESCE(m.role_by, m.user_id)] || m.role_via AS ids,
  COALESCE(m.role_at, m.created_at) AS since`

/**
 * Rows `m` of the members of account `a` who may approve, or of one of them: `id`, `ids` (the user, who
 * gave them the role, and who answered for the giver) and `since`, when they got the role.
 */
export function approverRows(userId?: string): Prisma.Sql {
  const isUser = userId === undefined ? Prisma.empty : Prisma.sql`AND m.user_id = ${userId}::uuid`
  return Prisma.sql`(
    SELECT m.user_id AS id, m.role, u.email, u.locale, ${vouchedColumns}
    FROM memberships m JOIN users u ON u.id = m.user_id
    WHERE m.account_id = a.id AND m.role IN (${approverRoles}) AND u.disabled_at IS NULL ${isUser}) m`
}

/**
 * Rows `m` of users of account `a`, as above. For a former member, who answered when they left: their
 * tokens remain active. Anyone else answers for themselves; `since` is then null, which lasts forever.
 */
export function vouchedRows(userIds: readonly string[] | Prisma.Sql): Prisma.Sql {
  const ids = userIds instanceof Prisma.Sql ? userIds : Prisma.sql`${userIds}::uuid[]`
  return Prisma.sql`(
    SELECT w.id, COALESCE(k.ids, f.vouchers, ARRAY[w.id]) AS ids, k.since
    FROM unnest(${ids}) AS w (id)
    LEFT JOIN (SELECT m.user_id, ${vouchedColumns} FROM memberships m
      WHERE m.account_id = a.id) k ON k.user_id = w.id
    LEFT JOIN former_members f ON f.account_id = a.id AND f.user_id = w.id) m`
}

const isSettling = Prisma.sql`COALESCE(
  m.since > GREATEST(now() - ${settlingSql}, a.created_at + ${settlingSql}), true)`

/**
 * Ids of row `m` in account `a`: the user and, for 24 hours after they got the role, everyone who
 * answers for them. Members who share an id do not approve requests of each other, so that a stolen
 * session cannot invite its own approver. Roles given on the first day of the account count at once.
 */
export const vouchersSql = Prisma.sql`CASE WHEN ${isSettling} THEN m.ids ELSE ARRAY[m.id] END`

/** Returns SQL that is true if row `m` may approve what has this column of barred ids. */
export function mayApproveSql(barred: 'w.approval_barred' | 'c.barred'): Prisma.Sql {
  return Prisma.sql`NOT ${Prisma.raw(barred)} && ${vouchersSql}`
}

/** Whether account `a` has two approvers, or had them before a change in the last 24 hours. */
export const inForceSql = Prisma.sql`(COALESCE(a.approval_kept_until > now(), false) OR 2 <= (
  SELECT count(DISTINCT CASE WHEN ${isSettling} THEN m.ids[2] ELSE m.id END)
  FROM ${approverRows()}))`

/** Ids that may not approve what one of the users asks of account `a`; none for the operator's tokens. */
export function barredSql(requesterIds: readonly string[] | Prisma.Sql): Prisma.Sql {
  return Prisma.sql`COALESCE((SELECT array_agg(DISTINCT v.id)
    FROM ${vouchedRows(requesterIds)} CROSS JOIN unnest(${vouchersSql}) AS v (id)), '{}')`
}

/** Locks a member until commit. Returns whether they may approve. */
export async function lockApprover(tx: Tx, accountId: string, userId: string): Promise<boolean> {
  const locked = await tx.$queryRaw<unknown[]>`
    SELECT 1 FROM memberships m JOIN users u ON u.id = m.user_id
    WHERE m.account_id = ${accountId}::uuid AND m.user_id = ${userId}::uuid
      AND m.role IN (${approverRoles}) AND u.disabled_at IS NULL
    FOR SHARE OF m`
  return locked.length > 0
}

/** Time in which a second admin may confirm what the first proposed. */
export const PROPOSAL_HOURS = 24

/** Age of an admin, and of a reset by the operator, from which the admin counts as a second person. */
const SECOND_ADMIN_DAYS = 7

const isActive = (row: 'p' | 's') => Prisma.raw(`${row}.is_admin AND ${row}.disabled_at IS NULL`)

/**
 * Condition that admin `s` may confirm what admin `p` proposed. Whoever makes or resets an admin
 * could act as both. A reset at the command line has no person, so it may be that of the first.
 */
const isSecondSql = Prisma.sql`${isActive('p')} AND ${isActive('s')} AND s.id <> p.id
  AND s.admin_since <= now() - ${SECOND_ADMIN_DAYS} * interval '1 day'
  AND s.admin_by IS DISTINCT FROM p.id AND s.reset_by IS DISTINCT FROM p.id
  AND p.admin_by IS DISTINCT FROM s.id AND p.reset_by IS DISTINCT FROM s.id
  AND COALESCE(s.reset_at <= now() - ${SECOND_ADMIN_DAYS} * interval '1 day', true)`

/** Locks both admins until the commit. Returns whether the second may confirm what the first proposed. */
export function lockSecondAdmin(tx: Tx, firstId: string, secondId: string): Promise<boolean> {
  return isAnyPair(tx, Prisma.sql`AND ${arePair(firstId, secondId)} FOR SHARE`)
}

export function isSecondAdmin(firstId: string, secondId: string): Promise<boolean> {
  return isAnyPair(db(), Prisma.sql`AND ${arePair(firstId, secondId)}`)
}

/** Returns whether any two admins could propose and confirm. */
export function areTwoAdmins(tx: Tx): Promise<boolean> {
  return isAnyPair(tx, Prisma.sql`LIMIT 1`)
}

const arePair = (firstId: string, secondId: string) =>
  Prisma.sql`p.id = ${firstId}::uuid AND s.id = ${secondId}::uuid`

async function isAnyPair(tx: Tx, further: Prisma.Sql): Promise<boolean> {
  const found = await tx.$queryRaw<unknown[]>`
    SELECT FROM users p JOIN users s ON true WHERE ${isSecondSql} ${further}`
  return found.length > 0
}

/** Mails all active admins. */
export async function queueMailToAdmins(tx: Tx, write: (to: Recipient) => Message): Promise<void> {
  const admins = await tx.user.findMany({
    where: { isAdmin: true, disabledAt: null },
    select: { email: true, locale: true },
  })
  for (const admin of admins) await queueMail(tx, admin, write(admin))
}

/** Records that the operator reset how a user signs in. */
export async function noteReset(tx: Tx, userId: string, actor: Actor): Promise<void> {
  const data = { resetAt: new Date(), resetBy: personOf(actor) }
  await tx.user.update({ where: { id: userId }, data })
}
