import { breaker } from '#lib/banks/breaker.ts'
import { TIMED_OUT } from '#lib/banks/call.ts'
import { withConnectionJournal } from '#lib/banks/connection-calls.ts'
import type { ChargeState, GatewayResult, ReceivedPayment } from '#lib/banks/gateway.ts'
import { withJournal } from '#lib/banks/journal.ts'
import { readPages } from '#lib/banks/list-reader.ts'
import type { Listing } from '#lib/banks/lists.ts'
import { listPauseMs, requestedPauseMs } from '#lib/banks/pauses.ts'
import { RESTS_REASON, redactText } from '#lib/banks/record-call.ts'
import { findReachable, type ServedConnection } from '#lib/banks/served.ts'
import { keepUnmatched } from '#lib/charges/keep-unmatched.ts'
import { removeHyphens } from '#lib/core/ids.ts'
import { log } from '#lib/core/log.ts'
import { type Claim, withLease } from '#lib/db/claim.ts'
import { wake } from '#lib/db/wake.ts'
import {
  endTrial,
  failTrial,
  noteListed,
  orderTrialPayout,
  postponeTrial,
  storeTrialCode,
} from '#lib/trials/orders.ts'
import type { TrialProblem } from '#lib/trials/problems.ts'
import { type ClaimedTrial, findClaimedTrial, findOpenOrders } from '#lib/trials/queries.ts'
import { receiveTrialPayments } from '#lib/trials/receive.ts'

const CONCURRENCY_MAX = 8
const MINUTE_MS = 60_000
/** Time after which a step is given up that the bank does not take. */
const GIVE_UP_MS = 60 * MINUTE_MS
/** Time to pay the code. */
const PAYABLE_S = 3_600
/** Time for the notice and the list: banks send a notice again after five minutes. */
const SIGHT_MAX_MS = 10 * MINUTE_MS
/** Pages of a list that are read for one payment at once. */
const PAGES_MAX = 20
const UNSERVED: TrialProblem = { code: 'unserved', params: {} }

/** What waits: for how long, and why its calls did not succeed. Null: nothing. */
type Wait = { pauseMs: number; problems?: TrialProblem[] } | null

/** Pause before a question is repeated: a person waits at first. */
function pauseAt(ageMs: number): number {
  return Math.min(5 * MINUTE_MS, Math.max(2_000, ageMs / 30))
}

function describeFailure(result: GatewayResult<unknown> | null): TrialProblem[] {
  if (result === null || result.outcome === 'ok') return []
  const reason = result.outcome === 'rejected' ? (result.bankText ?? result.code) : result.reason
  if (reason === RESTS_REASON) return [{ code: 'resting', params: {} }]
  if (result.outcome === 'blocked' && result.code === 'balance')
    return [{ code: 'no_balance', params: {} }]
  if (reason === TIMED_OUT.reason) return [{ code: 'timed_out', params: {} }]
  return [{ code: PROBLEM_CODES[result.outcome], params: { text: redactText(reason, {}) } }]
}

const PROBLEM_CODES = {
  rejected: 'bank_says',
  blocked: 'bank_says',
  retryable: 'no_answer',
  unknown: 'no_answer',
} as const

/**
 * Makes the next call of each due trial of a connection, for homologation and production. After a crash at
 * any point, another worker goes on: what may have reached the bank is asked about by the same id.
 * Returns how many were due.
 */
export function advanceTrials(): Promise<number> {
  return withLease('connection_trials', CONCURRENCY_MAX, due =>
    Promise.all(
      due.map(claim =>
        advance(claim).catch(err => log().error({ err, trialId: claim.id }, 'a trial failed')),
      ),
    ),
  )
}

async function advance(claim: Claim): Promise<void> {
  const found = await findClaimedTrial(claim)
  if (!found) return
  const served = await findReachable(claim.connectionId)
  const wait = served
    ? await takeStep(claim, found, served)
    : { pauseMs: MINUTE_MS, problems: [UNSERVED] }
  if (wait) await postponeTrial(claim, wait.pauseMs, wait.problems)
}

function takeStep(claim: Claim, found: ClaimedTrial, served: ServedConnection): Promise<Wait> {
  if (found.status === 'opening') return openCode(claim, found, served)
  if (found.status === 'open') return lookForPayment(claim, found, served)
  return finish(claim, found, served)
}

async function openCode(
  claim: Claim,
  { amount, ageMs }: ClaimedTrial,
  { name, gateway }: ServedConnection,
): Promise<Wait> {
  const nobody = { payerName: '', payerEmail: '', payerDoc: '' }
  const result = await withJournal(gateway, [claim]).createCharge({
    ...{ txid: removeHyphens(claim.id), amount, expiresInSeconds: PAYABLE_S },
    ...{ merchantName: name, merchantCity: '', ...nobody },
  })
  if (result.outcome === 'ok') {
    const { brCode, payableForMs = PAYABLE_S * 1_000 } = result.value
    await storeTrialCode(claim, brCode, payableForMs)
    return { pauseMs: 0 }
  }
  const problems = describeFailure(result)
  // Nobody knows a code that was not shown. If the bank has it nevertheless, it expires there.
  const isFinal = result.outcome === 'rejected' || result.outcome === 'blocked'
  if (isFinal)
    await failTrial(claim, result.outcome === 'blocked' ? 'blocked' : 'refused', problems)
  else if (ageMs > GIVE_UP_MS) await failTrial(claim, 'no_code', problems)
  else return { pauseMs: Math.max(pauseAt(ageMs), requestedPauseMs(result)), problems }
  return null
}

async function lookForPayment(
  claim: Claim,
  { ageMs, overdueMs }: ClaimedTrial,
  { gateway }: ServedConnection,
): Promise<Wait> {
  const txid = removeHyphens(claim.id)
  const bank = withJournal(gateway, [claim])
  const isOver = overdueMs > 0
  const result = isOver
    ? await bank.cancelCharge(txid)
    : stateIn(await bank.getCharges([txid]), txid)
  if (result.outcome !== 'ok') {
    const problems = describeFailure(result)
    if (overdueMs < GIVE_UP_MS)
      return { pauseMs: Math.max(pauseAt(ageMs), requestedPauseMs(result)), problems }
    await failTrial(claim, 'not_paid', problems)
    return null
  }
  const state = result.value
  if (state?.state === 'paid' && state.payments.length > 0) return receive(claim, state.payments)
  const isRemoved = isOver && state?.state !== 'open'
  if (!isRemoved && overdueMs < GIVE_UP_MS) return { pauseMs: pauseAt(ageMs) }
  await failTrial(claim, 'not_paid')
  return null
}

/** The first payment is that of the trial; what else was paid to its code waits among the differences. */
async function receive(claim: Claim, payments: ReceivedPayment[]): Promise<Wait> {
  const { connectionId, mode } = claim
  const sorted = payments.toSorted((one, other) => one.paidAt.getTime() - other.paidAt.getTime())
  const { booked } = await receiveTrialPayments([connectionId], sorted)
  const rest = sorted.filter(({ endToEndId }) => !booked.has(endToEndId))
  if (rest.length > 0) await keepUnmatched(rest.map(payment => ({ payment, connectionId, mode })))
  const found = await findClaimedTrial(claim)
  if (found?.status === 'open') {
    await failTrial(claim, 'other_amount')
    return null
  }
  return { pauseMs: 0 }
}

/** Steps after the payment. The trial ends when nothing is left to wait for. Its orders are sent like any other. */
async function finish(claim: Claim, found: ClaimedTrial, served: ServedConnection): Promise<Wait> {
  const { isNoticed, paidMs } = found
  if (mustPayOut(found)) {
    await orderTrialPayout(claim)
    wake('orders')
  }
  const list = found.isListed ? null : await lookInList(claim, found, served)
  const sight = isNoticed ? list : (list ?? { pauseMs: pauseAt(paidMs) })
  const waits = [paidMs > SIGHT_MAX_MS ? null : sight, await waitForOrders(claim, found)]
  const left = waits.filter(wait => wait !== null)
  if (left.length > 0) {
    const pauseMs = Math.min(...left.map(wait => wait.pauseMs))
    return { pauseMs, problems: left.flatMap(({ problems }) => problems ?? []) }
  }
  await endTrial(claim)
  return null
}

function mustPayOut({ pixKey, payoutStatus, isPaidBefore }: ClaimedTrial): boolean {
  return pixKey !== null && payoutStatus === null && !isPaidBefore
}

async function waitForOrders({ connectionId }: Claim, found: ClaimedTrial): Promise<Wait> {
  const { refundId, payoutId, refundStatus, payoutStatus, paidMs } = found
  const isOpen = mustPayOut(found) || refundStatus === 'pending' || payoutStatus === 'pending'
  if (!isOpen) return null
  const isResting = (await breaker.restMs(connectionId)) > 0
  const problems = (await findOpenOrders([refundId, payoutId])).flatMap(
    ({ isOverdue, lastCall }) => {
      if (isOverdue) return [{ code: isResting ? 'resting' : 'no_slot', params: {} } as const]
      return describeFailure(lastCall)
    },
  )
  return { pauseMs: pauseAt(paidMs), problems }
}

/** Looks for the payment in the bank's list, as the books would find it without a notice. */
async function lookInList(
  claim: Claim,
  { endToEndId, paidAt, paidMs }: ClaimedTrial,
  served: ServedConnection,
): Promise<Wait> {
  const { listPayments } = withConnectionJournal(served)
  if (!listPayments || !paidAt) return { pauseMs: pauseAt(paidMs) }
  const since = new Date(paidAt.getTime() - MINUTE_MS)
  let isListed = false
  const look = (page: Listing<ReceivedPayment>) => {
    isListed ||= page.items.some(item => item.endToEndId === endToEndId)
    return !isListed
  }
  const read = await readPages(listPayments, { since, cursor: null }, look, PAGES_MAX)
  if (read.end === 'failed') {
    const pauseMs = listPauseMs(read.failure, pauseAt(paidMs))
    return { pauseMs, problems: describeFailure(read.failure) }
  }
  if (!isListed) return { pauseMs: pauseAt(paidMs) }
  await noteListed(claim)
  return null
}

type States = GatewayResult<{ states: Map<string, ChargeState> }>

function stateIn(result: States, txid: string): GatewayResult<ChargeState | null> {
  if (result.outcome !== 'ok') return result
  return { outcome: 'ok', value: result.value.states.get(txid) ?? null }
}
