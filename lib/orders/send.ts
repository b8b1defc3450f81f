import { recordAudit } from '#lib/audit/record.ts'
import { breaker, doublingPauseMs, nextAskAt, requestedPauseMs } from '#lib/banks/breaker.ts'
import { isFromBeforeRestore, isMoneyOutClosed } from '#lib/banks/closures.ts'
import type { Gateway, GatewayResult, OrderState } from '#lib/banks/gateway.ts'
import {
  callMeasured,
  type GatewayCalls,
  NOT_CALLED,
  redactText,
  wasTaken,
  withJournal,
} from '#lib/banks/record-call.ts'
import { ENVIRONMENTS } from '#lib/banks/schema.ts'
import { gatewayOfConnection, listServed, type ServedConnection } from '#lib/banks/served.ts'
import { Pool } from '#lib/core/concurrency.ts'
import { removeHyphens } from '#lib/core/ids.ts'
import { log } from '#lib/core/log.ts'
import { cents } from '#lib/core/money.ts'
import { normalizeTaxId } from '#lib/core/pix/tax-id.ts'
import { renewLease } from '#lib/db/claim.ts'
import { db, Prisma, type Tx, transaction } from '#lib/db/client.ts'
import { isInBucket } from '#lib/db/sql.ts'
import { noteItem } from '#lib/differences/differences.ts'
import {
  askLater,
  type ClaimedOrder,
  claimDue,
  claimSlots,
  type EndState,
  isOrderId,
  mayHaveArrived,
  newQueue,
  type Order,
  type OrderKind,
  type OrderQueue,
  type OrderRules,
  orderColumns,
  pauseQueue,
  type RulesByKind,
  releaseSlot,
  renewSlot,
  rulesOf,
} from '#lib/orders/order.ts'

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
type Placement =
  | OrderState
  | { state: 'unknown' | 'kept'; pauseMs: number }
  | { state: 'unsent'; pauseMs: number; isRateLimit: boolean }

/**
 * Returns the order's state at the bank. After a call that may have arrived, and after a restore, which may have lost
 * such a call, queries first and sends, under the same id, only if the bank does not have the order and has never
 * taken it: not every bank would recognize the id of an order that it has lost. An order whose earlier call may
 * still arrive is not sent.
 */
async function placeOrder(
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

interface Sending {
  gateway: Gateway
  rules: OrderRules
  hidden: Record<string, string>
}

async function queryOrSend(
  order: ClaimedOrder,
  { gateway, rules, hidden }: Sending,
): Promise<Placement> {
  const isQueried = order.wasSent || (!gateway.local && (await isFromBeforeRestore(order)))
  const known = isQueried ? await queryFirst(order, gateway, hidden) : null
  if (known) return known
  if (!isQueried && !order.isFresh) return NOT_SENT
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

/** Queries an order whose earlier call may have arrived. Null: the bank has never had it, and it may be sent. */
async function queryFirst(
  order: ClaimedOrder,
  gateway: Gateway,
  hidden: Record<string, string>,
): Promise<Placement | null> {
  // A rejected query is no answer about the order: its money may have moved.
  const queried = await queryOrder(order, gateway, hidden)
  if (queried.outcome !== 'ok') return toUnknown(queried)
  if (queried.value) return queried.value
  if (order.bankId !== null || (await wasTaken(order))) {
    log().error(logged(order), `bank does not know a ${order.kind} that it has taken`)
    return toUnknown(null)
  }
  if (order.isFresh) return null
  if (gateway.local) return NOT_SENT
  if (!order.isSlotOver) return toUnknown(null)
  return { ...NOT_SENT, pauseMs: Math.min(RESEND_PAUSE_MAX_MS, order.sentAgoMs / 6) }
}

/** Asks the bank about an order. */
function queryOrder(
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
  id: removeHyphens(id),
  amount: cents(amount),
  dictKey: target,
})
const refundOf = ({ id, amount, target }: Order) => ({
  id: removeHyphens(id),
  amount: cents(amount),
  endToEndId: target,
})

/** Names the order by its kind, as in `withdrawalId`. */
const logged = ({ kind, id }: Order) => ({ [`${kind}Id`]: id })

function toUnknown(result: GatewayResult<unknown> | null): Placement {
  return { state: 'unknown', pauseMs: result ? requestedPauseMs(result) : 0 }
}

function toUnsent(result: GatewayResult<unknown>): Placement {
  const isRateLimit = result.outcome === 'retryable' && (result.isRateLimit ?? false)
  return { state: 'unsent', pauseMs: requestedPauseMs(result), isRateLimit }
}

/** Maximum concurrent orders of one operation of a connection in this process. */
const CONCURRENCY_MAX = 8
/** Share of it that questions get before orders are sent: neither starves the other. */
const QUESTIONS_SHARE = 1 / 4
/** Pauses after calls without effect: 1 s, 2 s, 4 s …, at most 5 min. */
const FIRST_PAUSE_MS = 1_000
const PAUSE_MAX_MS = 5 * 60_000
const OPERATIONS = ['payout', 'refund'] as const

export interface OrderSender {
  /** Claims due orders and starts to send them, or to ask about them, without awaiting the bank. Returns how many. */
  run: () => Promise<number>
  idle: () => Promise<void>
}

/** Orders of one operation of a connection. */
interface Queues {
  key: string
  /** Those that wait and those that were sent: accounts take turns in each. */
  waiting: OrderQueue
  placed: OrderQueue
}

/**
 * Creates the sender of due orders. Each connection and operation has its own capacity in this process, so a bank
 * that hangs delays only its own orders. `onCapacity` is called when orders have freed capacity.
 */
export function createOrderSender(byKind: RulesByKind, onCapacity?: () => void): OrderSender {
  const kinds = Object.keys(byKind) as OrderKind[]
  const queuesOf = new Map<string, Queues>()
  const pool = new Pool({ perKeyMax: CONCURRENCY_MAX, ...(onCapacity && { onCapacity }) })

  const startAll = ({ key }: Queues, gateway: Gateway, due: ClaimedOrder[]) => {
    const [first] = due
    if (!first) return
    const stopRenewal = renewLease('bank_orders', first.lease)
    const started = due.map(order =>
      pool.start(
        workOn(order, gateway, byKind),
        // The order becomes due again when its lease expires.
        err => log().error({ err, ...logged(order) }, `sending a ${order.kind} failed`),
        key,
      ),
    )
    Promise.all(started).finally(stopRenewal)
  }

  const run = async () => {
    const pairs = (await listServed(ENVIRONMENTS)).flatMap(served =>
      OPERATIONS.map(operation => ({ served, queue: newQueue(served.id, operation, kinds) })),
    )
    const counts = pairs.map(({ served, queue }) => {
      const key = `${queue.connectionId} ${queue.operation}`
      const queues = queuesOf.get(key) ?? { key, waiting: queue, placed: { ...queue } }
      queuesOf.set(key, queues)
      return claimFor(served, queues, pool.free(key), due => startAll(queues, served.gateway, due))
    })
    return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0)
  }

  return { run, idle: () => pool.idle() }
}

/** Claims what this process has capacity for, and passes it on at once. Returns how many. */
async function claimFor(
  served: ServedConnection,
  { waiting, placed }: Queues,
  free: number,
  start: (due: ClaimedOrder[]) => void,
): Promise<number> {
  const { id, gateway } = served
  const capacity = gateway.local ? free : await breaker.limit(id, free)
  if (capacity === 0) return 0
  const questionsMax = Math.ceil(capacity * QUESTIONS_SHARE)
  const asked = await claimDue(placed, 'placed', questionsMax)
  start(asked)
  const sent = await claimWaiting(served, waiting, capacity - asked.length)
  start(sent)
  const left = asked.length < questionsMax ? 0 : capacity - asked.length - sent.length
  const others = left > 0 ? await claimDue(placed, 'placed', left) : []
  start(others)
  return asked.length + sent.length + others.length
}

async function claimWaiting(
  served: ServedConnection,
  queue: OrderQueue,
  limit: number,
): Promise<ClaimedOrder[]> {
  if (limit === 0) return []
  if (served.gateway.local) return claimDue(queue, 'waiting', limit)
  if (await isMoneyOutClosed(served.id)) return []
  return queue.operation === 'payout'
    ? claimSlots(queue, served, limit)
    : claimDue(queue, 'waiting', limit)
}

/**
 * Sends an order or asks about it, and stores what came of it. After a crash at any point, the next claim asks the
 * bank first. A lost response never ends an order.
 */
async function workOn(order: ClaimedOrder, gateway: Gateway, byKind: RulesByKind): Promise<void> {
  const rules = rulesOf(order, byKind)
  const placement = await placeOrder(order, gateway, rules)
  switch (placement.state) {
    case 'done':
    case 'refused':
      if (!(await rules.end(order, placement, order.lease)))
        await noteContradiction(order, placement.state)
      return
    case 'taken':
      await rules.take?.(order, placement)
      return askLater(order, 0, placement.endToEndId)
    case 'unknown':
      return askLater(order, placement.pauseMs)
    case 'kept':
      return releaseSlot(order, placement.pauseMs, false)
    case 'unsent': {
      const { pauseMs: askedMs, isRateLimit } = placement
      const pauseMs = Math.max(
        askedMs,
        doublingPauseMs(order.attempts, FIRST_PAUSE_MS, PAUSE_MAX_MS),
      )
      if (isRateLimit) await pauseQueue(order, askedMs || pauseMs)
      const { giveUpMs = Number.POSITIVE_INFINITY } = rules
      if (order.ageMs < giveUpMs || (await mayHaveArrived(order)))
        return releaseSlot(order, pauseMs)
      await rules.end(order, NEVER_SENT, order.lease)
    }
  }
}

const NEVER_SENT: EndState = {
  state: 'refused',
  code: 'unspecified',
  params: {},
  bankText: 'not_sent',
}

/** Few orders are ended by people, and a bank that hangs must not hold the job for long. */
const BATCH_MAX = 5

/**
 * Asks the bank about orders that people ended: after 1 min, 10 min, 1 h, then daily for 7 days. A
 * final answer ends the questions; one that contradicts the end is stored. About an order that the bank ended, it
 * asks when money came back. Returns how many were due.
 */
export async function askAboutEnded(byKind: RulesByKind): Promise<number> {
  const due = await claimEnded()
  // A failure must not stop the others; the order is due again at its next time.
  for (const order of due)
    await askAbout(order, byKind).catch(err =>
      log().error({ err, ...logged(order) }, 'asking about an end failed'),
    )
  return due.length
}

/**
 * Has the bank asked once more about withdrawals that are done and of which it says that money came back. Should that
 * fail, the list of what came back is the net.
 */
export async function askAboutReturned(connectionId: string, bankIds: string[]): Promise<void> {
  const ids = bankIds.filter(isOrderId)
  await db().$executeRaw`
    UPDATE bank_orders o SET end_ask_at = now()
    FROM unnest(${ids}::uuid[]) AS i (id) JOIN accounts a ON ${isInBucket(Prisma.sql`i.id`)}
    WHERE o.account_id = a.id AND o.id = i.id AND o.connection_id = ${connectionId}::uuid
      AND o.kind = 'withdrawal' AND o.state = 'done'`
}

/** The next time is stored before the call: of two workers, one asks. */
function claimEnded(): Promise<Order[]> {
  return db().$queryRaw<Order[]>`
    UPDATE bank_orders o SET end_ask_at = ${nextAskAt(Prisma.sql`o.ended_at`)}
    WHERE (o.account_id, o.id) IN (
      SELECT account_id, id FROM bank_orders WHERE end_ask_at <= now()
      ORDER BY end_ask_at LIMIT ${BATCH_MAX} FOR UPDATE SKIP LOCKED)
    RETURNING ${orderColumns('o')}`
}

async function askAbout(order: Order, byKind: RulesByKind): Promise<void> {
  const rules = rulesOf(order, byKind)
  const gateway = await gatewayOfConnection(order.connectionId)
  const result = await queryOrder(order, gateway, await rules.hide(order))
  if (result.outcome !== 'ok' || !result.value || result.value.state === 'taken') return
  // Ends nothing, because it has ended, but books what came back of it.
  await rules.end(order, result.value, null)
  if (await noteContradiction(order, result.value.state)) return
  const { accountId, id } = order
  await db().bankOrder.updateMany({ where: { accountId, id }, data: { endAskAt: null } })
}

/**
 * Stores that the bank reports the opposite of how people ended an order, for the operator: in the row,
 * the differences, the audit log of the operator and the health page. Moves no money. Only the first time
 * has an effect, and none if the order was not ended by people. Returns whether it had one.
 */
export async function noteContradiction(
  order: Order,
  reported: EndState['state'],
): Promise<boolean> {
  const { accountId, id, kind, connectionId, mode, amount } = order
  const contradicted = reported === 'done' ? 'not_sent' : 'sent'
  const isNoted = await transaction(async tx => {
    const noted = await tx.$executeRaw`
      UPDATE bank_orders SET contradiction = ${reported}, contradicted_at = now(), end_ask_at = NULL
      WHERE account_id = ${accountId}::uuid AND id = ${id}::uuid
        AND ended_at IS NOT NULL AND end_outcome = ${contradicted} AND contradicted_at IS NULL`
    if (noted === 0) return false
    const entry = { action: 'order.contradicted', target: id }
    const after = { account_id: accountId, ended_as: contradicted, bank_reports: reported }
    await recordAudit(tx, { ...entry, actor: { type: 'system' }, after: { kind, ...after } })
    const facts = { ...after, ...(await nameOrder(tx, order)), mode, amount: cents(amount) }
    const item = { kind: 'order_contradicted', key: removeHyphens(id) } as const
    await noteItem(tx, { connectionId, ...item, facts })
    return true
  })
  if (isNoted)
    log().error({ ...logged(order), reported }, `bank contradicts how a ${order.kind} was ended`)
  return isNoted
}

/** Names an order by the facts that the page of a difference shows. */
async function nameOrder(tx: Tx, { accountId, id, kind }: Order): Promise<Record<string, string>> {
  if (kind === 'withdrawal') return { withdrawal_id: id }
  if (kind !== 'refund') return { order_id: id }
  const where = { accountId_id: { accountId, id } }
  const { chargeId } = await tx.refund.findUniqueOrThrow({ where, select: { chargeId: true } })
  return { refund_id: id, transaction_id: chargeId }
}
