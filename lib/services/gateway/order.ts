import { type Claim, holdLease } from '#lib/base/db/claim.ts'
import { log } from '#lib/base/log.ts'
import { isFromBeforeRestore } from '#lib/services/gateway/closures.ts'
import type { Gateway, GatewayResult, OrderState } from '#lib/services/gateway/gateway.ts'
import {
  type GatewayCalls,
  mayArrive,
  wasTaken,
  withJournal,
} from '#lib/services/gateway/journal.ts'
import type { OrderKind } from '#lib/services/gateway/order-sender.ts'
import { redactText } from '#lib/services/gateway/record-call.ts'

const FIRST_PAUSE_MS = 1_000
const PAUSE_MAX_MS = 5 * 60_000

/** Returns the pause before an unfinished order is retried: 1 s, 2 s, 4 s …, at most 5 min. */
export function orderRetryPauseMs({ attempts }: Claim, placement: Placement): number {
  const askedMs = 'pauseMs' in placement ? placement.pauseMs : 0
  return Math.max(askedMs, doublingPauseMs(attempts, FIRST_PAUSE_MS, PAUSE_MAX_MS))
}

export function doublingPauseMs(attempts: number, firstMs: number, maxMs: number): number {
  return Math.min(maxMs, firstMs * 2 ** Math.max(0, attempts - 1))
}

/** Pause while a bank blocks calls: the operator must act first. */
export const BLOCKED_PAUSE_MS = 5 * 60_000
/** A bank that wants a longer pause is asked sooner: its operator may have ended the problem. */
const RETRY_AFTER_MAX_MS = 60 * 60_000

/** Returns the time for which a bank must not be called again after this result. */
export function requestedPauseMs(result: GatewayResult<unknown>): number {
  if (result.outcome !== 'retryable' && result.outcome !== 'blocked') return 0
  const leastMs = result.outcome === 'blocked' ? BLOCKED_PAUSE_MS : 0
  return Math.min(RETRY_AFTER_MAX_MS, Math.max(leastMs, result.retryAfterMs ?? 0))
}

/** Pause after a list that was not read. One that a bank refuses needs the operator, as one that it blocks does. */
export function listPauseMs(result: GatewayResult<unknown>, leastMs: number): number {
  if (result.outcome === 'rejected') return BLOCKED_PAUSE_MS
  return Math.max(leastMs, requestedPauseMs(result))
}

const SEND_OPERATIONS = {
  withdrawal: 'sendPayout',
  refund: 'refundCharge',
  receipt_return: 'refundCharge',
} as const

interface OrderCalls {
  query: (bank: GatewayCalls) => Promise<GatewayResult<OrderState | null>>
  /** Null: the order must not be sent now. */
  send: (bank: GatewayCalls) => Promise<GatewayResult<OrderState> | null>
  /** Asked just before the order is sent. Default: renews its lease. */
  mayCall?: () => Promise<boolean>
  /** Whether an end-to-end id of the order is stored. */
  hasPayment?: () => Promise<boolean>
  /** Returns replacements for private texts that the bank may repeat. */
  findHidden: () => Promise<Record<string, string>>
}

/**
 * The order's state at the bank, or the time for which the bank must not be called. `unsent`: the
 * call that should have sent the order had no effect, or was not made.
 */
export type Placement =
  | OrderState
  | { state: 'unknown'; pauseMs: number }
  | { state: 'unsent'; pauseMs: number; isRateLimit: boolean }

/**
 * Returns the order's state at the bank. From the second attempt on, and after a restore, which may have lost
 * attempts, queries first and sends, under the same id, only if the bank does not have the order and has never
 * taken it: not every bank would recognize the id of an order that it has lost. Before it is sent, its lease is
 * renewed.
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
  const mayCall = calls.mayCall ?? (() => holdLease(`${kind}s`, claim))
  const isRepeated = claim.attempts > 1
  const mayHaveArrived = isRepeated || (!gateway.local && (await isFromBeforeRestore(claim)))
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
  if (result?.outcome === 'retryable' || result?.outcome === 'blocked') return toUnsent(result)
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

function toUnsent(result: GatewayResult<unknown>): Placement {
  const isRateLimit = result.outcome === 'retryable' && (result.isRateLimit ?? false)
  return { state: 'unsent', pauseMs: requestedPauseMs(result), isRateLimit }
}
