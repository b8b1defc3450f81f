import { type Claim, claimInTurn, holdLease, renewLease } from '#lib/base/db/claim.ts'
import { log } from '#lib/base/log.ts'
import { breaker } from '#lib/services/gateway/breaker.ts'
import { listServed } from '#lib/services/gateway/choose.ts'
import type { Gateway, GatewayResult, OrderState } from '#lib/services/gateway/gateway.ts'
import {
  type GatewayCalls,
  mayArrive,
  wasTaken,
  withJournal,
} from '#lib/services/gateway/journal.ts'
import { redactText } from '#lib/services/gateway/record-call.ts'

/** Maximum concurrent orders of a connection in this process. */
const CONCURRENCY_MAX = 8
/** Orders that end within this time free their places together: a claim costs as much as a send. */
const CAPACITY_DELAY_MS = 5
const FIRST_ACCOUNT = '00000000-0000-0000-0000-000000000000'

const FIRST_PAUSE_MS = 1_000
const PAUSE_MAX_MS = 5 * 60_000

/** Returns the pause before an unfinished order is retried: 1 s, 2 s, 4 s …, at most 5 min. */
export function orderRetryPauseMs({ attempts }: Claim, placement: Placement): number {
  const askedMs = placement.state === 'unknown' ? placement.pauseMs : 0
  return Math.max(askedMs, doublingPauseMs(attempts, FIRST_PAUSE_MS, PAUSE_MAX_MS))
}

export function doublingPauseMs(attempts: number, firstMs: number, maxMs: number): number {
  return Math.min(maxMs, firstMs * 2 ** Math.max(0, attempts - 1))
}

/** Pause while a bank blocks calls: the operator must act first. */
const BLOCKED_PAUSE_MS = 5 * 60_000
/** A bank that wants a longer pause is asked sooner: its operator may have ended the problem. */
const RETRY_AFTER_MAX_MS = 60 * 60_000

/** Returns the time for which a bank must not be called again after this result. */
export function requestedPauseMs(result: GatewayResult<unknown>): number {
  if (result.outcome !== 'retryable' && result.outcome !== 'blocked') return 0
  const leastMs = result.outcome === 'blocked' ? BLOCKED_PAUSE_MS : 0
  return Math.min(RETRY_AFTER_MAX_MS, Math.max(leastMs, result.retryAfterMs ?? 0))
}

type OrderKind = 'withdrawal' | 'refund'
const SEND_OPERATIONS = { withdrawal: 'sendPayout', refund: 'refundCharge' } as const

export interface OrderSender {
  /** Claims due orders and starts to send them, without awaiting the bank. Returns how many. */
  run: () => Promise<number>
  idle: () => Promise<void>
}

/** The orders of a connection that this process is sending. */
interface Lane {
  inProgress: Set<Promise<void>>
  /** The account that was served last; accounts take turns in the order of their ids. */
  lastServed: string
}

/**
 * Creates a sender of due orders. Each connection has its own places, so a bank that hangs delays
 * only its own orders. Accounts are served in turn. `onCapacity` is called when orders have freed
 * places.
 */
export function createOrderSender(
  kind: OrderKind,
  send: (claim: Claim, gateway: Gateway) => Promise<unknown>,
  onCapacity: () => void = () => {},
): OrderSender {
  const lanes = new Map<string, Lane>()
  let isSignalDue = false

  async function run(): Promise<number> {
    const counts = (await listServed()).map(({ id, gateway }) => {
      const lane = lanes.get(id) ?? { inProgress: new Set(), lastServed: FIRST_ACCOUNT }
      lanes.set(id, lane)
      return runLane(lane, id, gateway)
    })
    return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0)
  }

  async function runLane(lane: Lane, connectionId: string, gateway: Gateway): Promise<number> {
    const free = CONCURRENCY_MAX - lane.inProgress.size
    const places = gateway.local ? free : await breaker.limit(connectionId, free)
    if (places === 0) return 0
    const after = lane.lastServed
    const due = await claimInTurn(`${kind}s`, connectionId, places, after)
    const [first] = due
    lane.lastServed =
      due
        .map(({ accountId }) => accountId)
        .sort()
        .at(-1) ?? FIRST_ACCOUNT
    // After the last account, the first one has its turn.
    if (!first) return after === FIRST_ACCOUNT ? 0 : runLane(lane, connectionId, gateway)
    const stopRenewal = renewLease(`${kind}s`, first.lease)
    Promise.all(due.map(claim => start(lane, claim, gateway))).finally(stopRenewal)
    return due.length
  }

  function start({ inProgress }: Lane, claim: Claim, gateway: Gateway): Promise<void> {
    const order = send(claim, gateway)
      // A failure must not stop other orders. The order becomes due again when its lease expires.
      .catch(error =>
        log().error({ err: error, [`${kind}Id`]: claim.id }, `sending a ${kind} failed`),
      )
      .then(() => {
        inProgress.delete(order)
        if (!isSignalDue) setTimeout(signalCapacity, CAPACITY_DELAY_MS)
        isSignalDue = true
      })
    inProgress.add(order)
    return order
  }

  function signalCapacity(): void {
    isSignalDue = false
    onCapacity()
  }

  async function idle(): Promise<void> {
    const orders = () => [...lanes.values()].flatMap(({ inProgress }) => [...inProgress])
    while (orders().length > 0) await Promise.all(orders())
  }

  return { run, idle }
}

interface OrderCalls {
  query: (bank: GatewayCalls) => Promise<GatewayResult<OrderState | null>>
  /** Null: the order must not be sent now. */
  send: (bank: GatewayCalls) => Promise<GatewayResult<OrderState> | null>
  /** Whether an end-to-end id of the order is stored. */
  hasPayment?: () => Promise<boolean>
  /** Returns replacements for private texts that the bank may repeat. */
  findHidden: () => Promise<Record<string, string>>
}

/** The order's state at the bank, or the time for which the bank must not be called. */
export type Placement = OrderState | { state: 'unknown'; pauseMs: number }

/**
 * Returns the order's state at the bank. From the second attempt on, queries first and sends, under
 * the same id, only if the bank does not have the order and has never taken it: not every bank would
 * recognize the id of an order that it has lost. Before it is sent, its lease is renewed.
 */
export async function placeOrder(
  kind: OrderKind,
  claim: Claim,
  gateway: Gateway,
  calls: OrderCalls,
): Promise<Placement> {
  const hidden = gateway.local ? {} : await calls.findHidden()
  const placement = await queryOrSend(kind, claim, { gateway, calls, hidden })
  if (placement.state !== 'refused' || placement.bankText === null) return placement
  return { ...placement, bankText: redactText(placement.bankText, hidden) }
}

async function queryOrSend(
  kind: OrderKind,
  claim: Claim,
  {
    gateway,
    calls,
    hidden,
  }: { gateway: Gateway; calls: OrderCalls; hidden: Record<string, string> },
): Promise<Placement> {
  const query = () => calls.query(withJournal(gateway, [claim], { hidden }))
  const mayCall = () => holdLease(`${kind}s`, claim)
  const mayHaveArrived = claim.attempts > 1
  if (mayHaveArrived) {
    // A rejected query is no answer about the order: its money may have moved.
    const queryResult = await query()
    if (queryResult.outcome !== 'ok') return toUnknown(queryResult)
    if (queryResult.value) return queryResult.value
    if ((await calls.hasPayment?.()) || (await wasTaken(claim))) {
      log().error({ [`${kind}Id`]: claim.id }, `bank does not know a ${kind} that it has taken`)
      return toUnknown(null)
    }
  }
  const result = await calls.send(withJournal(gateway, [claim], { mayCall, hidden }))
  if (result?.outcome === 'ok') return result.value
  if (result?.outcome !== 'rejected') return toUnknown(result)
  const { outcome: _, field: _field, ...refusal } = result
  const refused = { state: 'refused', ...refusal } as const
  if (!mayHaveArrived) return refused
  // The bank may reject this attempt because an earlier one has arrived meanwhile, or will.
  const queryResult = await query()
  if (queryResult.outcome !== 'ok') return toUnknown(queryResult)
  if (queryResult.value) return queryResult.value
  return (await mayArrive(claim, SEND_OPERATIONS[kind])) ? toUnknown(null) : refused
}

function toUnknown(result: GatewayResult<unknown> | null): Placement {
  return { state: 'unknown', pauseMs: result ? requestedPauseMs(result) : 0 }
}
