import { keepAlive } from '#lib/base/db/claim.ts'
import { unseal } from '#lib/base/keys.ts'
import { log } from '#lib/base/log.ts'
import { closeConnections } from '#lib/services/webhooks/connection.ts'
import { finishDelivery } from '#lib/services/webhooks/finish.ts'
import { type Outcome, postWebhook } from '#lib/services/webhooks/post.ts'
import { eventToIntegration, eventToWire, type Tellers } from '#lib/services/webhooks/schema.ts'
import { signatureHeaders } from '#lib/services/webhooks/sign.ts'
import { type DueDelivery, takeDue } from '#lib/services/webhooks/take.ts'

/** Maximum concurrent calls per process: each uses a socket and up to 256 KiB. */
const UNDER_WAY_MAX = 256
const ROOM_TOLD_AFTER_MS = 2

export interface Deliverer {
  /** Claims and starts due deliveries without awaiting responses. Returns how many. */
  run: () => Promise<number>
  idle: () => Promise<void>
  /** Aborts the calls in progress; not counted as attempts. The worker releases the leases. */
  breakOff: () => void
}

/** Creates a webhook deliverer; `onRoom` is called when calls have freed capacity. */
export function createDeliverer(tell: Tellers, onRoom: () => void = () => {}): Deliverer {
  const underWay = new Set<Promise<void>>()
  const breaking = new AbortController()
  let telling: NodeJS.Timeout | undefined

  /** Signals freed capacity. Delayed, because a claim costs about as much as a quick call. */
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
      // A delivery that throws keeps its lease and becomes claimable again when the lease expires.
      .catch(error =>
        log().error({ err: error, deliveryId: due.id }, 'delivery failed with an internal error'),
      )
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
