import { createBatcher } from '#lib/base/db/batch.ts'
import { Prisma } from '#lib/base/db/client.ts'
import { queryRows } from '#lib/base/db/rows.ts'
import { columnsOf } from '#lib/base/db/statement.ts'
import { retryOnConflict } from '#lib/base/db/transaction.ts'
import { wake } from '#lib/base/db/wake.ts'
import { newRoutableId } from '#lib/base/ids.ts'
import { chargeAsJson, eventColumns } from '#lib/rooms/charges/queries.ts'
import type { ChargeRow } from '#lib/rooms/charges/schema.ts'
import { bookMovement } from '#lib/services/booking/book.ts'

export interface Payment {
  accountId: string
  chargeId: string
  endToEndId: string
  paidAt: Date
  /** Booking time; defaults to now, set only for demo data. */
  bookedAt?: Date
  /** Lease of the job that settles the charge. A job that has lost the lease writes nothing. */
  lease?: string
}

/**
 * Marks charges as paid, credits them and records the events in one statement: a crash leaves
 * everything or nothing. A second call returns no row.
 */
export async function settleCharges(payments: Payment[]): Promise<ChargeRow[]> {
  const ids = payments.map(payment => payment.chargeId)
  const accounts = payments.map(payment => payment.accountId)
  const endToEndIds = payments.map(payment => payment.endToEndId)
  const paidAt = payments.map(payment => payment.paidAt)
  const bookedAt = payments.map(payment => payment.bookedAt ?? null)
  const leases = payments.map(payment => payment.lease ?? null)
  const events = accounts.map(accountId => newRoutableId(accountId))
  const payableCondition = Prisma.sql`c.status IN ('pending', 'expired', 'failed')
    AND (p.lease IS NULL OR c.lease = p.lease)`
  const statement = bookMovement({
    ctes: {
      payments: Prisma.sql`
        SELECT * FROM unnest(${accounts}::uuid[], ${ids}::uuid[], ${endToEndIds}::text[],
            ${paidAt}::timestamptz[], ${bookedAt}::timestamptz[], ${leases}::uuid[],
            ${events}::uuid[])
          AS p (account_id, id, end_to_end_id, paid_at, booked_at, lease, event_id)`,
      locked: Prisma.sql`
        SELECT c.account_id, c.id FROM charges c JOIN payments p USING (account_id, id)
        WHERE ${payableCondition}
        ORDER BY c.account_id, c.id FOR UPDATE OF c`,
      paid: Prisma.sql`
        UPDATE charges c SET status = 'paid', paid_at = p.paid_at, updated_at = now(),
          end_to_end_id = p.end_to_end_id, due_at = NULL, lease = NULL
        FROM locked k JOIN payments p USING (account_id, id)
        WHERE c.account_id = k.account_id AND c.id = k.id AND ${payableCondition}
        RETURNING c.*, p.booked_at, p.event_id`,
    },
    source: {
      from: Prisma.sql`paid c`,
      columns: {
        ...eventColumns,
        ...columnsOf('c', ['id', 'amount', 'booked_at', 'connection_id']),
      },
    },
    movement: 'charge_paid',
    event: 'transaction.paid',
    returning: chargeAsJson,
  })
  const rows = await retryOnConflict(() => queryRows<ChargeRow>(statement))
  if (rows.length > 0) wake('deliveries')
  return rows
}

/** Returns the row of each payment in order; null if the charge was already paid. */
export async function settleInOrder(payments: Payment[]): Promise<(ChargeRow | null)[]> {
  const rows = new Map((await settleCharges(payments)).map(row => [row.id, row]))
  return payments.map(({ chargeId }) => rows.get(chargeId) ?? null)
}

/** Batches payments of an account, because all of them update the same balance row. */
export const settleCharge = createBatcher({
  run: settleInOrder,
  queueOf: ({ accountId }: Payment) => accountId,
  keyOf: ({ chargeId }: Payment) => chargeId,
  batchMax: 200,
})
