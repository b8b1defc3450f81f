import { Prisma, type Tx } from '#lib/db/client.ts'
import { asJson, queryRows } from '#lib/db/rows.ts'
import { ROLES_BY_PERMISSION, type Role } from '#lib/people/roles.ts'

/** What one owner does alone to the members counts for approvals only after this time. */
export const SETTLING_HOURS = 24
export const settlingSql = Prisma.raw(`interval '${SETTLING_HOURS} hours'`)

export const APPROVER_ROLES = ROLES_BY_PERMISSION['withdrawals:approve']
const approverRoles = Prisma.raw(APPROVER_ROLES.map(role => `'${role}'`).join(', '))

/**
 * A user of an account and who answers for them, as the people's side knows it. Only the account's
 * side knows the age of the account: its statements take this as rows `m`, see `vouchedRows`.
 */
export interface VouchedUser {
  id: string
  /** The user, who gave them the role, and who answered for the giver. */
  ids: string[]
  /** When the user got the role; null if all `ids` count forever. */
  since: string | null
}

export interface Approver extends VouchedUser {
  role: Role
  email: string
  locale: string | null
}

export function vouchedRows(users: readonly VouchedUser[]): Prisma.Sql {
  const rows = users.map(({ id, ids, since }) => ({ id, ids, since }))
  return Prisma.sql`jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
    AS m (id uuid, ids uuid[], since timestamptz)`
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

/** Whether account `a` has two of the approvers, or had them before a change in the last 24 hours. */
export function inForceSql(approvers: readonly Approver[]): Prisma.Sql {
  return Prisma.sql`(COALESCE(a.approval_kept_until > now(), false) OR 2 <= (
    SELECT count(DISTINCT CASE WHEN ${isSettling} THEN m.ids[2] ELSE m.id END)
    FROM ${vouchedRows(approvers)}))`
}

/** Ids that may not approve what one of the users asks of account `a`; none for the operator's tokens. */
export function barredSql(requesters: readonly VouchedUser[]): Prisma.Sql {
  return Prisma.sql`COALESCE((SELECT array_agg(DISTINCT v.id)
    FROM ${vouchedRows(requesters)} CROSS JOIN unnest(${vouchersSql}) AS v (id)), '{}')`
}

const vouchedColumns = Prisma.sql`
  ARRAY[m.user_id, COALESCE(m.role_by, m.user_id)] || m.role_via AS ids,
  COALESCE(m.role_at, m.created_at)::text AS since`
const approverAsJson = asJson(
  Prisma.sql`m.user_id AS id, m.role, u.email, u.locale, ${vouchedColumns}`,
)

/** Selects the members who may approve. */
function approversSql(accountId: string): Prisma.Sql {
  return Prisma.sql`
    SELECT ${approverAsJson}::text AS json FROM memberships m JOIN users u ON u.id = m.user_id
    WHERE m.account_id = ${accountId}::uuid AND m.role IN (${approverRoles})
      AND u.disabled_at IS NULL`
}

export function listApprovers(accountId: string, tx?: Tx): Promise<Approver[]> {
  return queryRows<Approver>(approversSql(accountId), tx)
}

/** Returns nothing if the user may not approve. */
export async function findApprover(
  accountId: string,
  userId: string,
): Promise<Approver | undefined> {
  const ofUser = Prisma.sql`${approversSql(accountId)} AND m.user_id = ${userId}::uuid`
  const [approver] = await queryRows<Approver>(ofUser)
  return approver
}

/** Locks a member who may approve until commit. Returns nothing if the user may not. */
export async function lockApprover(
  tx: Tx,
  accountId: string,
  userId: string,
): Promise<Approver | undefined> {
  const locked = Prisma.sql`
    ${approversSql(accountId)} AND m.user_id = ${userId}::uuid FOR SHARE OF m`
  const [approver] = await queryRows<Approver>(locked, tx)
  return approver
}

/**
 * Reads who answers for users. For a former member, who answered when they left: their tokens remain
 * active. Anyone else answers for themselves.
 */
export function readVouched(
  accountId: string,
  userIds: readonly string[],
  tx?: Tx,
): Promise<VouchedUser[]> {
  const columns = Prisma.sql`w.id, COALESCE(m.ids, f.vouchers, ARRAY[w.id]) AS ids, m.since`
  return queryRows<VouchedUser>(
    Prisma.sql`
      SELECT ${asJson(columns)}::text AS json FROM unnest(${userIds}::uuid[]) AS w (id)
      LEFT JOIN (SELECT m.user_id, ${vouchedColumns} FROM memberships m
        WHERE m.account_id = ${accountId}::uuid) m ON m.user_id = w.id
      LEFT JOIN former_members f ON f.account_id = ${accountId}::uuid AND f.user_id = w.id`,
    tx,
  )
}
