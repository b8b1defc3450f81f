import { idLowerBoundAt } from '#lib/core/ids.ts'
import type { Mode } from '#lib/core/mode.ts'
import { db, Prisma } from '#lib/db/client.ts'
import { homeZone } from '#lib/db/sql.ts'
import { barredSql, inForceSql } from '#lib/people/approvers.ts'
import type { WithdrawalOrder } from '#lib/withdrawals/schema.ts'

/** Time in which a second member may approve; afterwards the withdrawal is rejected. */
const APPROVAL_HOURS = 24

export const approvalColumns = Prisma.raw('approval_reason, approval_due_at, approval_barred')

type Request = Pick<
  WithdrawalOrder,
  'amount' | 'dictKey' | 'bookedAt' | 'requestedBy' | 'formerIssuers'
>

/** Longer than any day: the ids of its withdrawals are above the bound. */
const DAY_MAX_MS = 26 * 3_600_000

/**
 * Selects `approvalColumns` of a new withdrawal, null if it needs no approval. The rule is that of the
 * statement's snapshot. The key is looked up before the members count, and neither without a rule. The sum
 * of the day, which locks the books, comes last: prisma/functions/troco_withdrawn.sql.
 */
export function approvalSql(
  accountId: string,
  mode: Mode,
  { amount, dictKey, bookedAt, requestedBy, formerIssuers = [] }: Request,
): Prisma.Sql {
  const requesters = requestedBy ? [requestedBy, ...formerIssuers] : formerIssuers
  const dayIn = Prisma.sql`(COALESCE(${bookedAt ?? null}::timestamptz, now()) AT TIME ZONE ${homeZone})::date`
  const firstId = idLowerBoundAt((bookedAt?.getTime() ?? Date.now()) - DAY_MAX_MS)
  const withdrawn = Prisma.sql`
    (SELECT troco_withdrawn(a.id, ${mode}, d.day::timestamp AT TIME ZONE ${homeZone},
        (d.day + 1)::timestamp AT TIME ZONE ${homeZone}, ${firstId}::uuid)
      FROM (SELECT ${dayIn} AS day) d)`
  const isKnown = Prisma.sql`
    EXISTS (SELECT FROM withdrawals k WHERE k.account_id = a.id AND k.mode = ${mode}
      AND k.dict_key = ${dictKey} AND k.status = 'approved')`
  return Prisma.sql`
    SELECT r.reason AS approval_reason,
      CASE WHEN r.reason IS NOT NULL THEN now() + ${APPROVAL_HOURS} * interval '1 hour' END
        AS approval_due_at,
      CASE WHEN r.reason IS NOT NULL THEN (
        SELECT ${barredSql(requesters)} FROM accounts a WHERE a.id = ${accountId}::uuid) END AS approval_barred
    FROM (SELECT (
      SELECT CASE WHEN c.reason IS NOT NULL THEN CASE WHEN ${inForceSql} THEN
        CASE WHEN c.reason <> 'day_amount' THEN c.reason
          WHEN ${withdrawn} + ${amount}::bigint > a.approval_day_above THEN c.reason END END END
      FROM accounts a CROSS JOIN LATERAL (SELECT CASE
        WHEN ${amount}::bigint > a.approval_above THEN 'amount'
        WHEN a.approval_new_keys AND NOT ${isKnown} THEN 'new_key'
        WHEN a.approval_day_above IS NOT NULL THEN 'day_amount' END AS reason OFFSET 0) c
      WHERE a.id = ${accountId}::uuid) AS reason OFFSET 0) r`
}

/** Condition on an order `o`: a member decides about its withdrawal, for which `condition` of `w` holds. */
export function isWaitingSql(condition: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`o.state = 'held' AND EXISTS (SELECT FROM withdrawals w
    WHERE w.account_id = o.account_id AND w.id = o.id AND ${condition})`
}

export async function isWaiting(accountId: string, id: string): Promise<boolean> {
  const where = { accountId, id, approvalDueAt: { not: null } }
  return (await db().withdrawal.count({ where })) > 0
}
