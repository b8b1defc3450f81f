import type { ReceivedPayment } from '#lib/banks/gateway.ts'
import { eventColumns } from '#lib/charges/queries.ts'
import type { ChargeRow } from '#lib/charges/schema.ts'
import { newRoutableId } from '#lib/core/ids.ts'
import { Prisma, retryOnConflict, type Tx } from '#lib/db/client.ts'
import { arrayOf, columnsOf, queryRows } from '#lib/db/sql.ts'
import { wake } from '#lib/db/wake.ts'
import { claimPaymentsSql } from '#lib/differences/unmatched.ts'
import { bookMovement } from '#lib/ledger/book.ts'

export interface Payment extends Omit<ReceivedPayment, 'txid'> {
  accountId: string
  chargeId: string
  /** Booking time; defaults to now, set only for demo data. */
  bookedAt?: Date
  /** Lease of the job that settles the charge. A job that has lost the lease writes nothing. */
  lease?: string
  /** The API request that caused the payment, if any. Not that of the caller, which settles a batch. */
  trace?: string | null
}

/**
 * Marks charges as paid, credits them and records the events in one statement: a crash leaves
 * everything or nothing. Of several payments of a charge, the first is judged. Returns no row for a
 * charge of another amount, for one that is paid already, or for a payment that was booked before.
 */
export async function settleCharges(payments: Payment[]): Promise<ChargeRow[]> {
  const distinct = new Map(payments.toReversed().map(payment => [payment.chargeId, payment]))
  const statement = settleSql([...distinct.values()])
  const rows = await retryOnConflict(() => queryRows<ChargeRow>(statement))
  if (rows.length > 0) wake('deliveries')
  return rows
}

/**
 * Pays a charge with a payment that was booked to `unmatched` of the operator, from which the caller moves it in
 * the same transaction. The caller has locked the charge, which is payable, and the books of the account.
 */
export function settleByUnmatched(tx: Tx, payment: Payment): Promise<ChargeRow[]> {
  const claimed = Prisma.sql`SELECT account_id, id FROM locked`
  return queryRows<ChargeRow>(settleSql([payment], claimed), tx)
}

/** Locks the charges, claims the payments, marks the charges and books them by `troco_book`. */
function settleSql(payments: Payment[], claimed = claimPaymentsSql('locked')): Prisma.Sql {
  const list = (type: string, pick: (payment: Payment) => unknown) =>
    arrayOf(type, payments.map(pick))
  const payableCondition = Prisma.sql`c.status IN ('pending', 'expired', 'failed')
    AND c.amount = p.amount AND (p.lease IS NULL OR c.lease = p.lease)`
  return bookMovement({
    ctes: {
      payments: Prisma.sql`
        SELECT * FROM unnest(${list('uuid', payment => payment.accountId)},
            ${list('uuid', payment => payment.chargeId)}, ${list('text', payment => payment.endToEndId)},
            ${list('bigint', payment => payment.amount)}, ${list('timestamptz', payment => payment.paidAt)},
            ${list('timestamptz', ({ bookedAt }) => bookedAt ?? null)},
            ${list('uuid', ({ lease }) => lease ?? null)}, ${list('text', ({ trace }) => trace ?? null)},
            ${list('json', ({ payer }) => (payer ? JSON.stringify(payer) : null))},
            ${list('uuid', ({ accountId }) => newRoutableId(accountId))})
          AS p (account_id, id, end_to_end_id, amount, paid_at, booked_at, lease, trace, payer, event_id)`,
      locked: Prisma.sql`
        SELECT c.account_id, c.id, c.connection_id, p.end_to_end_id
        FROM charges c JOIN payments p USING (account_id, id)
        WHERE ${payableCondition}
        ORDER BY c.account_id, c.id FOR UPDATE OF c`,
      claimed,
      paid: Prisma.sql`
        UPDATE charges c SET status = 'paid', paid_at = p.paid_at, updated_at = now(),
          end_to_end_id = p.end_to_end_id, payer_name = p.payer->>'name',
          payer_doc = p.payer->>'maskedDoc', payer_bank = p.payer->>'bank', due_at = NULL, lease = NULL
        FROM claimed k JOIN payments p USING (account_id, id)
        WHERE c.account_id = k.account_id AND c.id = k.id AND ${payableCondition}
        RETURNING c.*, p.booked_at, p.event_id, p.trace`,
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
  })
}
