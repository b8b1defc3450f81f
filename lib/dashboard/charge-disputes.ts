import { REFUND_WINDOW_DAYS } from '#lib/core/pix/refund-window.ts'
import { disputeColumns } from '#lib/dashboard/disputes/list.ts'
import type { ChargeDispute, ChargeStep } from '#lib/dashboard/timeline-wire.ts'
import { Prisma } from '#lib/db/client.ts'
import { utc } from '#lib/db/sql.ts'

export function disputesSql(accountId: string, chargeId: string): Prisma.Sql {
  return Prisma.sql`
    SELECT ${disputeColumns}, d.lost_amount, ${utc('d.closed_at')}
    FROM disputes d WHERE d.account_id = ${accountId}::uuid AND d.charge_id = ${chargeId}::uuid
    ORDER BY d.id`
}

/**
 * Selects from a charge `c`; its disputes by prisma/functions/troco_disputed.sql. Nothing is left if one was
 * opened while a refund was held.
 */
export const refundLimitsSql = Prisma.sql`
  SELECT CASE WHEN p.is_late THEN 0 ELSE p.unspent END AS refundable,
    CASE WHEN p.is_late THEN p.unspent ELSE 0 END AS late, d.disputed, d.lost
  FROM troco_disputed(c.account_id, c.id) d CROSS JOIN LATERAL (SELECT
    CASE c.status WHEN 'paid' THEN GREATEST(0,
      c.amount - c.refunded_amount - c.refund_held_amount - c.returned_amount - d.disputed - d.lost)
      ELSE 0 END AS unspent,
    c.paid_at < now() - make_interval(days => ${REFUND_WINDOW_DAYS}::int) AS is_late) p`

/** What the bank gave back of a charge by itself, as lib/charges/returned.ts books it. */
export function returnsSql(accountId: string, chargeId: string): Prisma.Sql {
  return Prisma.sql`
    SELECT r.id, r.amount, r.nature, ${utc('r.returned_at', 'at')} FROM payment_returns r
    WHERE r.account_id = ${accountId}::uuid AND r.charge_id = ${chargeId}::uuid
    ORDER BY r.returned_at, r.id`
}

/** Returns the opening of a dispute and its end. */
export function buildDisputeSteps(dispute: ChargeDispute): ChargeStep[] {
  const { amount, lost_amount: lostAmount, status, created_at, closed_at } = dispute
  const step = (at: string | null, name: typeof status, cents = amount): ChargeStep[] =>
    at ? [{ what: 'dispute', at, status: name, amount: cents }] : []
  return [...step(created_at, 'open'), ...step(closed_at, status, lostAmount ?? amount)]
}
