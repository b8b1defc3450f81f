import { setImmediate as nextTurn } from 'node:timers/promises'
import { unseal } from '#lib/core/keys.ts'
import { log } from '#lib/core/log.ts'
import { Pool } from '#lib/core/pool.ts'
import { childSpan, parseCause, traceHeaders, traceOfEvent } from '#lib/core/trace.ts'
import { renewLease } from '#lib/db/claim.ts'
import { countTestBytes } from '#lib/db/test-usage.ts'
import { claimDueDeliveries, type DueDelivery } from '#lib/webhooks/claim-deliveries.ts'
import { closeConnections } from '#lib/webhooks/connection.ts'
import { maskBody, readDocumentRule } from '#lib/webhooks/documents.ts'
import {
  eventToIntegration,
  eventToWire,
  type ResourceSerializers,
} from '#lib/webhooks/event-wire.ts'
import { finishDelivery } from '#lib/webhooks/finish.ts'
import { type Outcome, postWebhook } from '#lib/webhooks/post.ts'
import { signatureHeaders } from '#lib/webhooks/sign.ts'
import { traceAttempt, traceEvent } from '#lib/webhooks/spans.ts'

/** Maximum concurrent calls per process: each uses a socket and up to 256 KiB. */
const CONCURRENCY_MAX = 256
/** Calls kept for accounts without one in progress: they start when others hold all other places. */
const RESERVED = 32
/** Row, headers and index entries of an attempt in the test mode's daily bytes. */
const ATTEMPT_BYTES = 1_024
/** Calls started in one turn of the event loop: each takes about 0.2 ms, and requests wait for it. */
const STARTS_PER_TURN = 8

export interface Deliverer {
  /** Claims and starts due deliveries until `stopSignal`, without awaiting responses. Returns how many. */
  run: (stopSignal?: AbortSignal) => Promise<number>
  idle: () => Promise<void>
  /** Aborts calls in progress, which do not count as attempts. The worker releases the leases. */
  abort: () => void
}

/** Creates a webhook deliverer. `onCapacity` is called when calls have freed capacity. */
export function createDeliverer(
  serializers: ResourceSerializers,
  onCapacity: () => void = () => {},
): Deliverer {
  const calls = new Pool({ perKeyMax: CONCURRENCY_MAX, onCapacity })

  async function run(stopSignal?: AbortSignal): Promise<number> {
    let started = 0
    // Calls that end meanwhile signal their capacity, so a run ends however much is due.
    const startedMax = calls.free()
    for (let mayContinue = true; mayContinue && started < startedMax; ) {
      if (calls.signal.aborted || stopSignal?.aborted) break
      const { claimed, more } = await claimDueDeliveries(startedMax - started, RESERVED)
      await startAll(claimed)
      started += claimed.length
      mayContinue = more
    }
    return started
  }

  async function startAll(claimed: DueDelivery[]): Promise<void> {
    const [first] = claimed
    if (!first) return
    // Before the renewal: if this query fails, the leases expire and the deliveries are claimed again.
    const showsDocuments = await readDocumentRule(claimed)
    const stopRenewal = renewLease('deliveries', first.lease)
    const started: Promise<void>[] = []
    for (const due of claimed) {
      const call = deliver(due, serializers, showsDocuments(due), calls.signal)
      // A delivery that throws keeps its lease and becomes claimable again when the lease expires.
      const logError = (err: unknown) =>
        log().error({ err, deliveryId: due.id }, 'delivery failed with an internal error')
      started.push(calls.start(call, logError))
      if (started.length % STARTS_PER_TURN === 0) await nextTurn()
    }
    Promise.all(started).finally(stopRenewal)
  }

  return {
    run,
    idle: () => calls.idle(),
    abort() {
      calls.abort()
      closeConnections()
    },
  }
}

async function deliver(
  due: DueDelivery,
  serializers: ResourceSerializers,
  showsDocuments: boolean,
  signal: AbortSignal,
): Promise<void> {
  const { event, endpointId, url, mode } = due
  const secrets = (due.secrets ?? []).map(({ id, sealed }) =>
    unseal(Buffer.from(sealed, 'base64'), id),
  )
  const serialize = endpointId === null ? eventToWire : eventToIntegration
  const firstBody = due.body ?? JSON.stringify(serialize(event, serializers, showsDocuments))
  // A first attempt may have sent the document in full to an endpoint that now masks it.
  const body = showsDocuments ? firstBody : maskBody(firstBody)
  const eventSpan = traceOfEvent(due.trace, event.id)
  const span = childSpan(eventSpan)
  const headers = {
    'content-type': 'application/json',
    ...signatureHeaders(event.id, body, secrets, due.now()),
    ...traceHeaders(span, parseCause(due.trace)?.requestId),
  }
  const outcome: Outcome = await postWebhook({ url, mode, headers, body }, { signal })
  if (signal.aborted) return
  if (due.tried === 0) traceEvent(due, eventSpan)
  traceAttempt(due, span, outcome)
  await finishDelivery({ due, sent: { headers, body }, outcome })
  const bytes = ATTEMPT_BYTES + body.length + (outcome.body?.length ?? 0)
  if (mode === 'test') countTestBytes(due.accountId, bytes)
}
