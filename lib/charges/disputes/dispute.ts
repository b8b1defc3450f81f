import { SIMULATOR_CONNECTION_ID } from '#lib/banks/served.ts'
import type { DisputeEnd, DisputeReport, DisputeRow } from '#lib/charges/disputes/schema.ts'
import type { DisputeDetail } from '#lib/charges/disputes/wire.ts'
import { findAddressed, recordChargeEvents } from '#lib/charges/list.ts'
import { invalidInput, refuse } from '#lib/core/errors.ts'
import type { ListQuery } from '#lib/core/fields.ts'
import { isUuid, newRoutableId } from '#lib/core/ids.ts'
import { Invariant } from '#lib/core/invariant.ts'
import type { Mode } from '#lib/core/mode.ts'
import { cents } from '#lib/core/money.ts'
import { db, Prisma, type Tx, transaction } from '#lib/db/client.ts'
import { type Page, pageSql, readPage } from '#lib/db/page.ts'
import { asJson, onPrimary, queryRows, utc } from '#lib/db/sql.ts'
import { wake } from '#lib/db/wake.ts'
import { noteItem } from '#lib/differences/differences.ts'
import { bookOne } from '#lib/ledger/book.ts'
import { lockBooks, openDisputeLedgers, readDisputes } from '#lib/ledger/owed.ts'

type Status = 'open' | 'won' | 'lost'

interface DisputedCharge {
  accountId: string
  id: string
  mode: Mode
}

/** Returns the charge that the disputed payment has paid; null after a note among the differences. */
async function findDisputedCharge(
  report: DisputeReport,
  status: Status,
  note: typeof noteDispute,
): Promise<DisputedCharge | null> {
  const { connectionId, endToEndId, amount } = report
  const charge = await db().charge.findFirst({
    where: { connectionId, endToEndId, status: 'paid' },
    select: { accountId: true, id: true, mode: true, amount: true },
  })
  if (charge && charge.amount >= BigInt(amount)) return { ...charge, mode: charge.mode as Mode }
  await note(db(), 'dispute_unmatched', report, status)
  return null
}

/**
 * Locks the charge, so that its disputes are booked in turn, then the available balance, so that what the account
 * owes is the same in all statements of the transaction.
 */
export async function lockDisputed(tx: Tx, { accountId, id, mode }: DisputedCharge): Promise<void> {
  await tx.$queryRaw`
    SELECT FROM charges WHERE account_id = ${accountId}::uuid AND id = ${id}::uuid FOR UPDATE`
  await lockBooks(tx, accountId, mode)
}

/** Returns the columns of a dispute of the charge, without its status. */
function newDispute(
  { connectionId, bankId, respondBy }: DisputeReport,
  { accountId, id: chargeId, mode }: DisputedCharge,
  amount: number,
) {
  const id = newRoutableId(accountId)
  return { accountId, id, mode, connectionId, bankId, chargeId, amount, respondBy }
}

/** What is left of the payment of a charge, and of which of its parts the bank may report twice. */
interface Remainder {
  /** Not refunded, returned or lost. A held refund does not count: the bank may still reject it. */
  left: number
  /** Part of `left` that is disputed. */
  disputed: number
  /**
   * What the bank has returned for disputes (MED), or for an unknown reason, without a report of their loss. If the
   * reason was another one, the bank lists one more return.
   */
  returned: number
  /** What was lost in disputes of which the bank has not listed the return. */
  lost: number
}

/** The caller has locked the charge. Reads prisma/functions/troco_disputed.sql. */
export async function readRemainder(
  tx: Tx,
  { accountId, id }: Pick<DisputedCharge, 'accountId' | 'id'>,
): Promise<Remainder> {
  const [row] = await tx.$queryRaw<Record<keyof Remainder, bigint>[]>`
    SELECT c.amount - c.refunded_amount - c.returned_amount - d.lost AS left, d.disputed,
      GREATEST(0, r.returned - s.returned)::bigint AS returned,
      GREATEST(0, d.lost - r.disputed)::bigint AS lost
    FROM charges c CROSS JOIN LATERAL troco_disputed(c.account_id, c.id) d
    CROSS JOIN LATERAL (SELECT COALESCE(sum(r.disputed_amount), 0) AS disputed, COALESCE(
        sum(r.amount - r.disputed_amount)
          FILTER (WHERE r.nature IS NULL OR r.nature NOT IN ('ORIGINAL', 'RETIRADA')), 0) AS returned
      FROM payment_returns r WHERE r.account_id = c.account_id AND r.charge_id = c.id) r
    CROSS JOIN LATERAL (SELECT COALESCE(sum(s.returned_amount), 0) AS returned
      FROM disputes s WHERE s.account_id = c.account_id AND s.charge_id = c.id) s
    WHERE c.account_id = ${accountId}::uuid AND c.id = ${id}::uuid`
  const { left = 0, disputed = 0, returned = 0, lost = 0 } = row ?? {}
  return {
    left: cents(left),
    disputed: cents(disputed),
    returned: cents(returned),
    lost: cents(lost),
  }
}

/**
 * Whether a reported amount is that of the dispute. Banks name the whole payment, of which a part may have been
 * refunded or returned before: a dispute that has all the rest agrees with more, up to the payment.
 */
async function isAmountAgreed(
  tx: Tx,
  { accountId, id }: DisputedCharge,
  reported: number,
  stored: Pick<DisputeRow, 'amount' | 'returnedAmount'>,
): Promise<boolean> {
  if (BigInt(reported) === stored.amount) return true
  const { amount, refundedAmount, returnedAmount } = await tx.charge.findUniqueOrThrow({
    where: { accountId_id: { accountId, id } },
  })
  const before = refundedAmount + returnedAmount
  const hasRest = before > 0n && stored.amount - stored.returnedAmount + before === amount
  return hasRest && BigInt(reported) > stored.amount && BigInt(reported) <= amount
}

/** Notes each report that differs, in its end or its amount, once. */
function noteDispute(
  tx: Tx,
  kind: 'dispute_unmatched' | 'dispute_contradicted',
  { connectionId, bankId, endToEndId, amount }: DisputeReport,
  status: Status,
  stored?: DisputeRow,
): Promise<void> {
  const facts = {
    dispute_id: bankId,
    end_to_end_id: endToEndId,
    status,
    amount,
    ...(stored && {
      stored_status: stored.status,
      stored_amount: Number(stored.lostAmount ?? stored.amount),
    }),
  }
  return noteItem(tx, { connectionId, kind, key: `${bankId} ${status} ${amount}`, facts })
}

/** Moves a part of a dispute's amount. What is released repays first what the account owes. */
async function moveDisputed(
  tx: Tx,
  movement: 'dispute_held' | 'dispute_owed' | 'dispute_won' | 'dispute_lost',
  dispute: DisputeRow,
  amount: bigint,
): Promise<void> {
  if (amount > 0n) await bookOne(tx, movement, { ...dispute, amount })
}

/**
 * Holds the disputed amount: from the available balance as far as it reaches; the account owes the rest,
 * which is held next of what comes in. Called twice, or after the end was reported, it does nothing. A
 * dispute of more than is left of the charge holds what is left, and goes to the differences unless the rest was
 * refunded. A dispute of no charge, or of one of which nothing is left, only goes to the differences: returns null.
 * A `note` that throws undoes the call.
 */
export async function openDispute(
  report: DisputeReport,
  note = noteDispute,
): Promise<DisputeRow | null> {
  const charge = await findDisputedCharge(report, 'open', note)
  if (!charge) return null
  await openDisputeLedgers(charge.accountId, charge.mode)
  const dispute = await transaction(async tx => {
    await lockDisputed(tx, charge)
    const dispute = await holdDispute(tx, report, charge)
    if (!dispute) await note(tx, 'dispute_unmatched', report, 'open')
    else if (
      dispute.chargeId !== charge.id ||
      !(await isAmountAgreed(tx, charge, report.amount, dispute))
    )
      await note(tx, 'dispute_contradicted', report, 'open', dispute)
    return dispute
  })
  wake('deliveries')
  return dispute
}

/**
 * Returns the dispute, which is held by this call or was reported before; null if nothing is left of the
 * charge. A refund of one cent must not keep the rest from being held. What the bank has returned for a dispute
 * before has left, and is not held. The caller has called lockDisputed.
 */
async function holdDispute(
  tx: Tx,
  report: DisputeReport,
  charge: DisputedCharge,
): Promise<DisputeRow | null> {
  const { connectionId, bankId } = report
  const where = { connectionId_bankId: { connectionId, bankId } }
  const known = await tx.dispute.findUnique({ where })
  if (known) return known
  const { left, disputed, returned } = await readRemainder(tx, charge)
  const amount = Math.min(report.amount, left - disputed + returned)
  if (amount <= 0) return null
  const returnedAmount = Math.min(amount, returned)
  const data = { ...newDispute(report, charge, amount), status: 'open', returnedAmount }
  const dispute = await tx.dispute.create({ data })
  const { available } = await readDisputes(tx, charge.accountId, charge.mode)
  const held = Math.min(available, amount - returnedAmount)
  await moveDisputed(tx, 'dispute_held', dispute, BigInt(held))
  await moveDisputed(tx, 'dispute_owed', dispute, BigInt(amount - returnedAmount - held))
  await recordDisputeEvent(tx, 'transaction.dispute_opened', dispute)
  return dispute
}

type Outcome = 'won' | 'lost'

/**
 * Releases the disputed amount; what the account owes is repaid of it first. A dispute that was never
 * reported open moves nothing. Called twice, it does nothing. A dispute that was lost stays so: the
 * contradiction goes to the differences. A `note` that throws undoes the call.
 */
export function winDispute(report: DisputeReport, note = noteDispute): Promise<DisputeRow | null> {
  return closeDispute(report, 'won', note)
}

/**
 * Lets the reported amount leave the account and releases the rest of the disputed one; what was not held
 * is then a claim of the operator on it. A dispute that was never reported open is held before. Called
 * twice, it does nothing; after a won one, or for more than is disputed, the contradiction goes to the differences.
 */
export function loseDispute(report: DisputeReport, note = noteDispute): Promise<DisputeRow | null> {
  return closeDispute(report, 'lost', note)
}

async function closeDispute(
  report: DisputeReport,
  outcome: Outcome,
  note: typeof noteDispute,
): Promise<DisputeRow | null> {
  const charge = await findDisputedCharge(report, outcome, note)
  if (!charge) return null
  await openDisputeLedgers(charge.accountId, charge.mode)
  const dispute = await transaction(async tx => {
    await lockDisputed(tx, charge)
    if (outcome === 'won') await insertWon(tx, report, charge)
    const dispute = await holdDispute(tx, report, charge)
    if (!dispute) {
      await note(tx, 'dispute_unmatched', report, outcome)
      return null
    }
    const isOpen = dispute.status === 'open' && dispute.chargeId === charge.id
    const closed = isOpen ? await endDispute(tx, dispute, outcome, report.amount) : dispute
    const ended = { ...closed, amount: closed.lostAmount ?? closed.amount }
    const isAgreed = closed.status === outcome && closed.chargeId === charge.id
    if (!(isAgreed && (await isAmountAgreed(tx, charge, report.amount, ended))))
      await note(tx, 'dispute_contradicted', report, outcome, closed)
    return closed
  })
  wake('deliveries')
  return dispute
}

/** A dispute that the bank reports only when it is over, and that moved no money. */
async function insertWon(tx: Tx, report: DisputeReport, charge: DisputedCharge): Promise<void> {
  const data = { ...newDispute(report, charge, report.amount), status: 'won', closedAt: new Date() }
  const [won] = await tx.dispute.createManyAndReturn({ data, skipDuplicates: true })
  if (won) await recordDisputeEvent(tx, 'transaction.dispute_closed', won)
}

/**
 * Ends an open dispute; the caller has called lockDisputed. Of what is lost, that part leaves the account which
 * neither a return of the bank (lib/charges/returned.ts) nor a refund has taken.
 */
export async function endDispute(
  tx: Tx,
  dispute: DisputeRow,
  outcome: Outcome,
  reported: number,
): Promise<DisputeRow> {
  const { accountId, id } = dispute
  const [amount, returnedBefore] = [cents(dispute.amount), cents(dispute.returnedAmount)]
  const { left, returned } = await readRemainder(tx, { accountId, id: dispute.chargeId })
  const lost = outcome === 'won' ? 0 : Math.min(reported, amount)
  const leaving = Math.max(0, Math.min(lost - returnedBefore - returned, left))
  const closed = await tx.dispute.update({
    where: { accountId_id: { accountId, id }, status: 'open' },
    data: {
      status: outcome,
      closedAt: new Date(),
      lostAmount: lost || null,
      ...(lost > 0 && { returnedAmount: lost - leaving }),
    },
  })
  await moveDisputed(tx, 'dispute_lost', dispute, BigInt(leaving))
  await moveDisputed(tx, 'dispute_won', dispute, BigInt(amount - returnedBefore - leaving))
  await recordDisputeEvent(tx, 'transaction.dispute_closed', closed)
  return closed
}

const connectionId = SIMULATOR_CONNECTION_ID
/** Banks have seven days to analyze a dispute, and take a defense until then. */
const SIMULATED_DEADLINE_MS = 7 * 86_400_000

/**
 * Opens a dispute as a bank reports one. What would go to the operator's differences is refused.
 * Called twice with a bank's id, the second call returns the dispute.
 */
export async function simulateDispute(
  accountId: string,
  idOrReference: string,
  requested: number | undefined,
  bankId: string = newRoutableId(accountId),
): Promise<DisputeDetail> {
  const charge = await findAddressed(accountId, 'test', idOrReference)
  if (charge.status !== 'paid' || !charge.end_to_end_id) throw refuse('not_paid')
  const where = { connectionId_bankId: { connectionId, bankId } }
  const known = await db().dispute.findUnique({ where })
  if (known) return readDetail(accountId, known.id)
  const remainder = await readRemainder(db(), { accountId, id: charge.id })
  const left = remainder.left - remainder.disputed
  const amount = requested ?? left
  if (amount > left || left <= 0)
    throw invalidInput('amount', `must be at most ${left}, what is left of the charge`)
  const respondBy = new Date(Date.now() + SIMULATED_DEADLINE_MS)
  const report = { connectionId, bankId, endToEndId: charge.end_to_end_id, amount, respondBy }
  const dispute = await openDispute(report, refuseNote)
  if (!dispute) throw new Invariant(`charge ${charge.id} was not disputed`)
  return readDetail(accountId, dispute.id)
}

/** Ends an open dispute as a bank reports it. `isResumed`: an earlier process may already have ended it. */
export async function simulateDisputeEnd(
  accountId: string,
  id: string,
  { outcome, amount }: DisputeEnd,
  isResumed = false,
): Promise<DisputeDetail> {
  const stored = isUuid(id)
    ? await db().dispute.findFirst({ where: { accountId, id, mode: 'test' } })
    : null
  if (!stored) throw refuse('dispute_not_found')
  if (isResumed && stored.status === outcome) return readDetail(accountId, id)
  if (stored.status !== 'open')
    throw refuse('already_final', { subject: 'Dispute', status: stored.status })
  const disputed = Number(stored.amount)
  if (amount !== undefined && (outcome === 'won' || amount > disputed))
    throw invalidInput(
      'amount',
      `must be left out unless the outcome is lost, and be at most ${disputed}`,
    )
  const charge = await findAddressed(accountId, 'test', stored.chargeId)
  if (!charge.end_to_end_id)
    throw new Invariant(`charge ${charge.id} is disputed but has no payment`)
  const { bankId } = stored
  const report = { connectionId, bankId, endToEndId: charge.end_to_end_id }
  const end = outcome === 'won' ? winDispute : loseDispute
  await end({ ...report, amount: amount ?? disputed }, refuseNote)
  return readDetail(accountId, id)
}

/** A refund or another dispute has taken what was left, or the dispute was ended, since it was checked. */
const refuseNote: typeof noteDispute = (_tx, _kind, _report, status, stored) => {
  if (status === 'open') throw invalidInput('amount', 'must be at most what is left of the charge')
  throw refuse('already_final', { subject: 'Dispute', status: stored?.status ?? 'closed' })
}

async function readDetail(accountId: string, id: string): Promise<DisputeDetail> {
  const dispute = await findDispute(accountId, 'test', id)
  if (!dispute) throw new Invariant(`dispute ${id} was stored but is missing`)
  return dispute
}

/** A dispute `d` in wire order. */
const disputeAsJson = asJson(Prisma.sql`
  d.id, d.charge_id AS transaction_id, d.amount, d.lost_amount, d.status, d.mode,
  ${utc('d.respond_by')}, ${utc('d.closed_at')}, ${utc('d.created_at')}, ${utc('d.updated_at')}`)

export async function findDispute(
  accountId: string,
  mode: Mode,
  id: string,
): Promise<DisputeDetail | null> {
  if (!isUuid(id)) return null
  const [row] = await queryRows<DisputeDetail>(Prisma.sql`
    SELECT ${disputeAsJson}::text AS json FROM disputes d
    WHERE ${onPrimary} AND d.account_id = ${accountId}::uuid AND d.mode = ${mode} AND d.id = ${id}::uuid`)
  return row ?? null
}

export function listDisputes(
  accountId: string,
  mode: Mode,
  query: ListQuery,
): Promise<Page<DisputeDetail>> {
  const rows = Prisma.sql`
    SELECT ${disputeAsJson}::text AS json FROM disputes d
    WHERE ${onPrimary} AND d.account_id = ${accountId}::uuid AND d.mode = ${mode} ${pageSql('d', query)}`
  return readPage<DisputeDetail>(rows, query.limit)
}

/** Records an event about a dispute, in the transaction that opens or ends it, after all its other statements. */
function recordDisputeEvent(
  tx: Tx,
  event: 'transaction.dispute_opened' | 'transaction.dispute_closed',
  { accountId, id }: DisputeRow,
): Promise<void> {
  return recordChargeEvents(
    tx,
    event,
    'dispute',
    Prisma.sql`
      SELECT d.account_id, d.charge_id, ${newRoutableId(accountId)}::uuid AS event_id, ${disputeAsJson} AS cause
      FROM disputes d WHERE d.account_id = ${accountId}::uuid AND d.id = ${id}::uuid`,
  )
}
