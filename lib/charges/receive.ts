import type { ReceivedPayment } from '#lib/banks/gateway.ts'
import { eventColumns, recordChargeEvents } from '#lib/charges/list.ts'
import { bookReturns } from '#lib/charges/returned.ts'
import type { ChargeRow } from '#lib/charges/schema.ts'
import { invalidInput, refuse } from '#lib/core/errors.ts'
import { isUuid, newRoutableId, OPERATOR_ACCOUNT_ID, removeHyphens } from '#lib/core/ids.ts'
import { Invariant } from '#lib/core/invariant.ts'
import { log } from '#lib/core/log.ts'
import type { Mode } from '#lib/core/mode.ts'
import { currentCause } from '#lib/core/trace.ts'
import { createBatcher } from '#lib/db/batch.ts'
import { db, Prisma, retryOnConflict, type Tx, transaction } from '#lib/db/client.ts'
import { arrayOf, columnsOf, queryRows, utcText } from '#lib/db/sql.ts'
import { wake } from '#lib/db/wake.ts'
import { claimPaymentsSql, findClaimed, keepUnmatchedSql } from '#lib/differences/differences.ts'
import {
  type Decision,
  lockUnmatched,
  releaseUnmatched,
  resolveItem,
  type UnmatchedPayment,
} from '#lib/differences/resolve.ts'
import { bookMovement } from '#lib/ledger/book.ts'
import { lockBooks } from '#lib/ledger/owed.ts'

/** A payment that was not credited: of a charge, or of none that is known at the connection. */
type StrayPayment = { payment: ReceivedPayment } & (
  | { accountId: string; chargeId: string }
  | { connectionId: string; mode: Mode }
)

interface Kept {
  id: string
  reason: string
  /** Of the charge; null if the payment is of none. */
  accountId: string | null
}

/**
 * Moves payments to `unmatched` of the operator, with a difference each, and records the event of those of another
 * amount than their charge's. Leaves those that are booked, and those that may still pay their charge. Locks the
 * charges, so that none of them is credited with the payment meanwhile. Called twice, it does nothing.
 */
export async function keepUnmatched(strays: StrayPayment[]): Promise<{ id: string }[]> {
  const list = <Value>(pick: (stray: StrayPayment) => Value) => strays.map(pick)
  const ofCharge = (stray: StrayPayment) => ('chargeId' in stray ? stray : null)
  const ofNone = (stray: StrayPayment) => ('connectionId' in stray ? stray : null)
  const statement = keepUnmatchedSql({
    payments: Prisma.sql`
      SELECT * FROM unnest(${list(() => newRoutableId(OPERATOR_ACCOUNT_ID))}::uuid[], ${list(() => newRoutableId(OPERATOR_ACCOUNT_ID))}::uuid[],
          ${list(({ payment }) => payment.endToEndId)}::text[], ${list(({ payment }) => payment.txid)}::text[],
          ${list(({ payment }) => payment.amount)}::bigint[],
          ${list(({ payment }) => payment.paidAt)}::timestamptz[],
          ${list(stray => ofCharge(stray)?.accountId ?? null)}::uuid[],
          ${list(stray => ofCharge(stray)?.chargeId ?? null)}::uuid[],
          ${list(stray => ofNone(stray)?.connectionId ?? null)}::uuid[],
          ${list(stray => ofNone(stray)?.mode ?? null)}::text[])
        AS p (id, item_id, end_to_end_id, txid, amount, paid_at, charge_account_id, charge_id,
          connection_id, mode)`,
    charged: Prisma.sql`
      SELECT c.* FROM charges c
      WHERE (c.account_id, c.id) IN (SELECT charge_account_id, charge_id FROM payments)
      ORDER BY c.account_id, c.id FOR UPDATE`,
    strays: Prisma.sql`
      SELECT p.id, p.item_id, COALESCE(c.mode, p.mode) AS mode,
        COALESCE(c.connection_id, p.connection_id) AS connection_id, p.end_to_end_id, p.txid, p.amount,
        p.paid_at, p.charge_account_id, p.charge_id, jsonb_build_object('account_id', c.account_id,
          'transaction_id', c.id, 'expected_amount', c.amount) AS facts,
        CASE WHEN c.id IS NULL THEN 'payment_unmatched' WHEN c.status = 'paid' THEN 'payment_repeated'
          ELSE 'payment_amount' END AS reason
      FROM payments p
      LEFT JOIN charged c ON c.account_id = p.charge_account_id AND c.id = p.charge_id
      WHERE p.charge_id IS NULL OR c.status = 'paid' OR c.amount <> p.amount`,
  })
  const kept = await transaction(async tx => {
    const rows = await queryRows<Kept>(statement, tx)
    await recordMismatches(
      tx,
      rows.filter(({ reason }) => reason === 'payment_amount'),
    )
    return rows
  })
  if (kept.some(({ reason }) => reason === 'payment_amount')) wake('deliveries')
  return kept
}

async function recordMismatches(tx: Tx, kept: Kept[]): Promise<void> {
  if (kept.length === 0) return
  const ids = kept.map(({ id }) => id)
  const eventIds = kept.map(({ accountId }) => newRoutableId(accountId ?? OPERATOR_ACCOUNT_ID))
  await recordChargeEvents(
    tx,
    'transaction.amount_mismatch',
    'payment',
    Prisma.sql`
      SELECT p.charge_account_id AS account_id, p.charge_id, k.event_id,
        json_build_object('end_to_end_id', p.end_to_end_id, 'amount', p.amount,
          'paid_at', ${utcText('p.paid_at')}) AS cause
      FROM unnest(${ids}::uuid[], ${eventIds}::uuid[]) AS k (id, event_id)
      JOIN unmatched_payments p ON p.account_id = ${OPERATOR_ACCOUNT_ID}::uuid AND p.id = k.id`,
  )
}

/** What a bank reports about a charge: each payment that it received for it. */
interface PaymentReport
  extends Pick<Payment, 'accountId' | 'chargeId' | 'bookedAt' | 'lease' | 'trace'> {
  payments: ReceivedPayment[]
}

/**
 * Credits each charge with its earliest payment of the right amount, and then moves those that can pay
 * no charge to `unmatched`. Returns the row of each charge that was credited now, else null. After a crash between
 * the two, a repeated report moves the rest: each payment is booked once.
 */
export async function receivePayments(reports: PaymentReport[]): Promise<(ChargeRow | null)[]> {
  const credited = new Map<string, ChargeRow>()
  const queues = reports.map(report => ({ ...report, payments: report.payments.toSorted(byTime) }))
  const roundCount = Math.max(...queues.map(({ payments }) => payments.length))
  for (let round = 0; round < roundCount; round++) {
    const payments = queues.flatMap(({ payments, ...charge }) => {
      const payment = credited.has(charge.chargeId) ? undefined : payments[round]
      return payment ? { ...charge, ...payment } : []
    })
    if (payments.length === 0) break
    for (const row of await settleCharges(payments)) credited.set(row.id, row)
  }
  const rest = reports.flatMap(({ payments, accountId, chargeId }) =>
    payments
      .filter(({ endToEndId }) => credited.get(chargeId)?.end_to_end_id !== endToEndId)
      .map(payment => ({ payment, accountId, chargeId })),
  )
  if (rest.length > 0) await keepUnmatched(rest)
  return reports.map(({ chargeId }) => credited.get(chargeId) ?? null)
}

function byTime(one: ReceivedPayment, other: ReceivedPayment): number {
  const earlierMs = one.paidAt.getTime() - other.paidAt.getTime()
  return earlierMs || (one.endToEndId < other.endToEndId ? -1 : 1)
}

/**
 * Batches the reports of an account, because all of them update the same balance row. Two statements at a time: while one
 * commits with the books locked, the other locks and marks its charges, and this process reads the results of a third.
 */
export const receivePayment = createBatcher({
  run: receivePayments,
  queueOf: ({ accountId }: PaymentReport) => accountId,
  keyOf: ({ chargeId }: PaymentReport) => chargeId,
  batchMax: 200,
  runningMax: 2,
})

/** Time in which the connection of a charge books it: two to one bank account list the same payments. */
const CONNECTION_FIRST_MS = 3_600_000
/**
 * Time in which the withdrawal of a return, whose id begins with D, books it: longer than three readings
 * of payouts, each 6 hours, and less than the 24 in which the daily reading of 48 hours lists it last.
 */
const WITHDRAWAL_FIRST_MS = 20 * 3_600_000

/**
 * Books payments as a bank lists them, and what has gone back of them, also of those that were booked before. Returns
 * the payments that are not booked yet: the caller lists them again. Called twice, it does nothing.
 */
export async function matchPayments(
  connection: { id: string; mode: Mode },
  listed: ReceivedPayment[],
): Promise<ReceivedPayment[]> {
  const left = await bookPayments(connection, listed)
  await bookReturns(connection.id, listed)
  return left
}

/**
 * Books payments that a bank has listed. One that names a charge is credited, or kept as an unmatched payment if the
 * charge cannot take it. One that names no charge is unmatched. A payment of a charge of another connection is
 * unmatched after an hour, and a return of a payout after 20 hours, unless booked before: the other connection may
 * lead to the same bank account and list it, too. A payment of a charge that is being opened is not booked yet.
 */
async function bookPayments(
  connection: { id: string; mode: Mode },
  listed: ReceivedPayment[],
): Promise<ReceivedPayment[]> {
  // Lists overlap: most of what they contain is booked, and must lock no charge.
  const payments = await listUnbooked(connection.id, listed)
  if (payments.length === 0) return []
  const txids = payments.flatMap(({ txid }) => txid ?? [])
  const charges = await db().charge.findMany({
    where: { txid: { in: txids } },
    select: { accountId: true, id: true, txid: true, connectionId: true },
  })
  const ofAccount = await findSameAccount(connection.id)
  const connections = new Map(charges.map(({ txid, connectionId }) => [txid, connectionId]))
  const reports = charges
    .filter(({ connectionId }) => ofAccount.has(connectionId))
    .map(({ accountId, id, txid }) => ({
      accountId,
      chargeId: id,
      payments: payments.filter(payment => payment.txid === txid),
    }))
  if (reports.length > 0) await receivePayments(reports)
  const isStray = ({ txid, endToEndId, paidAt }: ReceivedPayment) => {
    const own = txid === null ? undefined : connections.get(txid)
    if (own !== undefined && ofAccount.has(own)) return false
    const ageMs = Date.now() - paidAt.getTime()
    if (endToEndId.startsWith('D')) return ageMs > WITHDRAWAL_FIRST_MS
    return own === undefined || ageMs > CONNECTION_FIRST_MS
  }
  const strays = payments
    .filter(isStray)
    .map(payment => ({ payment, connectionId: connection.id, mode: connection.mode }))
  if (strays.length > 0) await keepUnmatched(strays)
  return listUnbooked(connection.id, payments)
}

/** Returns the connections to the bank account of this one: a PIX key belongs to a single account. */
async function findSameAccount(connectionId: string): Promise<Set<string>> {
  const rows = await db().$queryRaw<{ id: string }[]>`
    SELECT o.id FROM connections n
    JOIN connections o ON o.environment = n.environment AND o.receiving_keys && n.receiving_keys
    WHERE n.id = ${connectionId}::uuid`
  return new Set([connectionId, ...rows.map(({ id }) => id)])
}

async function listUnbooked(
  connectionId: string,
  payments: ReceivedPayment[],
): Promise<ReceivedPayment[]> {
  const ids = payments.map(({ endToEndId }) => endToEndId)
  const claimed = await findClaimed(connectionId, ids)
  return payments.filter(({ endToEndId }) => !claimed.has(endToEndId))
}

/**
 * Books a page. If that fails, books its payments one by one, so that one that cannot be stored keeps no
 * other from being credited. Without the database, storing the place fails, too.
 */
export async function bookPage(connectionId: string, items: ReceivedPayment[]): Promise<void> {
  const book = (payments: ReceivedPayment[]) =>
    matchPayments({ id: connectionId, mode: 'live' }, payments)
  if (items.length === 0) return
  try {
    await book(items)
  } catch (error) {
    log().warn({ err: error, connectionId }, 'booking a page of payments failed')
    for (const item of items)
      await book([item]).catch(err => {
        const { endToEndId } = item
        log().error({ err, connectionId, endToEndId }, 'booking a listed payment failed')
      })
  }
}

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
        SELECT p.*, c.connection_id
        FROM charges c JOIN payments p USING (account_id, id)
        WHERE ${payableCondition}
        ORDER BY c.account_id, c.id FOR UPDATE OF c`,
      claimed,
      paid: Prisma.sql`
        UPDATE charges c SET status = 'paid', paid_at = p.paid_at, updated_at = now(),
          end_to_end_id = p.end_to_end_id, payer_name = p.payer->>'name',
          payer_doc = p.payer->>'maskedDoc', payer_bank = p.payer->>'bank', due_at = NULL, lease = NULL
        FROM locked p
        WHERE c.account_id = p.account_id AND c.id = p.id AND ${payableCondition}
          -- By a hash: a join would compare each payment with each.
          AND (p.account_id, p.id) IN (SELECT account_id, id FROM claimed) IS TRUE
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
