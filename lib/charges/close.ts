import { type MemberAction, recordAction } from '#lib/audit/record.ts'
import { DAY_MS, nextAskAt, requestedPauseMs } from '#lib/banks/breaker.ts'
import type { ChargeState, Gateway, GatewayResult } from '#lib/banks/gateway.ts'
import { callTimeoutMs, type Subject, withJournal } from '#lib/banks/record-call.ts'
import { chargeAsJson, eventColumns } from '#lib/charges/list.ts'
import { receivePayments } from '#lib/charges/receive.ts'
import type { ChargeRow } from '#lib/charges/schema.ts'
import { newRoutableId, OPERATOR_ACCOUNT_ID, removeHyphens } from '#lib/core/ids.ts'
import { currentCause } from '#lib/core/trace.ts'
import { type Claim, nowPlusMs } from '#lib/db/claim.ts'
import { db, Prisma, retryOnConflict } from '#lib/db/client.ts'
import { arrayOf, queryRows } from '#lib/db/sql.ts'
import { wake } from '#lib/db/wake.ts'
import { insertItemsSql } from '#lib/differences/differences.ts'
import { recordEvent } from '#lib/ledger/book.ts'

export interface Closing {
  accountId: string
  chargeId: string
  /** Closes only if expired by the database's clock: the bank reported no result. */
  ifTimeUp?: boolean
  /** Lease of the job that closes the charge. A job that has lost the lease writes nothing. */
  lease?: string
}

/**
 * Ends pending charges without money and records their events in one statement. Returns the ids
 * closed; the others had ended, had lost their lease or had not expired yet. `dueAt`: when the bank
 * is called about them next.
 */
export async function closeCharges(
  closings: Closing[],
  outcome: 'expired' | 'failed',
  dueAt?: Prisma.Sql,
): Promise<{ id: string }[]> {
  const rows = await close<{ id: string }>(closings, outcome, idAsJson, { dueAt })
  if (rows.length > 0) wake('deliveries')
  return rows
}

/** Expires due, unclaimed charges `c` that match `unreported`. The caller wakes deliveries. */
export function closeUnreported(
  closings: Omit<Closing, 'lease'>[],
  unreported: Prisma.Sql,
): Promise<{ id: string }[]> {
  return close(closings, 'expired', idAsJson, {
    further: Prisma.sql`AND c.due_at <= now() AND (${unreported})`,
    locking: Prisma.sql`SKIP LOCKED`,
  })
}

/**
 * Expires a pending charge that was cancelled, also while a worker holds its lease. `by`: the member who
 * cancelled it; null for a program. Returns null if it was no longer pending.
 */
export async function closeCancelled(
  { accountId, chargeId, by }: Pick<Closing, 'accountId' | 'chargeId'> & Pick<MemberAction, 'by'>,
  dueAt: Prisma.Sql,
): Promise<ChargeRow | null> {
  const cancellation = { action: 'charge.cancelled', by } as const
  const options = { dueAt, cancellation }
  const [row] = await close<ChargeRow>([{ accountId, chargeId }], 'expired', chargeAsJson, options)
  if (row) wake('deliveries')
  return row ?? null
}

const idAsJson = Prisma.sql`json_build_object('id', c.id)`

interface CloseOptions {
  dueAt?: Prisma.Sql
  further?: Prisma.Sql
  locking?: Prisma.Sql
  /** Set if people or programs end the charges. */
  cancellation?: MemberAction
}

function close<Row>(
  closings: Closing[],
  outcome: 'expired' | 'failed',
  returning: Prisma.Sql,
  options: CloseOptions = {},
): Promise<Row[]> {
  const { dueAt = Prisma.sql`NULL`, further = Prisma.empty, locking = Prisma.empty } = options
  const { cancellation } = options
  const cancelled = cancellation ? Prisma.sql`, cancelled_at = now()` : Prisma.empty
  const accounts = closings.map(({ accountId }) => accountId)
  const charges = closings.map(({ chargeId }) => chargeId)
  const leases = closings.map(({ lease }) => lease ?? null)
  const areTimed = closings.map(({ ifTimeUp }) => ifTimeUp ?? false)
  const events = accounts.map(accountId => newRoutableId(accountId))
  const closableCondition = Prisma.sql`c.status = 'pending'
    AND (p.lease IS NULL OR c.lease = p.lease) AND (NOT p.if_time_up OR c.expires_at <= now()) ${further}`
  const statement = recordEvent({
    ctes: {
      closings: Prisma.sql`
        SELECT * FROM unnest(${arrayOf('uuid', accounts)}, ${arrayOf('uuid', charges)},
            ${arrayOf('uuid', leases)}, ${arrayOf('boolean', areTimed)}, ${arrayOf('uuid', events)})
          AS p (account_id, id, lease, if_time_up, event_id)`,
      locked: Prisma.sql`
        SELECT c.account_id, c.id FROM charges c JOIN closings p USING (account_id, id)
        WHERE ${closableCondition}
        ORDER BY c.account_id, c.id FOR UPDATE OF c ${locking}`,
      closed: Prisma.sql`
        UPDATE charges c SET status = ${outcome}, updated_at = now(), due_at = ${dueAt}, lease = NULL${cancelled}
        FROM locked k JOIN closings p USING (account_id, id)
        WHERE c.account_id = k.account_id AND c.id = k.id AND ${closableCondition}
        RETURNING c.*, p.event_id, ${currentCause()}::text AS trace`,
      noted: cancellation ? recordAction(cancellation, 'closed') : null,
    },
    source: { from: Prisma.sql`closed c`, columns: eventColumns },
    event: `transaction.${outcome}`,
    returning,
  })
  return retryOnConflict(() => queryRows<Row>(statement))
}

/** Closes one charge. Returns null if it was no longer pending. */
export async function closeCharge(
  accountId: string,
  chargeId: string,
  outcome: 'expired' | 'failed',
): Promise<ChargeRow | null> {
  const [row] = await close<ChargeRow>([{ accountId, chargeId }], outcome, chargeAsJson)
  if (row) wake('deliveries')
  return row ?? null
}

export type PaidState = Extract<ChargeState, { state: 'paid' }>

/** absent: the bank has no such charge, so far. unconfirmed: it must be asked again, after `pauseMs`. */
type Removal = { state: 'gone' | 'absent' } | PaidState | UnconfirmedRemoval

/** `isAsked`: the bank may have received the request. */
type UnconfirmedRemoval = { state: 'unconfirmed'; pauseMs: number; isAsked: boolean }

/**
 * Removes an expired charge at the bank, where it could still be paid, or credits its payment. Asks
 * again, for a week, until the bank has confirmed one of them; after that, staff must ask.
 */
export async function removeExpired(gateway: Gateway, claim: Claim): Promise<void> {
  const removal = await removeAtBank(gateway, claim)
  if (removal.state === 'paid') {
    const [credited] = await receivePayments([{ ...claim, ...removal, chargeId: claim.id }])
    // After a payment of another amount, one of the right amount may follow.
    if (!credited) await postponeCharges([claim], nextRemovalAt({ pauseMs: 0, isAsked: true }))
    return
  }
  if (removal.state !== 'unconfirmed') return postponeCharges([claim], Prisma.sql`NULL`)
  const nextAt = nextRemovalAt(removal)
  // Before the charge is released: after a crash between the two, the worker asks once more.
  await noteIfLast(claim, nextAt)
  await postponeCharges([claim], nextAt)
}

/** Reports a charge to staff that the bank is not asked about again, though it may still be paid there. */
async function noteIfLast({ accountId, id, lease }: Claim, nextAt: Prisma.Sql): Promise<void> {
  await db().$executeRaw`
    WITH source AS (
      SELECT ${newRoutableId(OPERATOR_ACCOUNT_ID)}::uuid AS item_id, c.connection_id,
        'removal_unconfirmed' AS kind, c.txid AS key, json_build_object('account_id', c.account_id,
          'transaction_id', c.id, 'mode', c.mode, 'txid', c.txid, 'amount', c.amount) AS facts
      FROM charges c
      WHERE c.account_id = ${accountId}::uuid AND c.id = ${id}::uuid AND c.lease = ${lease}::uuid
        AND c.status = 'expired' AND ${nextAt} IS NULL
    ) ${insertItemsSql('source')}`
}

/** Makes a charge unpayable at the bank, unless it was paid. `callsMaxMs`: limit while a caller waits. */
export async function removeAtBank(
  gateway: Gateway,
  subject: Subject,
  callsMaxMs?: number,
): Promise<Removal> {
  const txid = removeHyphens(subject.id)
  const deadline = callsMaxMs && performance.now() + callsMaxMs
  const bank = () =>
    withJournal(gateway, [subject], deadline ? { timeoutMs: callTimeoutMs(deadline) } : {})
  const removal = await bank().cancelCharge(txid)
  if (removal.outcome === 'ok') return readRemoval(removal.value)
  if (removal.outcome !== 'rejected') return unconfirmed(removal)
  // The bank refuses to remove a charge that was paid, and one that it does not have.
  const answers = await bank().getCharges([txid])
  const isAnswered = answers.outcome === 'ok' && !answers.value.unanswered.includes(txid)
  return isAnswered ? readRemoval(answers.value.states.get(txid) ?? null) : unconfirmed(answers)
}

function readRemoval(chargeState: ChargeState | null): Removal {
  if (chargeState === null) return { state: 'absent' }
  const isUnread = chargeState.state === 'paid' && chargeState.payments.length === 0
  if (chargeState.state === 'open' || isUnread)
    return { state: 'unconfirmed', pauseMs: 0, isAsked: true }
  return chargeState.state === 'paid' ? chargeState : { state: 'gone' }
}

function unconfirmed(result: GatewayResult<unknown>): Removal {
  const isAsked = result.outcome !== 'blocked' && result.outcome !== 'retryable'
  return { state: 'unconfirmed', pauseMs: requestedPauseMs(result), isAsked }
}

/** Releases claimed charges and sets their next due time. Skips charges whose lease was lost. */
export async function postponeCharges(due: Claim[], dueAt: Prisma.Sql): Promise<void> {
  if (due.length === 0) return
  await retryOnConflict(
    () => db().$executeRaw`
      UPDATE charges c SET due_at = ${dueAt}, lease = NULL
      FROM ${claimedSql(due)}
      WHERE c.account_id = h.account_id AND c.id = h.id AND c.lease = h.lease`,
  )
}

export function claimedSql(due: Claim[]): Prisma.Sql {
  return Prisma.sql`
    unnest(${due.map(claim => claim.accountId)}::uuid[], ${due.map(claim => claim.id)}::uuid[],
      ${due.map(claim => claim.lease)}::uuid[]) AS h (account_id, id, lease)`
}

/** Pauses until charges are queried that the last query did not reach. */
const UNREACHED_PAUSE_MS = 1_000
const UNREACHED_PAUSE_MAX_MS = 60_000

/**
 * Releases claimed charges that a query did not reach. It counts as no attempt if it reached others;
 * else the pause doubles with each attempt. Not due before `retryAfterMs`.
 */
export async function postponeUnreached(
  due: Claim[],
  hasReachedSome: boolean,
  retryAfterMs = 0,
): Promise<void> {
  if (due.length === 0) return
  const askedMs = requestedPauseMs({ outcome: 'retryable', reason: '', retryAfterMs })
  const attempts = hasReachedSome ? Prisma.sql`c.attempts - 1` : Prisma.sql`c.attempts`
  const doublings = hasReachedSome ? Prisma.sql`0` : Prisma.sql`LEAST(c.attempts - 1, 16)`
  const pauseMs = Prisma.sql`GREATEST(${askedMs}::float8,
    LEAST(${UNREACHED_PAUSE_MAX_MS}::float8, ${UNREACHED_PAUSE_MS}::float8 * 2 ^ ${doublings}))`
  await retryOnConflict(
    () => db().$executeRaw`
      UPDATE charges c SET due_at = now() + make_interval(secs => ${pauseMs} / 1000), lease = NULL,
        attempts = ${attempts}
      FROM ${claimedSql(due)}
      WHERE c.account_id = h.account_id AND c.id = h.id AND c.lease = h.lease`,
  )
}

/** Null without ages. Ages count from the creation; queries repeat at multiples of the last. */
export function nextQueryAt(queryAgesMs: readonly number[] = []): Prisma.Sql {
  const last = Prisma.sql`${queryAgesMs.at(-1) ?? null}::float8`
  const age = Prisma.sql`extract(epoch FROM now() - c.created_at) * 1000`
  return Prisma.sql`(
    SELECT c.created_at + make_interval(secs => min(after_ms) / 1000)
    FROM unnest(${[...queryAgesMs]}::float8[] || ${last} * (floor(${age} / ${last}) + 1)) after_ms
    WHERE after_ms > ${age})`
}

/** Pause before calling a bank again that could not report the state of a charge. */
export const RETRY_PAUSE_MS = 15_000

/**
 * Null after the last attempt, unless it did not reach the bank: then a day later. Not before
 * `pauseMs`, which the bank may ask for.
 */
export function nextRemovalAt(attempt: { pauseMs: number; isAsked: boolean }): Prisma.Sql {
  const { pauseMs, isAsked } = attempt
  const afterLast = isAsked ? Prisma.sql`NULL` : nowPlusMs(Math.max(DAY_MS, pauseMs))
  return Prisma.sql`COALESCE(${nextAskAt(Prisma.sql`c.updated_at`, pauseMs)}, ${afterLast})`
}
