import { isFromBeforeRestore } from '#lib/banks/closures.ts'
import type { Gateway, GatewayResult, OrderState } from '#lib/banks/gateway.ts'
import { type GatewayCalls, mayArrive, wasTaken, withJournal } from '#lib/banks/journal.ts'
import { requestedPauseMs } from '#lib/banks/pauses.ts'
import { callMeasured, NOT_CALLED, redactText } from '#lib/banks/record-call.ts'
import { removeHyphens } from '#lib/core/ids.ts'
import { log } from '#lib/core/log.ts'
import { cents } from '#lib/core/money.ts'
import { normalizeTaxId } from '#lib/core/pix/tax-id.ts'
import type { Order, OrderRules } from '#lib/orders/order.ts'
import { type ClaimedOrder, renewSlot } from '#lib/orders/queue.ts'

/** While people decide how an order ends, the bank is asked about it, but it is not sent again. */
const PROPOSED_PAUSE_MS = 10 * 60_000
/**
 * An order that the bank does not have is sent again after a sixth of the time since it was sent first, at most
 * after this long: the bank may refuse it in words that the adapter does not know, each time.
 */
const RESEND_PAUSE_MAX_MS = 60 * 60_000

/**
 * The order's state at the bank, or the time for which the bank must not be called. `unsent`: the call that should
 * have sent the order had no effect, or was not made. `kept`: the order must not be sent now.
 */
export type Placement =
  | OrderState
  | { state: 'unknown' | 'kept'; pauseMs: number }
  | { state: 'unsent'; pauseMs: number; isRateLimit: boolean }

/**
 * Returns the order's state at the bank. After a call that may have arrived, and after a restore, which may have lost
 * such a call, queries first and sends, under the same id, only if the bank does not have the order and has never
 * taken it: not every bank would recognize the id of an order that it has lost. An order whose earlier call may
 * still arrive is not sent.
 */
export async function placeOrder(
  order: ClaimedOrder,
  gateway: Gateway,
  rules: OrderRules,
): Promise<Placement> {
  const hidden = gateway.local ? {} : await rules.hide(order)
  const placement = await queryOrSend(order, { gateway, rules, hidden })
  if (placement.state !== 'refused' || placement.bankText === null) return placement
  return { ...placement, bankText: redactText(placement.bankText, hidden) }
}

const NOT_SENT = { state: 'unsent', pauseMs: 0, isRateLimit: false } as const satisfies Placement

async function queryOrSend(
  order: ClaimedOrder,
  {
    gateway,
    rules,
    hidden,
  }: { gateway: Gateway; rules: OrderRules; hidden: Record<string, string> },
): Promise<Placement> {
  const isQueried = order.wasSent || (!gateway.local && (await isFromBeforeRestore(order)))
  if (isQueried) {
    // A rejected query is no answer about the order: its money may have moved.
    const queried = await queryOrder(order, gateway, hidden)
    if (queried.outcome !== 'ok') return toUnknown(queried)
    if (queried.value) return queried.value
    if (order.bankId !== null || (await wasTaken(order))) {
      log().error(logged(order), `bank does not know a ${order.kind} that it has taken`)
      return toUnknown(null)
    }
    if (!order.isFresh) {
      if (gateway.local) return NOT_SENT
      if (!order.isSlotOver) return toUnknown(null)
      const pauseMs = Math.min(RESEND_PAUSE_MAX_MS, order.sentAgoMs / 6)
      return { ...NOT_SENT, pauseMs }
    }
  } else if (!order.isFresh) return NOT_SENT
  const pauseMs = order.isEndProposed ? PROPOSED_PAUSE_MS : await rules.pauseMs?.(order)
  if (pauseMs) return { state: 'kept', pauseMs }
  const result = await sendOrder(order, gateway, rules, hidden)
  if (result.outcome === 'ok') return result.value
  if (result.outcome === 'retryable' || result.outcome === 'blocked') return toUnsent(result)
  if (result.outcome !== 'rejected') return toUnknown(result)
  const { outcome: _, field: _field, ...refusal } = result
  const refused = { state: 'refused', ...refusal } as const
  if (!isQueried) return refused
  // The bank may reject this attempt because an earlier one has arrived meanwhile, or will.
  const queried = await queryOrder(order, gateway, hidden)
  if (queried.outcome !== 'ok') return toUnknown(queried)
  if (queried.value) return queried.value
  return (await mayHaveArrived(order)) ? toUnknown(null) : refused
}

/** Whether a call that should send the order had no response and may still reach the bank. */
export function mayHaveArrived(order: Order): Promise<boolean> {
  return mayArrive(order, order.operation === 'payout' ? 'sendPayout' : 'refundCharge')
}

/** Asks the bank about an order. */
export function queryOrder(
  order: Order,
  gateway: Gateway,
  hidden: Record<string, string>,
): Promise<GatewayResult<OrderState | null>> {
  const bank = withJournal(gateway, [order], { hidden })
  return order.operation === 'payout'
    ? bank.getPayout({ ...payoutOf(order), endToEndId: order.bankId })
    : bank.getRefund(refundOf(order))
}

/** Age from which the balance at a bank is read again. */
const BALANCE_AGE_MS = 1_000
const BALANCE_MAX_MS = 3_000
type Balance = GatewayResult<{ available: number }>
const balances = new WeakMap<Gateway, { readAt: number; balance: Promise<Balance> }>()

/** Reads the balance at the bank, at most once a second for all payouts of this process. Null: the bank reports none. */
function readBalance(connectionId: string, gateway: Gateway): Promise<Balance> | null {
  const { getBalance } = gateway
  if (!getBalance) return null
  const known = balances.get(gateway)
  const readAt = performance.now()
  if (known && readAt - known.readAt < BALANCE_AGE_MS) return known.balance
  const make = (signal: AbortSignal) => getBalance.call(gateway, signal)
  const call = { operation: 'getBalance', make }
  const balance = callMeasured([{ connectionId }], call, BALANCE_MAX_MS)
  balances.set(gateway, { readAt, balance })
  return balance
}

/** Returns why the order must not be sent now, just before it would be; null: it may, and counts as sent. */
async function findObstacle(
  order: ClaimedOrder,
  gateway: Gateway,
): Promise<GatewayResult<never> | null> {
  const balance =
    order.operation === 'payout' ? await readBalance(order.connectionId, gateway) : null
  if (balance && balance.outcome !== 'ok') return withoutEffect(balance)
  const available = balance?.value.available ?? null
  const obstacle = await renewSlot(order, available)
  if (obstacle !== 'short') return obstacle && NOT_CALLED
  return available !== null && available >= order.amount
    ? { outcome: 'retryable', reason: 'other payouts may leave too little', isAnswered: true }
    : { outcome: 'blocked', code: 'balance', reason: 'the balance does not cover a payout' }
}

/** Whatever came of the question about the balance, the payout was not sent. */
function withoutEffect(result: Exclude<Balance, { outcome: 'ok' }>): GatewayResult<never> {
  if (result.outcome === 'unknown') return { outcome: 'retryable', reason: result.reason }
  if (result.outcome !== 'rejected') return result
  return { outcome: 'blocked', code: 'other', reason: result.bankText ?? 'no balance' }
}

async function sendOrder(
  order: ClaimedOrder,
  gateway: Gateway,
  { findPayerEmail }: OrderRules,
  hidden: Record<string, string>,
): ReturnType<GatewayCalls['sendPayout']> {
  const bank = withJournal(gateway, [order], {
    findObstacle: () => findObstacle(order, gateway),
    hidden,
  })
  if (order.operation === 'payout') {
    const ownerDoc = order.ownerDoc === null ? null : normalizeTaxId(order.ownerDoc)
    return bank.sendPayout({ ...payoutOf(order), ownerDoc })
  }
  const payerEmail = gateway.local && (await findPayerEmail?.(order))
  return bank.refundCharge({ ...refundOf(order), ...(payerEmail && { payerEmail }) })
}

const payoutOf = ({ id, amount, target }: Order) => ({
  ...{ id: removeHyphens(id), amount: cents(amount), dictKey: target },
})
const refundOf = ({ id, amount, target }: Order) => ({
  ...{ id: removeHyphens(id), amount: cents(amount), endToEndId: target },
})

/** Names the order by its kind, as in `withdrawalId`. */
export const logged = ({ kind, id }: Order) => ({ [`${kind}Id`]: id })

function toUnknown(result: GatewayResult<unknown> | null): Placement {
  return { state: 'unknown', pauseMs: result ? requestedPauseMs(result) : 0 }
}

function toUnsent(result: GatewayResult<unknown>): Placement {
  const isRateLimit = result.outcome === 'retryable' && (result.isRateLimit ?? false)
  return { state: 'unsent', pauseMs: requestedPauseMs(result), isRateLimit }
}
