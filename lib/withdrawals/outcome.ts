import type { MemberAction } from '#lib/audit/record.ts'
import {
  type BankRefusal,
  ENDED_UNSENT,
  type OrderState,
  type Party,
  type PayoutReturn,
  type Rejection,
  rejectionAssignments,
  type SentPayout,
} from '#lib/banks/gateway.ts'
import { createListReader, type ListReader } from '#lib/banks/list-reader.ts'
import { withConnectionJournal } from '#lib/banks/record-call.ts'
import { parseDatabaseError } from '#lib/core/errors.ts'
import { newRoutableId, OPERATOR_ACCOUNT_ID } from '#lib/core/ids.ts'
import { Invariant } from '#lib/core/invariant.ts'
import { log } from '#lib/core/log.ts'
import type { Mode } from '#lib/core/mode.ts'
import { maskDictKey } from '#lib/core/pix/pix-key.ts'
import { maskTaxId, normalizeTaxId } from '#lib/core/pix/tax-id.ts'
import { db, Prisma, retryOnConflict, type Tx, transaction } from '#lib/db/client.ts'
import { columnsOf, queryRows } from '#lib/db/sql.ts'
import { wake } from '#lib/db/wake.ts'
import { claimPaymentsSql, keepUnmatchedSql } from '#lib/differences/differences.ts'
import { bookMovement } from '#lib/ledger/book.ts'
import { lockBooks } from '#lib/ledger/owed.ts'
import {
  endOrderSql,
  lockOrder,
  type Order,
  type OrderRules,
  type TakenState,
} from '#lib/orders/order.ts'
import { withdrawalEventColumns } from '#lib/withdrawals/queries.ts'
import type { WithdrawalRow } from '#lib/withdrawals/schema.ts'

interface Settlement {
  accountId: string
  withdrawalId: string
  /** Settlement time; defaults to now, set only for demo data. */
  bookedAt?: Date
  /** Lease of the worker that settles the withdrawal. One that has lost the lease writes nothing. */
  lease?: string | null
  /** Transaction that does more than this; after its commit the caller wakes the deliveries. */
  tx?: Tx
  /** Set if people decide: conditions and assignments of the order `o`, assignments of the withdrawal `w`. */
  decision?: Decision
}

interface Decision {
  condition: Prisma.Sql
  ofOrder?: Prisma.Sql
  ofWithdrawal?: Prisma.Sql
  audit?: MemberAction
}

/** Debits the held amount after it was sent. Returns null if already settled. */
export async function approveWithdrawal(
  settlement: Settlement & { endToEndId: string | null; payee?: Party },
): Promise<WithdrawalRow | null> {
  const { withdrawalId, endToEndId, payee } = settlement
  const row = await settle(
    settlement,
    'approved',
    paymentAssignments(endToEndId, payee),
    endToEndId,
  )
  if (row) logOtherPayment(withdrawalId, row.end_to_end_id, endToEndId)
  return row
}

/** Approves a withdrawal that the bank lists as paid, also one that waits for a member's approval. */
export function approvePaid(
  withdrawal: Pick<Settlement, 'accountId' | 'withdrawalId'>,
  endToEndId: string | null,
): Promise<WithdrawalRow | null> {
  const ofWithdrawal = Prisma.sql`approval_due_at = NULL,`
  const decision = { condition: Prisma.sql`true`, ofWithdrawal }
  return approveWithdrawal({ ...withdrawal, endToEndId, decision })
}

/** Releases the held amount after the bank's final refusal, or without approval. Returns null if already settled. */
export function rejectWithdrawal(
  settlement: Settlement & { reason: Rejection | BankRefusal },
): Promise<WithdrawalRow | null> {
  return settle(settlement, 'rejected', rejectionAssignments(settlement.reason), null)
}

/**
 * Settles a withdrawal as the bank reports. Returns null if it was settled before. What came back since is
 * credited in the same transaction: the bank is not asked about a settled withdrawal again. Without a lease, the bank was
 * asked about one that had ended.
 */
export async function endAsReported(
  accountId: string,
  withdrawalId: string,
  orderState: OrderState,
  lease: string | null = null,
): Promise<WithdrawalRow | null> {
  if (orderState.state === 'taken')
    throw new Invariant(`withdrawal ${withdrawalId} cannot be settled: its payout is on its way`)
  const withdrawal = { accountId, withdrawalId, lease }
  if (orderState.state === 'refused') {
    const rejected = await rejectWithdrawal({ ...withdrawal, reason: orderState })
    return rejected || lease !== null ? rejected : returnFailedPayout(withdrawal)
  }
  const { returns = [], ...sent } = orderState
  if (returns.length === 0) return approveWithdrawal({ ...withdrawal, ...sent })
  const row = await transaction(async tx => {
    const approved = await approveWithdrawal({ ...withdrawal, ...sent, tx })
    for (const payoutReturn of returns) await returnPayout(withdrawal, payoutReturn, tx)
    return approved
  })
  wake('deliveries')
  return row
}

/** One statement with the lock order of all withdrawals: order, withdrawal, ledger, event sequence. */
async function settle(
  settlement: Settlement,
  outcome: 'approved' | 'rejected',
  assignments: Prisma.Sql,
  bankId: string | null,
): Promise<WithdrawalRow | null> {
  const { accountId, withdrawalId: id, lease, decision } = settlement
  const bookedAt = Prisma.sql`${settlement.bookedAt ?? null}::timestamptz`
  const { condition, ofOrder, ofWithdrawal = Prisma.empty } = decision ?? {}
  const end = { bankId, lease, condition, assignments: ofOrder }
  const statement = bookMovement({
    ctes: {
      ended: endOrderSql({ accountId, id }, outcome === 'approved' ? 'done' : 'refused', end),
      settled: Prisma.sql`
        UPDATE withdrawals w SET status = ${outcome}, ${assignments}, ${ofWithdrawal}
          ${Prisma.raw(`${outcome}_at`)} = COALESCE(${bookedAt}, now()), updated_at = now()
        FROM ended e WHERE w.account_id = e.account_id AND w.id = e.id
        RETURNING w.*`,
    },
    source: {
      from: Prisma.sql`settled w`,
      columns: {
        ...withdrawalEventColumns,
        ...columnsOf('w', ['id', 'amount', 'connection_id']),
        booked_at: bookedAt,
        event_id: Prisma.sql`${newRoutableId(accountId)}::uuid`,
      },
    },
    movement: outcome === 'approved' ? 'withdrawal_sent' : 'withdrawal_returned',
    event: `withdrawal.${outcome}`,
    audit: decision?.audit,
  })
  const { tx } = settlement
  if (tx) {
    await lockWithdrawal(tx, settlement)
    const [row] = await queryRows<WithdrawalRow>(statement, tx)
    return row ?? null
  }
  const [row] = await retryOnConflict(() => queryRows<WithdrawalRow>(statement))
  if (row) wake('deliveries')
  return row ?? null
}

/** The first end-to-end id stays, because others have seen it. A different one is kept for staff. */
function paymentAssignments(endToEndId: string | null, payee: Party | undefined): Prisma.Sql {
  const { name = null, maskedDoc = null, bank = null } = payee ?? {}
  return Prisma.sql`
    end_to_end_id = COALESCE(w.end_to_end_id, ${endToEndId}),
    other_end_to_end_id = CASE WHEN w.end_to_end_id <> ${endToEndId} THEN ${endToEndId}
      ELSE w.other_end_to_end_id END,
    payee_name = COALESCE(${name}, w.payee_name), payee_doc = COALESCE(${maskedDoc}, w.payee_doc),
    payee_bank = COALESCE(${bank}, w.payee_bank)`
}

function logOtherPayment(
  withdrawalId: string,
  stored: string | null,
  reported: string | null | undefined,
): void {
  if (!reported || reported === stored) return
  log().error(
    { withdrawalId, endToEndId: stored, otherEndToEndId: reported },
    'bank reported a second payment for a withdrawal',
  )
}

/**
 * Credits what came back of an approved withdrawal, once per id of the return. A return above the amount
 * that was sent moves to `unmatched` of the operator as a whole, with a difference. Returns null if
 * nothing was credited. After a crash, a repeated report books what is missing.
 */
export async function returnPayout(
  withdrawal: { accountId: string; withdrawalId: string },
  payoutReturn: PayoutReturn,
  outerTx?: Tx,
): Promise<WithdrawalRow | null> {
  const work = async (tx: Tx) => {
    await lockWithdrawal(tx, withdrawal)
    const [row] = await queryRows<WithdrawalRow>(creditSql(withdrawal, payoutReturn), tx)
    if (!row) await keepUnmatchedReturn(withdrawal, payoutReturn, tx)
    return row ?? null
  }
  if (outerTx) return work(outerTx)
  const row = await transaction(work)
  if (row) wake('deliveries')
  return row
}

/**
 * Credits the rest of a withdrawal whose payout the bank reports as failed after it had reported it as done. The id of
 * this return is that of the payment. Of one that people ended as sent, the report is a contradiction, for people.
 */
async function returnFailedPayout(
  withdrawal: Parameters<typeof returnPayout>[0],
): Promise<WithdrawalRow | null> {
  const { accountId, withdrawalId } = withdrawal
  const [failed] = await db().$queryRaw<{ id: string; amount: number }[]>`
    SELECT w.end_to_end_id AS id, (w.amount - w.returned_amount)::float8 AS amount
    FROM withdrawals w JOIN bank_orders o USING (account_id, id)
    WHERE w.account_id = ${accountId}::uuid AND w.id = ${withdrawalId}::uuid AND w.status = 'approved'
      AND w.returned_amount < w.amount AND w.end_to_end_id IS NOT NULL AND o.ended_at IS NULL`
  return failed ? returnPayout(withdrawal, { ...failed, returnedAt: new Date() }) : null
}

/** Locks the order of a withdrawal, then the books of its account, before a transaction moves its money. */
export async function lockWithdrawal(
  tx: Tx,
  { accountId, withdrawalId: id }: { accountId: string; withdrawalId: string },
): Promise<void> {
  const mode = await lockOrder(tx, { accountId, id })
  if (mode) await lockBooks(tx, accountId, mode)
}

function creditSql(
  { accountId, withdrawalId }: Parameters<typeof returnPayout>[0],
  { id: returnId, amount, returnedAt }: PayoutReturn,
): Prisma.Sql {
  return bookMovement({
    ctes: {
      locked: Prisma.sql`
        SELECT w.account_id, ${newRoutableId(accountId)}::uuid AS id, w.connection_id,
          ${returnId}::text AS end_to_end_id
        FROM withdrawals w
        WHERE w.account_id = ${accountId}::uuid AND w.id = ${withdrawalId}::uuid
          AND w.status = 'approved' AND w.returned_amount + ${amount}::bigint <= w.amount
        FOR UPDATE`,
      claimed: claimPaymentsSql('locked'),
      returned: Prisma.sql`
        INSERT INTO payout_returns (account_id, id, withdrawal_id, connection_id, return_id, amount,
          returned_at)
        SELECT account_id, id, ${withdrawalId}::uuid, connection_id, end_to_end_id, ${amount}::bigint,
          ${returnedAt}::timestamptz
        FROM locked JOIN claimed USING (account_id, id)
        RETURNING account_id, id, withdrawal_id, amount`,
      changed: Prisma.sql`
        UPDATE withdrawals w SET returned_amount = w.returned_amount + r.amount, updated_at = now()
        FROM returned r WHERE w.account_id = r.account_id AND w.id = r.withdrawal_id
        RETURNING w.*`,
    },
    source: {
      from: Prisma.sql`changed w JOIN returned r USING (account_id)`,
      columns: {
        ...withdrawalEventColumns,
        ...columnsOf('r', ['id', 'amount']),
        ...columnsOf('w', ['connection_id']),
        event_id: Prisma.sql`${newRoutableId(accountId)}::uuid`,
      },
    },
    movement: 'payout_returned',
    event: 'withdrawal.returned',
  })
}

/** A withdrawal, or the connection of a payout that Troco did not order. */
type Origin = { accountId: string; withdrawalId: string } | { connectionId: string; mode: Mode }

/**
 * Moves a return to `unmatched` of the operator, with a difference, if it belongs to no withdrawal or
 * is more than is left of it. Called twice, or for a return that was credited, it does nothing.
 */
export async function keepUnmatchedReturn(
  origin: Origin,
  payoutReturn: PayoutReturn,
  tx?: Tx,
): Promise<void> {
  const statement = keepUnmatchedSql({ strays: strayReturnSql(origin, payoutReturn) })
  await (tx ? queryRows(statement, tx) : retryOnConflict(() => queryRows(statement)))
}

function strayReturnSql(
  origin: Origin,
  { id: returnId, amount, returnedAt }: PayoutReturn,
): Prisma.Sql {
  const payment = Prisma.sql`${newRoutableId(OPERATOR_ACCOUNT_ID)}::uuid AS id,
    ${newRoutableId(OPERATOR_ACCOUNT_ID)}::uuid AS item_id, ${returnId}::text AS end_to_end_id,
    NULL::text AS txid, ${amount}::bigint AS amount, ${returnedAt}::timestamptz AS paid_at,
    NULL::uuid AS charge_account_id, NULL::uuid AS charge_id`
  if ('connectionId' in origin) {
    return Prisma.sql`
      SELECT ${payment}, ${origin.mode}::text AS mode, ${origin.connectionId}::uuid AS connection_id,
        'return_unmatched' AS reason, '{}'::jsonb AS facts`
  }
  return Prisma.sql`
    SELECT ${payment}, w.mode, w.connection_id, 'return_above_payout' AS reason,
      jsonb_build_object('account_id', w.account_id, 'withdrawal_id', w.id, 'sent_amount',
        CASE w.status WHEN 'approved' THEN w.amount ELSE 0 END,
        'returned_amount', w.returned_amount) AS facts
    FROM withdrawals w
    WHERE w.account_id = ${origin.accountId}::uuid AND w.id = ${origin.withdrawalId}::uuid
      -- A pending one is settled first; then its returns are reported again.
      AND w.status <> 'pending'
      AND (w.status = 'rejected' OR w.returned_amount + ${amount}::bigint > w.amount)`
}

/** Withdrawals of an inactive account are sent at most this long after its activation. */
const INACTIVE_PAUSE_MS = 15_000

/** What withdrawals contribute to sending orders: lib/orders. */
export const withdrawalOrders: OrderRules = {
  async end({ accountId, id }, reported, lease) {
    return (await endAsReported(accountId, id, reported, lease)) !== null
  },
  async endByPeople({ accountId, id }, outcome, { tx, condition, assignments }) {
    const decision = { condition, ofOrder: assignments }
    const settlement = { accountId, withdrawalId: id, tx, decision }
    const row =
      outcome === 'sent'
        ? await approveWithdrawal({ ...settlement, endToEndId: null })
        : await rejectWithdrawal({ ...settlement, reason: ENDED_UNSENT })
    return row !== null
  },
  take: recordTaken,
  async pauseMs({ accountId }) {
    const account = await db().account.findUnique({ where: { id: accountId } })
    return account?.status === 'active' ? null : INACTIVE_PAUSE_MS
  },
  hide: findHidden,
}

/**
 * Stores the payment and the receiver as the bank names them. Nothing is lost by a crash before: the
 * bank reports them again.
 */
async function recordTaken(
  { accountId, id }: Order,
  { endToEndId, payee }: TakenState,
): Promise<void> {
  if (endToEndId === undefined && payee === undefined) return
  const reported = { id: endToEndId ?? null, name: payee?.name ?? null }
  const [row] = await db().$queryRaw<{ endToEndId: string | null }[]>`
      UPDATE withdrawals w SET ${paymentAssignments(reported.id, payee)},
        updated_at = now()
      WHERE account_id = ${accountId}::uuid AND id = ${id}::uuid AND status = 'pending' AND (
          w.end_to_end_id IS NULL AND ${reported.id}::text IS NOT NULL
          OR w.end_to_end_id <> ${reported.id} AND w.other_end_to_end_id IS DISTINCT FROM ${reported.id}
          OR w.payee_name IS NULL AND ${reported.name}::text IS NOT NULL)
      RETURNING end_to_end_id AS "endToEndId"`.catch(error => {
    if (parseDatabaseError(error).constraint !== 'withdrawals_end_to_end_id_key') throw error
    log().error({ withdrawalId: id, endToEndId }, 'bank reported the payment of another withdrawal')
    return []
  })
  if (row) logOtherPayment(id, row.endToEndId, endToEndId)
}

async function findHidden({
  accountId,
  id,
  target,
  ownerDoc,
}: Order): Promise<Record<string, string>> {
  const where = { accountId_id: { accountId, id } }
  const row = await db().withdrawal.findUnique({ where, select: { payeeName: true } })
  return {
    ...(ownerDoc && { [normalizeTaxId(ownerDoc)]: maskTaxId(ownerDoc) }),
    [target]: maskDictKey(target),
    ...(row?.payeeName && { [row.payeeName]: '***' }),
  }
}

/** Age up to which a payment may be returned by its receiver, by the rules of PIX; and a margin. */
const PERIOD_MS = 91 * 86_400_000
/** Longest time between the request of a withdrawal and its payout, with approval and pauses. */
const WAIT_MAX_MS = 91 * 86_400_000

const MINUTE_MS = 60_000

/** Most payments come back within minutes; the others are found by the reading of the whole period. */
const READINGS = [
  { name: 'recent returns', everyMs: 10 * MINUTE_MS, periodMs: 86_400_000 },
  { name: 'returns', everyMs: 360 * MINUTE_MS, periodMs: PERIOD_MS },
]

/**
 * Creates a reader that credits what came back of approved withdrawals, as banks list their payouts: a
 * bank is not asked about a withdrawal that has ended. After a crash at any point, or if two processes
 * read the same list, each return is credited once.
 */
export function createReturnsReader(now = Date.now): ListReader {
  const readers = READINGS.map(({ periodMs, ...task }) =>
    createListReader({
      ...task,
      findSince: async () => new Date(now() - periodMs),
      open: connection => withConnectionJournal(connection).listSentPayouts,
      now,
      book: creditReturns,
    }),
  )
  return {
    run: async signal => void (await Promise.all(readers.map(reader => reader.run(signal)))),
    idle: async () => void (await Promise.all(readers.map(reader => reader.idle()))),
  }
}

/** A withdrawal that is pending gets its returns with its approval. */
async function creditReturns(connectionId: string, payout: SentPayout): Promise<void> {
  const { returns, isFailed } = payout
  if (returns.length === 0 && !isFailed) return
  const withdrawal =
    (await findPaid(connectionId, payout)) ?? (await findEnded(connectionId, payout))
  if (!withdrawal) return
  if (isFailed) {
    await returnFailedPayout({ accountId: withdrawal.accountId, withdrawalId: withdrawal.id })
    return
  }
  const listed = returns.reduce((sum, { amount }) => sum + amount, 0)
  if (BigInt(listed) === withdrawal.returnedAmount) return
  const { accountId, id: withdrawalId } = withdrawal
  for (const payoutReturn of returns) await returnPayout({ accountId, withdrawalId }, payoutReturn)
}

/** Credits a return of an approved withdrawal, found by its end-to-end id. Called twice, it does nothing. */
export async function creditReturn(
  connectionId: string,
  endToEndId: string,
  payoutReturn: PayoutReturn,
): Promise<void> {
  const withdrawal = await findPaid(connectionId, { endToEndId })
  if (!withdrawal) return
  const { accountId, id: withdrawalId } = withdrawal
  await returnPayout({ accountId, withdrawalId }, payoutReturn)
}

function findPaid(connectionId: string, { endToEndId }: Pick<SentPayout, 'endToEndId'>) {
  return db().withdrawal.findFirst({
    where: { connectionId, endToEndId, status: 'approved' },
    select: { accountId: true, id: true, returnedAmount: true },
  })
}

/** Finds a withdrawal that people ended as sent: the bank had not named its payment. */
async function findEnded(connectionId: string, { id, amount, sentAt }: SentPayout) {
  if (id === null) return null
  const earliest = new Date(sentAt.getTime() - WAIT_MAX_MS)
  // The condition on the status is that of the index by connection and time.
  const [withdrawal] = await db().$queryRaw<
    { accountId: string; id: string; returnedAmount: bigint }[]
  >`
    SELECT account_id AS "accountId", id, returned_amount AS "returnedAmount" FROM withdrawals
    WHERE connection_id = ${connectionId}::uuid AND created_at >= ${earliest}::timestamptz
      AND mode = 'live' AND status <> 'rejected' AND status = 'approved'
      AND id = ${id}::uuid AND end_to_end_id IS NULL AND amount = ${amount}::bigint`
  return withdrawal ?? null
}
