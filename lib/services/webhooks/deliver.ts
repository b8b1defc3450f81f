import { keepAlive } from '#lib/base/db/claim.ts'
import { unseal } from '#lib/base/keys.ts'
import { log } from '#lib/base/log.ts'
import { closeConnections } from '#lib/services/webhooks/connection.ts'
import { finishDelivery } from '#lib/services/webhooks/finish.ts'
import { type Outcome, postWebhook } from '#lib/services/webhooks/post.ts'
import { eventToIntegration, eventToWire, type Tellers } from '#lib/services/webhooks/schema.ts'
import { signatureHeaders } from '#lib/services/webhooks/sign.ts'
import { type DueDelivery, takeDue } from '#lib/services/webhooks/take.ts'

/** Calls under way at once in one process: each costs a socket and up to 256 KiB. */
const UNDER_WAY_MAX = 256
const ROOM_TOLD_AFTER_MS = 2

export interface Deliverer {
  /** Starts what is due and may start, and says how many; it does not wait for the receivers. */
  run: () => Promise<number>
  /** When nothing is under way any more. */
  idle: () => Promise<void>
  /** Breaks off what is under way: it counts as not tried, and its lease is given back elsewhere. */
  breakOff: () => void
}

/** Tells receivers what happened; `onRoom` is called when some of them have made room. */
export function createDeliverer(tell: Tellers, onRoom: () => void = () => {}): Deliverer {
  const underWay = new Set<Promise<void>>()
  const breaking = new AbortController()
  let telling: NodeJS.Timeout | undefined

  /** Calls of one receiver end in company, and a claim costs about as much as a quick call. */
  function tellOfRoom(): void {
    clearTimeout(telling)
    telling = undefined
    onRoom()
  }

  async function run(): Promise<number> {
    const room = UNDER_WAY_MAX - underWay.size
    if (room <= 0 || breaking.signal.aborted) return 0
    const taken = await takeDue(room)
    const [first] = taken
    if (!first) return 0
    const letGo = keepAlive('deliveries', first.lease)
    const calls = taken.map(due => start(due))
    Promise.all(calls).finally(letGo)
    return taken.length
  }

  function start(due: DueDelivery): Promise<void> {
    const call = deliver(due, tell, breaking.signal)
      // One that fails keeps its lease and comes back.
      .catch(error => log().error({ err: error, deliveryId: due.id }, 'a delivery failed'))
      .finally(() => {
        underWay.delete(call)
        if (underWay.size === 0) tellOfRoom()
        else telling ??= setTimeout(tellOfRoom, ROOM_TOLD_AFTER_MS)
      })
    underWay.add(call)
    return call
  }

  async function idle(): Promise<void> {
    while (underWay.size > 0) await Promise.all(underWay)
  }

  function breakOff(): void {
    breaking.abort()
    closeConnections()
  }

  return { run, idle, breakOff }
}

async function deliver(due: DueDelivery, tell: Tellers, signal: AbortSignal): Promise<void> {
  const { event, endpointId, url, mode } = due
  const secrets = (due.secrets ?? []).map(({ id, sealed }) =>
    unseal(Buffer.from(sealed, 'base64'), id),
  )
  const write = endpointId === null ? eventToWire : eventToIntegration
  const body = due.body ?? JSON.stringify(write(event, tell))
  const headers = {
    'content-type': 'application/json',
    ...signatureHeaders(event.id, body, secrets),
  }
  const outcome: Outcome = await postWebhook({ url, mode, headers, body }, { signal })
  if (signal.aborted) return
  await finishDelivery({ due, sent: { headers, body }, outcome })
}
