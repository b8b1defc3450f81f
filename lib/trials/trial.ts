import { openTrialAccount } from '#lib/accounts/create.ts'
import { type Actor, recordAudit } from '#lib/audit/record.ts'
import { createCharge } from '#lib/charges/create.ts'
import { createRefund } from '#lib/charges/refunds/refund.ts'
import { invalidInput, isTrocoError, refuse } from '#lib/core/errors.ts'
import { isUuid, newRoutableId, removeHyphens, TRIAL_ACCOUNT_ID } from '#lib/core/ids.ts'
import { log } from '#lib/core/log.ts'
import type { Mode } from '#lib/core/mode.ts'
import { maskPixKey } from '#lib/core/pix/pix-key.ts'
import { db, Prisma, type Tx, transaction } from '#lib/db/client.ts'
import { asJson, queryRows, utc, utcText } from '#lib/db/sql.ts'
import {
  REFUND_AMOUNT,
  type StepState,
  type StepView,
  type Trial,
  type TrialState,
  WITHDRAWAL_AMOUNT,
} from '#lib/trials/schema.ts'
import { createWithdrawal } from '#lib/withdrawals/create.ts'
import { readPixKey, toWithdrawalOrder } from '#lib/withdrawals/schema.ts'

/** Time to pay the code. */
const PAYABLE_S = 3_600

interface NewTrial {
  connectionId: string
  pixKey: string | null | undefined
  actor: Actor
}

interface Slot {
  name: string
  mode: Mode
  needsKey: boolean
  isClosed: boolean
}

/**
 * Begins a trial of a connection, or returns the one that is running with this key. It is a charge of the operator's
 * trial account, which `continueTrials` refunds in part, and withdraws the rest of, once it is paid. Stored before the
 * bank is called; an opening that a crash leaves is ended like that of any other charge.
 */
export async function beginTrial({ connectionId, pixKey: text, actor }: NewTrial): Promise<Trial> {
  const begun = await transaction(async tx => {
    const slot = await lockConnection(tx, connectionId)
    const pixKey = readKey(slot, text)
    const latest = await findLatestTrial(connectionId, tx)
    if (latest?.status === 'running') {
      if (await isPaidTo(tx, latest, pixKey)) return null
      throw refuse('under_way', 'A trial with another key is under way: wait for its end')
    }
    if (slot.isClosed) throw refuse('already_final', { subject: 'Connection', status: 'closed' })
    await openTrialAccount(tx)
    const chargeId = newRoutableId(TRIAL_ACCOUNT_ID)
    await tx.connectionTrial.create({ data: { chargeId, connectionId, pixKey } })
    const amount = REFUND_AMOUNT + (pixKey === null ? 0 : WITHDRAWAL_AMOUNT)
    const after = { mode: slot.mode, amount, pays_out: pixKey !== null }
    await recordAudit(tx, { actor, action: 'connection.trial_begun', target: connectionId, after })
    return { slot, chargeId, amount }
  })
  if (begun) await openCharge(connectionId, begun)
  return (await findLatestTrial(connectionId)) as Trial
}

interface Begun {
  slot: Slot
  chargeId: string
  amount: number
}

async function openCharge(
  connectionId: string,
  { slot: { name, mode }, chargeId, amount }: Begun,
): Promise<void> {
  const merchant = {
    id: TRIAL_ACCOUNT_ID,
    chargeId,
    name,
    city: '',
    expiresIn: PAYABLE_S,
    receivingConnectionId: connectionId,
  }
  const request = { amount, client_name: '', client_email: '', client_doc: '' }
  try {
    await createCharge(merchant, mode, request, null)
  } catch (error) {
    if (!isTrocoError(error)) throw error
    // If the bank was called, the steps show what it answered.
    const uncalled = await db().$executeRaw`
      DELETE FROM connection_trials WHERE charge_id = ${chargeId}::uuid AND NOT EXISTS (
        SELECT FROM gateway_calls WHERE account_id = ${TRIAL_ACCOUNT_ID}::uuid AND subject_id = ${chargeId}::uuid)`
    if (uncalled > 0) throw error
  }
}

/** Locks the connection, so that two trials cannot begin at once. */
async function lockConnection(tx: Tx, id: string): Promise<Slot> {
  if (!isUuid(id)) throw refuse('connection_not_found')
  const [row] = await tx.$queryRaw<(Slot & { receives: boolean })[]>`
    SELECT name, CASE environment WHEN 'production' THEN 'live' ELSE 'test' END AS mode,
      paying_key IS NOT NULL AS "needsKey", disabled_at IS NOT NULL AS "isClosed",
      cardinality(receiving_keys) > 0 AS receives
    FROM connections WHERE id = ${id}::uuid AND kind <> 'simulator' FOR NO KEY UPDATE`
  if (!row) throw refuse('connection_not_found')
  if (!row.receives)
    throw invalidInput('connection', 'has no receiving key, and a trial begins with a payment')
  return row
}

function readKey({ mode, needsKey }: Slot, text: string | null | undefined): string | null {
  if (!needsKey) return null
  if (!text)
    throw invalidInput('pix_key', 'must be given: the connection pays out, and one cent goes to it')
  if (readPixKey(mode, { pix_key: text }).ok) return text
  throw invalidInput(
    'pix_key',
    'must be a PIX key: a CPF with its punctuation, and a phone number with +55',
  )
}

async function isPaidTo(tx: Tx, { id, mode }: Trial, pixKey: string | null): Promise<boolean> {
  const { pixKey: stored } = await tx.connectionTrial.findUniqueOrThrow({ where: { chargeId: id } })
  if (pixKey === null || stored === null) return pixKey === stored
  const [one, other] = [pixKey, stored].map(key => readPixKey(mode, { pix_key: key }))
  return Boolean(one?.ok && other?.ok && one.dictKey === other.dictKey)
}

type PaidStep = 'refund' | 'withdrawal'

interface PaidTrial {
  chargeId: string
  connectionId: string
  mode: Mode
  pixKey: string | null
  isRefunded: boolean
  isWithdrawn: boolean
}

/**
 * Requests the refund and the withdrawal of paid trials, each once: a second refund would exceed what is left of the
 * charge, and a second withdrawal would repeat its reference. Returns 0: what is refused is tried again, until an hour
 * after the payment.
 */
export async function continueTrials(): Promise<number> {
  const paid = await db().$queryRaw<PaidTrial[]>`
    SELECT * FROM (
      SELECT c.id AS "chargeId", c.connection_id AS "connectionId", c.mode, k.pix_key AS "pixKey",
        EXISTS (SELECT FROM refunds r WHERE r.account_id = c.account_id AND r.charge_id = c.id) AS "isRefunded",
        k.pix_key IS NULL OR EXISTS (SELECT FROM withdrawals w WHERE w.account_id = c.account_id AND w.mode = c.mode
          AND w.external_id = c.txid) AS "isWithdrawn"
      FROM connection_trials k JOIN charges c ON c.account_id = ${TRIAL_ACCOUNT_ID}::uuid AND c.id = k.charge_id
      WHERE c.status = 'paid' AND NOT ${isGivenUp}) t
    WHERE NOT ("isRefunded" AND "isWithdrawn")`
  for (const trial of paid) {
    const { chargeId, connectionId, mode, pixKey, isRefunded, isWithdrawn } = trial
    await attempt(trial, 'refund', async () => {
      if (!isRefunded)
        await createRefund(TRIAL_ACCOUNT_ID, mode, chargeId, { amount: REFUND_AMOUNT })
    })
    await attempt(trial, 'withdrawal', async () => {
      if (isWithdrawn || pixKey === null) return
      const order = toWithdrawalOrder(mode, { amount: WITHDRAWAL_AMOUNT, pix_key: pixKey })
      await createWithdrawal(TRIAL_ACCOUNT_ID, mode, {
        ...order,
        externalId: removeHyphens(chargeId),
        connectionId,
      })
    })
  }
  return 0
}

/** A trial that is refused a step, such as by a limit of the connection, must not stop the others. */
async function attempt(
  { chargeId }: PaidTrial,
  step: PaidStep,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work()
  } catch (err) {
    if (!isTrocoError(err)) throw err
    const name = `${step}Refusal` as const
    const isNew = { OR: [{ [name]: null }, { [name]: { not: err.code } }] }
    const { count } = await db().connectionTrial.updateMany({
      where: { chargeId, ...isNew },
      data: { [name]: err.code },
    })
    if (count > 0) log().warn({ err, chargeId }, 'a trial cannot go on yet')
  }
}

/** Stores that a notice of the bank named the payment of a trial: by its charge, or by the end-to-end id. */
export async function noteTrialNotices(
  connectionId: string,
  kind: 'charge' | 'payment',
  ids: string[],
): Promise<void> {
  const column = kind === 'charge' ? Prisma.sql`c.txid` : Prisma.sql`c.end_to_end_id`
  await db().$executeRaw`
    UPDATE connection_trials k SET noticed_at = now() FROM charges c
    WHERE k.connection_id = ${connectionId}::uuid AND k.noticed_at IS NULL
      AND c.account_id = ${TRIAL_ACCOUNT_ID}::uuid AND c.id = k.charge_id AND ${column} = ANY (${ids}::text[])`
}

/** Banks send a notice again after five minutes. */
const NOTICE_MAX = '10 minutes'
/** By then, the worker has ended an opening that a dead process left. */
const OPENING_MAX = '2 minutes'

/** Condition on a trial `k` whose paid charge is `c`: a step was refused for so long that it has failed. */
const isGivenUp = Prisma.sql`(COALESCE(k.refund_refusal, k.withdrawal_refusal) IS NOT NULL
  AND COALESCE(c.paid_at < now() - interval '1 hour', false))`

/** A charge, refund or withdrawal as its step shows it. */
interface Part {
  status: string
  at: string | null
  bank_id: string | null
  text: string | null
}

interface Row {
  id: string
  mode: Mode
  pix_key: string | null
  created_at: string
  expires_at: string | null
  br_code: string | null
  charge: Part | null
  /** What the bank answered last about the charge, if that was not what it should. */
  charge_text: string | null
  is_opening_over: boolean
  is_other_amount: boolean
  noticed_at: string | null
  is_notice_late: boolean
  refund: Part | null
  withdrawal: Part | null
  refund_refusal: string | null
  withdrawal_refusal: string | null
  is_given_up: boolean
}

/** Builds the SELECT of the last answer of the bank about a subject, if it was not a success. */
const answerSql = (subjectId: string) => Prisma.sql`(
  SELECT CASE WHEN g.outcome <> 'ok' THEN COALESCE(g.response->>'bankText', g.response->>'reason',
      g.response->>'code', g.outcome) END
  FROM gateway_calls g WHERE g.account_id = ${TRIAL_ACCOUNT_ID}::uuid
    AND g.subject_id = ${Prisma.raw(subjectId)} AND g.outcome IS NOT NULL
  ORDER BY g.created_at DESC, g.id DESC LIMIT 1)`

const columns = Prisma.sql`k.charge_id AS id, k.pix_key, k.refund_refusal, k.withdrawal_refusal,
  ${isGivenUp} AS is_given_up, ${utc('k.created_at')}, ${utc('k.noticed_at')},
  CASE n.environment WHEN 'production' THEN 'live' ELSE 'test' END AS mode, c.br_code, ${utc('c.expires_at')},
  CASE WHEN c.id IS NOT NULL THEN json_build_object('status', c.status, 'bank_id', c.end_to_end_id,
    'at', ${utcText('c.paid_at')}) END AS charge,
  ${answerSql('k.charge_id')} AS charge_text,
  k.created_at < now() - ${OPENING_MAX}::interval OR EXISTS (SELECT FROM gateway_calls g
    WHERE g.account_id = ${TRIAL_ACCOUNT_ID}::uuid AND g.subject_id = k.charge_id) AS is_opening_over,
  EXISTS (SELECT FROM unmatched_payments u WHERE u.connection_id = k.connection_id
    AND u.charge_id = k.charge_id AND u.amount <> c.amount) AS is_other_amount,
  COALESCE(c.paid_at < now() - ${NOTICE_MAX}::interval, false) AS is_notice_late,
  (SELECT row_to_json(p) FROM (
    SELECT r.status, ${utc('r.completed_at', 'at')}, r.return_id AS bank_id,
      COALESCE(r.bank_text, r.rejection_reason, ${answerSql('r.id')}) AS text
    FROM refunds r WHERE r.account_id = c.account_id AND r.charge_id = c.id ORDER BY r.id LIMIT 1) p) AS refund,
  (SELECT row_to_json(p) FROM (
    SELECT w.status, ${utc('w.approved_at', 'at')}, w.end_to_end_id AS bank_id,
      COALESCE(w.bank_text, w.rejection_reason, ${answerSql('w.id')}) AS text
    FROM withdrawals w WHERE w.account_id = c.account_id AND w.mode = c.mode
      AND w.external_id = c.txid) p) AS withdrawal`

/** Returns the latest trial of a connection, or null. */
export async function findLatestTrial(connectionId: string, tx?: Tx): Promise<Trial | null> {
  const [row] = await queryRows<Row>(
    Prisma.sql`
    SELECT ${asJson(columns)}::text AS json FROM connection_trials k
    JOIN connections n ON n.id = k.connection_id
    LEFT JOIN charges c ON c.account_id = ${TRIAL_ACCOUNT_ID}::uuid AND c.id = k.charge_id
    WHERE k.connection_id = ${connectionId}::uuid ORDER BY k.created_at DESC, k.charge_id DESC LIMIT 1`,
    tx,
  )
  return row ? toTrial(row) : null
}

function toTrial(row: Row): Trial {
  const { id, mode, pix_key: pixKey, created_at, expires_at, br_code: code, charge } = row
  const steps = stepsOf(row)
  const key = pixKey === null ? null : readPixKey(mode, { pix_key: pixKey })
  const withdrawal_amount = pixKey === null ? 0 : WITHDRAWAL_AMOUNT
  return {
    id,
    mode,
    status: statusOf(steps),
    created_at,
    expires_at,
    steps,
    amount: REFUND_AMOUNT + withdrawal_amount,
    refund_amount: REFUND_AMOUNT,
    withdrawal_amount,
    br_code: charge?.status === 'pending' ? code : null,
    key: key?.ok ? maskPixKey(key.type, key.dictKey) : null,
  }
}

function statusOf(steps: StepView[]): Trial['status'] {
  const has = (...states: StepState[]) => steps.some(({ state }) => states.includes(state))
  if (has('waiting', 'upcoming')) return 'running'
  return has('failed') ? 'failed' : 'passed'
}

/** A call to the bank, as it is journaled: without secrets, documents and names. */
interface JournaledCall {
  at: string
  operation: string
  request: string
  outcome: string | null
  response: string | null
}

/** Lists the calls about the charge, the refund and the withdrawal of a trial, the oldest first. */
export function listTrialCalls({ id }: Trial): Promise<JournaledCall[]> {
  return db().$queryRaw<JournaledCall[]>`
    SELECT ${utcText('g.created_at')} AS at, g.operation, g.request::text, g.outcome, g.response::text
    FROM gateway_calls g WHERE g.account_id = ${TRIAL_ACCOUNT_ID}::uuid AND g.subject_id IN (
      SELECT ${id}::uuid
      UNION ALL SELECT r.id FROM refunds r WHERE r.account_id = g.account_id AND r.charge_id = ${id}::uuid
      UNION ALL SELECT w.id FROM withdrawals w WHERE w.account_id = g.account_id
        AND w.external_id = ${removeHyphens(id)})
    ORDER BY g.created_at, g.id`
}

/** Reads the latest trial of a connection, and whether a trial of it needs a Pix key. */
export async function readTrial(connectionId: string): Promise<TrialState> {
  const where = { id: connectionId, kind: { not: 'simulator' } }
  const connection = isUuid(connectionId)
    ? await db().connection.findFirst({ where, select: { payingKey: true } })
    : null
  if (!connection) throw refuse('connection_not_found')
  const latest = await findLatestTrial(connectionId)
  return { needs_key: connection.payingKey !== null, latest }
}

type View = Partial<Omit<StepView, 'step' | 'state'>>

function stepsOf(row: Row): StepView[] {
  const { charge, pix_key: pixKey } = row
  const isPaid = charge?.status === 'paid'
  const payment = paymentStep(row)
  const isOver = payment.state === 'failed' || payment.state === 'skipped'
  const next = isOver ? 'skipped' : 'upcoming'
  return [
    chargeStep(row),
    payment,
    isPaid ? noticeStep(row) : view('notice', next),
    isPaid ? partStep('refund', row) : view('refund', next),
    pixKey === null
      ? view('withdrawal', 'skipped', { code: 'no_payouts' })
      : isPaid
        ? partStep('withdrawal', row)
        : view('withdrawal', next),
  ]
}

function view(step: StepView['step'], state: StepState, more: View = {}): StepView {
  return { step, state, at: null, bank_id: null, code: null, text: null, refusal: null, ...more }
}

function chargeStep(row: Row): StepView {
  const { charge, charge_text: text, is_opening_over: isOver } = row
  if (charge?.status === 'opening') return view('charge', 'waiting', { text })
  if (charge) return view('charge', 'done', { at: row.created_at, bank_id: removeHyphens(row.id) })
  return isOver ? view('charge', 'failed', { text }) : view('charge', 'waiting')
}

function paymentStep(row: Row): StepView {
  const { charge, charge_text: text, is_other_amount: isOtherAmount } = row
  if (charge?.status === 'paid')
    return view('payment', 'done', { at: charge.at, bank_id: charge.bank_id })
  if (isOtherAmount) return view('payment', 'failed', { code: 'other_amount' })
  if (charge?.status === 'pending') return view('payment', 'waiting', { text })
  if (charge?.status === 'opening') return view('payment', 'upcoming')
  if (charge) return view('payment', 'failed', { code: 'not_paid' })
  return view('payment', chargeStep(row).state === 'failed' ? 'skipped' : 'upcoming')
}

function noticeStep({ noticed_at: at, is_notice_late: isLate }: Row): StepView {
  if (at !== null) return view('notice', 'done', { at })
  return isLate ? view('notice', 'failed', { code: 'not_noticed' }) : view('notice', 'waiting')
}

const ENDS: Record<string, StepState> = {
  completed: 'done',
  approved: 'done',
  rejected: 'failed',
}

function partStep(step: PaidStep, row: Row): StepView {
  const { [step]: part, is_given_up: isGivenUp } = row
  const refusal = row[`${step}_refusal`]
  if (part === null) return view(step, refusal && isGivenUp ? 'failed' : 'waiting', { refusal })
  const { at, bank_id, text } = part
  const state = ENDS[part.status] ?? 'waiting'
  return view(step, state, { at, bank_id, text: state === 'done' ? null : text })
}
