import { Prisma } from '#lib/base/db/client.ts'
import { utc } from '#lib/base/db/columns.ts'
import { REFUND_WINDOW_DAYS } from '#lib/base/pix/refund-window.ts'
import type { ChargeStep } from '#lib/views/dashboard/timeline-wire.ts'

/** Dispute of a payment, as the history of its charge reads it. */
export interface ChargeDispute {
  id: string
  amount: number
  /** Amount that went to the payer; null unless the dispute was lost. */
  lost_amount: number | null
  status: 'open' | 'won' | 'lost'
  opened_at: string
  /** Until when the operator can answer; null once the bank has an answer, or if it names no time. */
  respond_by: string | null
  closed_at: string | null
}

export function disputesSql(accountId: string, chargeId: string): Prisma.Sql {
  return Prisma.sql`
    SELECT d.id, d.amount, d.lost_amount, d.status, ${utc('d.created_at', 'opened_at')},
      ${utc('d.closed_at')}, ${utc("CASE WHEN d.status = 'open' AND d.answer_state IS DISTINCT FROM 'taken' THEN d.respond_by END", 'respond_by')}
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
      c.amount - c.refunded_amount - c.refund_held_amount - d.disputed - d.lost) ELSE 0 END AS unspent,
    c.paid_at < now() - make_interval(days => ${REFUND_WINDOW_DAYS}::int) AS is_late) p`

/** Returns the opening of a dispute and its end. */
export function buildDisputeSteps(dispute: ChargeDispute): ChargeStep[] {
  const { amount, lost_amount: lostAmount, status, opened_at, closed_at, respond_by } = dispute
  const step = (at: string | null, name: typeof status, cents = amount): ChargeStep[] =>
    at ? [{ what: 'dispute', at, status: name, amount: cents, respond_by }] : []
  return [...step(opened_at, 'open'), ...step(closed_at, status, lostAmount ?? amount)]
}
