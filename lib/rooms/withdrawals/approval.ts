import { db, Prisma, type Tx } from '#lib/base/db/client.ts'
import type { Mode } from '#lib/base/mode.ts'
import type { WithdrawalOrder } from '#lib/rooms/withdrawals/schema.ts'
import {
  type Approver,
  barredSql,
  inForceSql,
  listApprovers,
  readVouched,
  type VouchedUser,
} from '#lib/services/people/approvers.ts'

/** Time in which a second member may approve; afterwards the withdrawal is rejected. */
const APPROVAL_HOURS = 24

export const approvalColumns = Prisma.raw('approval_reason, approval_due_at, approval_barred')

interface Request {
  amount: number
  dictKey: string
}

/** The members whom the decision about a new withdrawal depends on. */
export interface Deciders {
  approvers: Approver[]
  /** Members who may have requested it; empty: only the operator. */
  requesters: VouchedUser[]
}

/**
 * Reads the members before the statement of `approvalSql`. A member who joins in between does not
 * count yet. Removing one sets `approval_kept_until`, which that statement reads.
 */
export async function readDeciders(
  accountId: string,
  { requestedBy, formerIssuers = [] }: Pick<WithdrawalOrder, 'requestedBy' | 'formerIssuers'>,
  tx?: Tx,
): Promise<Deciders> {
  const approvers = await listApprovers(accountId, tx)
  const ids = requestedBy ? [requestedBy, ...formerIssuers] : formerIssuers
  const requesters = approvers.filter(({ id }) => ids.includes(id))
  const others = ids.filter(id => !requesters.some(known => known.id === id))
  if (others.length === 0) return { approvers, requesters }
  return { approvers, requesters: [...requesters, ...(await readVouched(accountId, others, tx))] }
}

/**
 * Selects `approvalColumns` of a new withdrawal, null if it needs no approval. The rule is that of the
 * statement's snapshot. The key is looked up before the members count, and neither without a rule.
 */
export function approvalSql(
  accountId: string,
  mode: Mode,
  { amount, dictKey }: Request,
  { approvers, requesters }: Deciders,
): Prisma.Sql {
  const isAbove = Prisma.sql`${amount}::bigint > a.approval_above`
  const isKnown = Prisma.sql`
    EXISTS (SELECT FROM withdrawals k WHERE k.account_id = a.id AND k.mode = ${mode}
      AND k.dict_key = ${dictKey} AND k.status = 'approved')`
  const accountRow = Prisma.sql`FROM accounts a WHERE a.id = ${accountId}::uuid`
  return Prisma.sql`
    SELECT r.reason AS approval_reason,
      CASE WHEN r.reason IS NOT NULL THEN now() + ${APPROVAL_HOURS} * interval '1 hour' END
        AS approval_due_at,
      CASE WHEN r.reason IS NOT NULL THEN (
        SELECT ${barredSql(requesters)} ${accountRow}) END AS approval_barred
    FROM (SELECT (
      SELECT CASE WHEN ${isAbove} OR (a.approval_new_keys AND NOT ${isKnown}) THEN
        CASE WHEN ${inForceSql(approvers)} THEN
          CASE WHEN ${isAbove} THEN 'amount' ELSE 'new_key' END END END
      ${accountRow}) AS reason OFFSET 0) r`
}

/** Condition on `w`: no member has to decide about it. */
export const notWaiting = Prisma.sql`w.approval_due_at IS NULL`

export async function isWaiting(accountId: string, id: string): Promise<boolean> {
  const where = { accountId, id, approvalDueAt: { not: null } }
  return (await db().withdrawal.count({ where })) > 0
}
