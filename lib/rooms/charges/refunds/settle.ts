import { Prisma } from '#lib/base/db/client.ts'
import { queryRows } from '#lib/base/db/rows.ts'
import { retried } from '#lib/base/db/transaction.ts'
import { wake } from '#lib/base/db/wake.ts'
import { newId } from '#lib/base/ids.ts'
import { refundAsJson } from '#lib/rooms/charges/refunds/queries.ts'
import type { RefundRow } from '#lib/rooms/charges/refunds/schema.ts'
import { transferCtes } from '#lib/services/ledger/transfer.ts'
import { eventCtes } from '#lib/services/webhooks/events.ts'

interface Settlement {
  accountId: string
  refundId: string
  /** How the room of charges tells of one named `c`: the event is about the charge. */
  chargeColumns: Prisma.Sql
  /** The lease of the job that learned of it: without it any more, it writes nothing. */
  lease?: string
}

/** The bank gave it back: the held amount leaves. Null: it was no longer pending. */
export function completeRefund(
  settlement: Settlement & { returnId: string },
): Promise<RefundRow | null> {
  const told = Prisma.sql`return_id = ${settlement.returnId}`
  return settle(settlement, 'completed', told, Prisma.sql`s.amount`)
}

/** The bank refused it for good: the held amount comes back. Null: it was no longer pending. */
export function rejectRefund(
  settlement: Settlement & { reason: string },
): Promise<RefundRow | null> {
  const told = Prisma.sql`rejection_reason = ${settlement.reason}`
  return settle(settlement, 'rejected', told, Prisma.sql`0`)
}

/**
 * All in one statement, which locks in the one order of refunds: the charge, the refund, the ledger,
 * the event's sequence. Its event belongs to the charge, so it is delivered after the payment's.
 */
async function settle(
  { accountId, refundId, chargeColumns, lease = '' }: Settlement,
  outcome: 'completed' | 'rejected',
  told: Prisma.Sql,
  refunded: Prisma.Sql,
): Promise<RefundRow | null> {
  const movement = outcome === 'completed' ? 'refund_sent' : 'refund_returned'
  const event = outcome === 'completed' ? 'transaction.refunded' : 'transaction.refund_failed'
  const eventId = newId()
  const isOurs = Prisma.sql`r.status = 'pending' AND ${lease} IN ('', r.lease::text)`
  const [row] = await retried(() =>
    queryRows<RefundRow>(Prisma.sql`
      WITH locked AS (
        SELECT c.account_id, c.id FROM charges c
        JOIN refunds r ON r.account_id = c.account_id AND r.charge_id = c.id
        WHERE r.account_id = ${accountId}::uuid AND r.id = ${refundId}::uuid
          AND ${isOurs}
        FOR UPDATE OF c
      ), settled AS (
        UPDATE refunds r SET status = ${outcome}, ${told}, due_at = NULL, lease = NULL,
          ${Prisma.raw(`${outcome}_at`)} = now(), updated_at = now()
        FROM locked k
        WHERE r.account_id = k.account_id AND r.charge_id = k.id AND r.id = ${refundId}::uuid
          AND ${isOurs}
        RETURNING r.*, NULL::timestamptz AS booked_at
      ), charged AS (
        UPDATE charges c SET refunded_amount = c.refunded_amount + ${refunded},
          refund_held_amount = c.refund_held_amount - s.amount, updated_at = now()
        FROM settled s WHERE c.account_id = s.account_id AND c.id = s.charge_id
        RETURNING c.*
      ), ${transferCtes(movement, 'settled')}, news AS (
        SELECT c.account_id, c.mode, c.id, ${eventId}::uuid AS event_id, c.webhook_url,
          (SELECT row_to_json(t) FROM (SELECT ${chargeColumns},
            ${refundAsJson} AS refund) t) AS resource
        FROM charged c JOIN settled r ON r.account_id = c.account_id AND r.charge_id = c.id
      ), ${eventCtes(event, 'news', { after: 'ledger_moved' })}
      SELECT ${refundAsJson}::text AS json FROM settled r`),
  )
  if (row) wake('deliveries')
  return row ?? null
}
