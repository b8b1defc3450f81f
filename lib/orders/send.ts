import { breaker } from '#lib/banks/breaker.ts'
import { isMoneyOutClosed } from '#lib/banks/closures.ts'
import type { Gateway } from '#lib/banks/gateway.ts'
import { doublingPauseMs } from '#lib/banks/pauses.ts'
import { ENVIRONMENTS } from '#lib/banks/schema.ts'
import { listServed, type ServedConnection } from '#lib/banks/served.ts'
import { log } from '#lib/core/log.ts'
import { Pool } from '#lib/core/pool.ts'
import { renewLease } from '#lib/db/claim.ts'
import { noteContradiction } from '#lib/orders/ended.ts'
import { type EndState, type OrderKind, type RulesByKind, rulesOf } from '#lib/orders/order.ts'
import { logged, mayHaveArrived, placeOrder } from '#lib/orders/place.ts'
import {
  askLater,
  type ClaimedOrder,
  claimDue,
  claimSlots,
  newQueue,
  pauseQueue,
  type Queue,
  releaseSlot,
} from '#lib/orders/queue.ts'

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
  waiting: Queue
  placed: Queue
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
  queue: Queue,
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
  ...({ state: 'refused', code: 'unspecified', params: {} } as const),
  bankText: 'not_sent',
}
