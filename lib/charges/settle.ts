import type { ReceivedPayment } from '#lib/banks/gateway.ts'
import { eventColumns } from '#lib/charges/list.ts'
import type { ChargeRow } from '#lib/charges/schema.ts'
import { invalidInput, refuse } from '#lib/core/errors.ts'
import { isUuid, newRoutableId, removeHyphens } from '#lib/core/ids.ts'
import { Invariant } from '#lib/core/invariant.ts'
import { currentCause } from '#lib/core/trace.ts'
import { Prisma, retryOnConflict, type Tx, transaction } from '#lib/db/client.ts'
import { arrayOf, columnsOf, queryRows } from '#lib/db/sql.ts'
import { wake } from '#lib/db/wake.ts'
import { claimPaymentsSql } from '#lib/differences/differences.ts'
import {
  type Decision,
  lockUnmatched,
  releaseUnmatched,
  resolveItem,
  type UnmatchedPayment,
} from '#lib/differences/resolve.ts'
import { bookMovement } from '#lib/ledger/book.ts'
import { lockBooks } from '#lib/ledger/owed.ts'

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
function settleByUnmatched(tx: Tx, payment: Payment): Promise<ChargeRow[]> {
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

/**
 * Pays a charge with money that is unmatched, as if it had been received with the charge's txid: status,
 * balance, event. One transaction, so that the books of the operator and of the merchant both change or
 * neither. Of two attempts one is refused: the item or the charge is final.
 */
export async function payByUnmatched(decision: Decision, chargeId: string): Promise<ChargeRow> {
  const row = await transaction(async tx => {
    const payment = await lockUnmatched(tx, decision.itemId, 'match')
    const { accountId } = await lockPayable(tx, chargeId, payment)
    const { id, mode, amount } = payment
    await lockBooks(tx, accountId, mode)
    const [paid] = await settleByUnmatched(tx, {
      ...payment,
      accountId,
      chargeId,
      trace: currentCause(),
    })
    if (!paid) throw new Invariant(`charge ${chargeId} was locked but could not be paid`)
    await releaseUnmatched(tx, id, 'match', { accountId, chargeId })
    const values = { accountId, mode, amount, transaction_id: chargeId }
    await resolveItem(tx, decision, 'match', values)
    return paid
  })
  wake('deliveries')
  return row
}

/**
 * Locks the charge. Its amount and connection must be those of the payment: a later refund is a return of
 * this payment, at this bank and of at most its amount.
 */
async function lockPayable(
  tx: Tx,
  chargeId: string,
  { mode, connectionId, amount }: UnmatchedPayment,
) {
  // A charge's txid is unique without its account, and is its id without hyphens.
  const txid = isUuid(chargeId) ? removeHyphens(chargeId) : ''
  const [charge] = await tx.$queryRaw<
    { accountId: string; status: string; amount: bigint; connectionId: string }[]
  >`
    SELECT account_id AS "accountId", status, amount, connection_id AS "connectionId" FROM charges
    WHERE txid = ${txid} AND mode = ${mode} AND status <> 'opening' FOR UPDATE`
  if (!charge) throw refuse('transaction_not_found')
  if (charge.status === 'paid')
    throw refuse('already_final', { subject: 'Transaction', status: 'paid' })
  if (charge.connectionId !== connectionId)
    throw invalidInput('transaction_id', 'must be of the connection that received the payment')
  if (charge.amount !== BigInt(amount))
    throw invalidInput('transaction_id', `must have the amount of the payment, ${amount}`)
  return charge
}
