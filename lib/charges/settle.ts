import { chargeAsJson } from '#lib/charges/queries.ts'
import type { ChargeRow } from '#lib/charges/schema.ts'
import { Prisma } from '#lib/db/client.ts'
import { queryRows } from '#lib/db/rows.ts'
import { retried } from '#lib/db/transaction.ts'
import { newId } from '#lib/ids.ts'
import { transferCtes } from '#lib/ledger/transfer.ts'
import { eventCtes } from '#lib/webhooks/events.ts'

export interface Payment {
  accountId: string
  chargeId: string
  endToEndId: string
  paidAt: Date
  /** When the books say it came; now, but for the demo world's past. */
  bookedAt?: Date
}

/**
 * Marks charges as paid, credits each and records the event, all in one statement: a crash leaves
 * all of it or nothing. Called twice, the second finds no charge to move and returns no row.
 */
export function settleCharges(payments: Payment[]): Promise<ChargeRow[]> {
  const ids = payments.map(payment => payment.chargeId)
  const accounts = payments.map(payment => payment.accountId)
  const endToEndIds = payments.map(payment => payment.endToEndId)
  const paidAt = payments.map(payment => payment.paidAt)
  const bookedAt = payments.map(payment => payment.bookedAt ?? null)
  const events = payments.map(() => newId())
  return retried(() =>
    queryRows<ChargeRow>(Prisma.sql`
      WITH payments AS (
        SELECT * FROM unnest(${accounts}::uuid[], ${ids}::uuid[], ${endToEndIds}::text[],
            ${paidAt}::timestamptz[], ${bookedAt}::timestamptz[], ${events}::uuid[])
          AS p (account_id, id, end_to_end_id, paid_at, booked_at, event_id)
      ), locked AS (
        SELECT c.account_id, c.id FROM charges c JOIN payments p USING (account_id, id)
        WHERE c.status IN ('pending', 'expired', 'failed')
        ORDER BY c.account_id, c.id FOR UPDATE OF c
      ), paid AS (
        UPDATE charges c SET status = 'paid', paid_at = p.paid_at, updated_at = now(),
          end_to_end_id = p.end_to_end_id, due_at = NULL, lease = NULL
        FROM locked k JOIN payments p USING (account_id, id)
        WHERE c.account_id = k.account_id AND c.id = k.id
          AND c.status IN ('pending', 'expired', 'failed')
        RETURNING c.*, p.booked_at, p.event_id
      ), source AS (
        SELECT c.account_id, c.mode, c.id, c.amount, c.booked_at, c.event_id, c.webhook_url,
          ${chargeAsJson} AS resource
        FROM paid c
      ), ${transferCtes('charge_paid', 'source')},
      ${eventCtes('transaction.paid', 'source', { after: 'ledger_moved' })}
      SELECT ${chargeAsJson}::text AS json FROM paid c`),
  )
}
