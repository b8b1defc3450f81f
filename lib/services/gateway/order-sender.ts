import { type Claim, claimInTurn, renewLease } from '#lib/base/db/claim.ts'
import type { Prisma } from '#lib/base/db/client.ts'
import { log } from '#lib/base/log.ts'
import { breaker } from '#lib/services/gateway/breaker.ts'
import { listServed, type ServedConnection } from '#lib/services/gateway/choose.ts'
import { isMoneyOutClosed } from '#lib/services/gateway/closures.ts'
import type { Gateway } from '#lib/services/gateway/gateway.ts'
import { ENVIRONMENTS } from '#lib/services/gateway/schema.ts'

/** Maximum concurrent orders of a connection in this process. */
const CONCURRENCY_MAX = 8
/** Orders that end within this time free their places together: a claim costs as much as a send. */
const CAPACITY_DELAY_MS = 5
const FIRST_ACCOUNT = '00000000-0000-0000-0000-000000000000'

/** At homologation, tries are paid, and what fits none is given back from the inbox. No account is served. */
const HOMOLOGATION_KINDS: readonly OrderKind[] = ['receipt_return']

export type OrderKind = 'withdrawal' | 'refund' | 'receipt_return'

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

type Work = (claim: Claim, gateway: Gateway) => Promise<unknown>

/** Orders that each begin at a bank only if there is a place for them there. */
export interface PlacedOrders {
  claimWaiting: (connection: ServedConnection, limit: number) => Promise<Claim[]>
  /** SQL condition of the other orders `r`. */
  isPlaced: Prisma.Sql
  /** Asks about one of the others. One that must be sent again waits until its place is over. */
  ask: Work
}

/**
 * Creates a sender of due orders. Each connection has its own places in this process, so a bank that
 * hangs delays only its own orders. Accounts are served in turn. `onCapacity` is called when orders
 * have freed places. `placed`: for orders whose bank limits how many are in flight.
 */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: all parts share the lanes of one sender
export function createOrderSender(
  kind: OrderKind,
  send: Work,
  onCapacity: () => void = () => {},
  placed?: PlacedOrders,
): OrderSender {
  const lanes = new Map<string, Lane>()
  let isSignalDue = false

  async function run(): Promise<number> {
    const served = await listServed(HOMOLOGATION_KINDS.includes(kind) ? ENVIRONMENTS : undefined)
    const counts = served.map(connection => {
      const { id } = connection
      const lane = lanes.get(id) ?? { inProgress: new Set(), lastServed: FIRST_ACCOUNT }
      lanes.set(id, lane)
      return runLane(lane, connection)
    })
    return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0)
  }

  async function runLane(lane: Lane, connection: ServedConnection): Promise<number> {
    const { id, gateway } = connection
    const free = CONCURRENCY_MAX - lane.inProgress.size
    const places = gateway.local ? free : await breaker.limit(id, free)
    if (places === 0) return 0
    const startAll = startIn(lane, gateway)
    const isClosed = !gateway.local && (await isMoneyOutClosed(id))
    if (isClosed && !placed) return 0
    if (gateway.local || !placed) return startAll(await claimTurn(lane, id, places), send)
    const waiting = isClosed ? [] : await placed.claimWaiting(connection, places)
    startAll(waiting, send)
    const left = places - waiting.length
    const others = left === 0 ? [] : await claimTurn(lane, id, left, placed.isPlaced)
    return startAll(others, placed.ask) + waiting.length
  }

  async function claimTurn(
    lane: Lane,
    connectionId: string,
    limit: number,
    condition?: Prisma.Sql,
  ): Promise<Claim[]> {
    const after = lane.lastServed
    const due = await claimInTurn(`${kind}s`, connectionId, limit, { after, condition })
    const accounts = due.map(({ accountId }) => accountId)
    lane.lastServed = accounts.sort().at(-1) ?? FIRST_ACCOUNT
    // After the last account, the first one has its turn.
    if (due.length > 0 || after === FIRST_ACCOUNT) return due
    return claimTurn(lane, connectionId, limit, condition)
  }

  function startIn(lane: Lane, gateway: Gateway) {
    return (due: Claim[], work: Work): number => {
      const [first] = due
      if (!first) return 0
      const stopRenewal = renewLease(`${kind}s`, first.lease)
      const orders = due.map(claim => start(lane, claim, work(claim, gateway)))
      Promise.all(orders).finally(stopRenewal)
      return due.length
    }
  }

  function start({ inProgress }: Lane, claim: Claim, work: Promise<unknown>): Promise<void> {
    const order = work
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
