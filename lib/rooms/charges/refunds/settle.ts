import { Prisma } from '#lib/base/db/client.ts'
import { asJson, queryRows } from '#lib/base/db/rows.ts'
import { columnsOf } from '#lib/base/db/statement.ts'
import { retryOnConflict } from '#lib/base/db/transaction.ts'
import { wake } from '#lib/base/db/wake.ts'
import { newRoutableId } from '#lib/base/ids.ts'
import { refundAsJson } from '#lib/rooms/charges/refunds/queries.ts'
import type { RefundRow } from '#lib/rooms/charges/refunds/schema.ts'
import { bookMovement } from '#lib/services/booking/book.ts'
import { type BankRefusal, rejectionAssignments } from '#lib/services/gateway/rejection.ts'

interface Settlement {
  accountId: string
  refundId: string
  /** Columns of the charge, from a CTE named `c`: the event is about the charge. */
  chargeColumns: Prisma.Sql
  /** Lease of the job that settles the refund. A job that has lost the lease writes nothing. */
  lease?: string
}

/** Debits the held amount after the bank has returned it. Returns null if already settled. */
export function completeRefund(
  settlement: Settlement & { returnId: string },
): Promise<RefundRow | null> {
  const assignments = Prisma.sql`return_id = ${settlement.returnId}`
  return settle(settlement, 'completed', assignments, Prisma.sql`s.amount`)
}

/** Releases the held amount after the bank's final refusal. Returns null if already settled. */
export function rejectRefund(
  settlement: Settlement & { reason: BankRefusal },
): Promise<RefundRow | null> {
  return settle(settlement, 'rejected', rejectionAssignments(settlement.reason), Prisma.sql`0`)
}

/**
 * One statement with the lock order of all refunds: charge, refund, ledger, event sequence. The
 * event's subject is the charge, so it is delivered after the payment event.
 */
async function settle(
  { accountId, refundId, chargeColumns, lease = '' }: Settlement,
  outcome: 'completed' | 'rejected',
  assignments: Prisma.Sql,
  refunded: Prisma.Sql,
): Promise<RefundRow | null> {
  const settleableCondition = Prisma.sql`r.status = 'pending' AND ${lease} IN ('', r.lease::text)`
  const eventId = newRoutableId(accountId)
  const statement = bookMovement({
    ctes: {
      locked: Prisma.sql`
        SELECT c.account_id, c.id FROM charges c
        JOIN refunds r ON r.account_id = c.account_id AND r.charge_id = c.id
        WHERE r.account_id = ${accountId}::uuid AND r.id = ${refundId}::uuid
          AND ${settleableCondition}
        FOR UPDATE OF c`,
      settled: Prisma.sql`
        UPDATE refunds r SET status = ${outcome}, ${assignments}, due_at = NULL, lease = NULL,
          ${Prisma.raw(`${outcome}_at`)} = now(), updated_at = now()
        FROM locked k
        WHERE r.account_id = k.account_id AND r.charge_id = k.id AND r.id = ${refundId}::uuid
          AND ${settleableCondition}
        RETURNING r.*`,
      charged: Prisma.sql`
        UPDATE charges c SET refunded_amount = c.refunded_amount + ${refunded},
          refund_held_amount = c.refund_held_amount - s.amount, updated_at = now()
        FROM settled s WHERE c.account_id = s.account_id AND c.id = s.charge_id
        RETURNING c.*`,
    },
    source: {
      from: Prisma.sql`charged c JOIN settled r ON r.account_id = c.account_id AND r.charge_id = c.id`,
      columns: {
        ...columnsOf('r', ['account_id', 'mode', 'id', 'amount', 'trace']),
        event_id: Prisma.sql`${eventId}::uuid`,
        subject_id: Prisma.sql`c.id`,
        ...columnsOf('c', ['connection_id', 'webhook_url', 'webhook_host']),
        resource: asJson(Prisma.sql`${chargeColumns}, ${refundAsJson} AS refund`),
      },
    },
    movement: outcome === 'completed' ? 'refund_sent' : 'refund_returned',
    event: outcome === 'completed' ? 'transaction.refunded' : 'transaction.refund_failed',
    returning: refundAsJson,
  })
  const [row] = await retryOnConflict(() => queryRows<RefundRow>(statement))
  if (row) wake('deliveries')
  return row ?? null
}
