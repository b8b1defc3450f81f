import { type Claim, claimInTurn, renewLease } from '#lib/base/db/claim.ts'
import { log } from '#lib/base/log.ts'
import { breaker } from '#lib/services/gateway/breaker.ts'
import { listServed } from '#lib/services/gateway/choose.ts'
import type { Gateway } from '#lib/services/gateway/gateway.ts'

/** Maximum concurrent orders of a connection in this process. */
const CONCURRENCY_MAX = 8
/** Orders that end within this time free their places together: a claim costs as much as a send. */
const CAPACITY_DELAY_MS = 5
const FIRST_ACCOUNT = '00000000-0000-0000-0000-000000000000'

export type OrderKind = 'withdrawal' | 'refund'

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
