import { setImmediate as nextTurn } from 'node:timers/promises'
import { Pool } from '#lib/core/concurrency.ts'
import { newId } from '#lib/core/ids.ts'
import { unseal } from '#lib/core/keys.ts'
import { log, type TraceContext } from '#lib/core/log.ts'
import { increment, observe } from '#lib/core/metrics.ts'
import { childSpan, parseCause, recordSpan, traceHeaders, traceOfEvent } from '#lib/core/trace.ts'
import { createBatcher } from '#lib/db/batch.ts'
import { releaseLease, renewLease } from '#lib/db/claim.ts'
import { Prisma, retryOnConflict } from '#lib/db/client.ts'
import { queryRows } from '#lib/db/sql.ts'
import { countTestBytes } from '#lib/db/test-usage.ts'
import { maskBody, nextPauseMs } from '#lib/webhooks/deliveries.ts'
import { disableEndpoint } from '#lib/webhooks/endpoints.ts'
import { type BodySerializers, eventToIntegration, eventToWire } from '#lib/webhooks/events.ts'
import { closeConnections, type Outcome, postWebhook } from '#lib/webhooks/post.ts'
import { problemText } from '#lib/webhooks/problem.ts'
import {
  claimQueues,
  type DueDelivery,
  postponeDelivery,
  Queue,
  readQueues,
  releaseQueues,
} from '#lib/webhooks/queue.ts'
import { postWithFault } from '#lib/webhooks/sandbox.ts'
import { signatureHeaders } from '#lib/webhooks/secrets.ts'

/** Maximum concurrent attempts per process: each uses a socket and up to 256 KiB. */
const CONCURRENCY_MAX = 256
/** Attempts kept for accounts without one in progress: they start when others hold all other places. */
const RESERVED = 32
/** Row, headers and index entries of an attempt in the test mode's daily bytes. */
const ATTEMPT_BYTES = 1_024
/** Calls started in one turn of the event loop: each takes about 0.2 ms, and requests wait for it. */
const STARTS_PER_TURN = 8
/**
 * A worker whose free places are those reserved leaves a queue to others for this long after it became due: it sends one
 * delivery of it at a time, and they may have room. Notifications reach them in some 20 ms.
 */
const YIELD_MS = 100
/** Queues of the first claim of a run: those of four busy accounts fill a worker, and others get the rest. */
const FIRST_CLAIM = 4

export interface Deliverer {
  /** Claims and starts due deliveries until `stopSignal`, without awaiting responses. Returns how many. */
  run: (stopSignal?: AbortSignal) => Promise<number>
  /** Awaits the attempts in progress and releases all queues. */
  idle: () => Promise<void>
  /** Aborts calls in progress, which do not count as attempts. The worker releases the leases. */
  abort: () => void
}

/**
 * Creates a webhook deliverer, which holds queues of accounts under one lease while they have due deliveries
 * (docs/decisions/020). `onCapacity` asks for the next run: to read on, or to release a queue.
 */
export function createDeliverer(
  serializers: BodySerializers,
  onCapacity: () => void = () => {},
  { yieldMs = YIELD_MS } = {},
): Deliverer {
  const attempts = new Pool({ perKeyMax: CONCURRENCY_MAX })
  const queues = new Map<string, Queue>()
  /** Queues that may start a call, in turn. */
  const ready = new Set<Queue>()
  let lease = ''
  let stopRenewal = () => {}
  let running = Promise.resolve(0)
  let stopSignal: AbortSignal | undefined
  let yielding: NodeJS.Timeout | undefined
  let hasYielded = false

  const isFull = () => attempts.free() <= RESERVED
  const isStopped = () => attempts.signal.aborted || stopSignal?.aborted === true

  /** Runs one after another. */
  function run(signal?: AbortSignal): Promise<number> {
    stopSignal = signal
    running = running.catch(() => 0).then(runOnce)
    return running
  }

  async function runOnce(): Promise<number> {
    let started = 0
    // Calls that end meanwhile ask for another run, so a run ends however much is due.
    const startedMax = attempts.free()
    hasYielded = false
    for (const queue of queues.values()) queue.noteTime()
    for (let limit = FIRST_CLAIM; !isStopped() && started < startedMax; limit *= 2) {
      const wasCut = await claimAndRead(limit)
      started += await startReady()
      if (!wasCut && ![...queues.values()].some(({ needsRead }) => needsRead)) break
    }
    if (isStopped()) return started
    await releaseIdle()
    clearTimeout(yielding)
    if (hasYielded) yielding = setTimeout(onCapacity, yieldMs).unref()
    return started
  }

  function holdLease(): string {
    if (lease) return lease
    lease = newId()
    stopRenewal = renewLease('delivery_queues', lease)
    return lease
  }

  function dropLease(): void {
    stopRenewal()
    lease = ''
    queues.clear()
    ready.clear()
  }

  /** Returns whether more queues may be due. */
  async function claimAndRead(claimMax: number): Promise<boolean> {
    const limit = Math.min(claimMax, attempts.free())
    const isYielding = isFull()
    hasYielded ||= isYielding
    const dueForMs = isYielding ? yieldMs : 0
    const accounts = await claimQueues(holdLease(), limit, [...queues.keys()], dueForMs)
    for (const accountId of accounts) {
      const queue = queues.get(accountId) ?? new Queue(accountId)
      queue.needsRead = true
      queues.set(accountId, queue)
    }
    const unread = [...queues.values()].filter(({ needsRead }) => needsRead)
    await readQueues(holdLease(), unread)
    for (const queue of unread) ready.add(queue)
    return accounts.length >= limit && limit > 0
  }

  /** Starts calls, of each queue in turn, while there is room. Returns how many. */
  async function startReady(): Promise<number> {
    let started = 0
    while (startNext()) if (++started % STARTS_PER_TURN === 0) await nextTurn()
    return started
  }

  function startNext(): boolean {
    if (isStopped()) return false
    for (const queue of ready) {
      if (attempts.free() === 0) return false
      if (isFull() && queue.isBusy) continue
      ready.delete(queue)
      const due = queue.take()
      if (!due) continue
      ready.add(queue)
      start(queue, due)
      return true
    }
    return false
  }

  function start(queue: Queue, due: DueDelivery): void {
    queue.begin(due)
    const call = send(due, serializers, attempts.signal).finally(() => queue.endCall(due))
    // The receiver is called again while the result is stored.
    call.then(continueWith, continueWith)
    const attempt = call.then(finished => finished && finishDelivery(finished))
    const postpone = (err: unknown) => {
      log().error({ err, deliveryId: due.id }, 'delivery failed with an internal error')
      return postponeDelivery(due)
    }
    const end = () => {
      queue.end(due)
      continueWith()
    }
    const logFailure = (err: unknown) =>
      log().error({ err, deliveryId: due.id }, 'postponing a delivery failed')
    attempts.start(attempt.catch(postpone).finally(end), logFailure)

    function continueWith(): void {
      ready.add(queue)
      startReady()
      if (queue.needsRead || queue.isIdle) onCapacity()
    }
  }

  async function releaseIdle(): Promise<void> {
    const idle = [...queues.values()].filter(({ isIdle }) => isIdle)
    const accounts = idle.map(({ accountId }) => accountId)
    const { released, isDue } = await releaseQueues(lease, accounts)
    for (const queue of idle) {
      if (!(queue.isLost || released.includes(queue.accountId))) continue
      ready.delete(queue)
      queues.delete(queue.accountId)
    }
    if (queues.size === 0) dropLease()
    if (isDue) onCapacity()
  }

  return {
    run,
    async idle() {
      await attempts.idle()
      const ended = lease
      dropLease()
      // Nobody has looked what is left, so the queues are due at once.
      if (ended) await releaseLease('delivery_queues', ended)
    },
    abort() {
      attempts.abort()
      closeConnections()
    },
  }
}

/** Calls the receiver; undefined: the call was aborted. */
async function send(
  due: DueDelivery,
  serializers: BodySerializers,
  signal: AbortSignal,
): Promise<FinishedAttempt | undefined> {
  const { event, endpointId, url, mode, form } = due
  const { webhook_masked } = event.resource as { webhook_masked?: boolean }
  const showsDocuments =
    endpointId === null ? webhook_masked !== true : form?.showsDocuments === true
  const secrets = (due.secrets ?? []).map(({ id, sealed }) =>
    unseal(Buffer.from(sealed, 'base64'), id),
  )
  const serialize = endpointId === null ? eventToWire : eventToIntegration
  const build = () =>
    form?.isApiPix
      ? serializers.apiPix(due.accountId, mode, event.resource)
      : serialize(event, serializers, showsDocuments)
  const firstBody = due.body ?? JSON.stringify(build())
  // A first attempt may have sent the document in full to an endpoint that now masks it.
  const body = showsDocuments ? firstBody : maskBody(firstBody)
  const eventSpan = traceOfEvent(due.trace, event.id)
  const span = childSpan(eventSpan)
  const headers = {
    'content-type': 'application/json',
    ...signatureHeaders(event.id, body, secrets, due.now()),
    ...traceHeaders(span, parseCause(due.trace)?.requestId),
  }
  const post = () => postWebhook({ url, mode, headers, body }, { signal })
  const outcome: Outcome = await (due.hasFault ? postWithFault(due.accountId, post) : post())
  if (signal.aborted) return
  if (due.tried === 0) traceEvent(due, eventSpan)
  traceAttempt(due, span, outcome)
  return { due, sent: { headers, body }, outcome }
}

const HTTP_GONE = 410
const BATCH_MAX = 100

/** Minimum time without a success before an endpoint is disabled. */
const GIVEN_UP_AFTER = Prisma.sql`interval '5 days'`
/** Minimum exhausted deliveries before an endpoint is disabled, in addition to the time above. */
const GIVEN_UP_EXHAUSTED_MIN = 10

/** The body of the request is stored with the first attempt, and with one that masks it later. */
interface FinishedAttempt {
  due: DueDelivery
  sent: { headers: Record<string, string>; body: string }
  outcome: Outcome
}

/**
 * Stores an attempt and its delivery's new state. Unless a retry follows, the resource's next event
 * becomes due. If another attempt ended since the delivery was read, only this one is stored.
 */
export async function finishDelivery(attempt: FinishedAttempt): Promise<void> {
  const { accountId, endpointId, mode } = attempt.due
  const isGivenUp = await finishBatched(attempt)
  const bytes = ATTEMPT_BYTES + attempt.sent.body.length + (attempt.outcome.body?.length ?? 0)
  if (mode === 'test') countTestBytes(accountId, bytes)
  if (endpointId === null) return
  if (attempt.outcome.status === HTTP_GONE) {
    await disableEndpoint(accountId, endpointId, 'gone')
  } else if (isGivenUp) {
    await disableEndpoint(accountId, endpointId, 'given_up')
  }
}

/** Stores attempts in batches: a statement for many rows costs little more than for one row. */
const finishBatched = createBatcher({
  run: finishAll,
  queueOf: () => '',
  keyOf: ({ due }: FinishedAttempt) => due.id,
  batchMax: BATCH_MAX,
})

/**
 * Stores attempts. Returns for each attempt whether to disable its endpoint. See
 * prisma/functions/troco_finish_deliveries.sql.
 */
async function finishAll(attempts: FinishedAttempt[]): Promise<boolean[]> {
  // In the order in which other statements lock the deliveries of an account.
  const rows = attempts
    .toSorted((a, b) => Number(a.due.event.sequence) - Number(b.due.event.sequence))
    .map(resultOf)
  const results = JSON.stringify(rows)
  const givenUp = await retryOnConflict(() =>
    queryRows<string>(Prisma.sql`
      SELECT to_json(id)::text AS json FROM troco_finish_deliveries(
        ${results}::json, ${GIVEN_UP_EXHAUSTED_MIN}::integer, ${GIVEN_UP_AFTER}) AS id`),
  )
  for (const { status, duration_ms } of rows) {
    increment('troco_delivery_attempts_total', [status === 'pending' ? 'retried' : status])
    observe('troco_delivery_attempt_seconds', [], duration_ms / 1_000)
  }
  return attempts.map(({ due }) => due.endpointId !== null && givenUp.includes(due.endpointId))
}

function resultOf(attempt: FinishedAttempt) {
  const { due, sent, outcome } = attempt
  return {
    account_id: due.accountId,
    id: due.id,
    attempts: due.attempts,
    endpoint_id: due.endpointId,
    ...decideStatus(attempt),
    request_headers: sent.headers,
    request_body: due.body === sent.body ? null : sent.body,
    address: outcome.address,
    response_status: outcome.status,
    response_headers: outcome.headers,
    response_body: outcome.body,
    problem: problemText(outcome.problem),
    problem_code: outcome.problem?.code ?? null,
    problem_params: outcome.problem?.params ?? null,
    duration_ms: Math.round(outcome.durationMs),
  }
}

function decideStatus({ due, outcome }: FinishedAttempt): {
  status: string
  due_in_ms: number | null
} {
  const { problem, status, retryAfterMs } = outcome
  if (problem === null) return { status: 'delivered', due_in_ms: null }
  if (status === HTTP_GONE) return { status: 'stopped', due_in_ms: null }
  const target = due.endpointId === null ? 'resource' : 'endpoint'
  const dueInMs = nextPauseMs(target, due.tried + 1, retryAfterMs)
  return { status: dueInMs === null ? 'exhausted' : 'pending', due_in_ms: dueInMs }
}

/** Recorded with the first attempt of each delivery: an event that nobody receives has no span. */
function traceEvent(due: DueDelivery, trace: TraceContext): void {
  recordSpan(() => ({
    trace,
    name: `event ${due.event.type}`,
    kind: 'producer',
    endMs: Date.parse(due.event.created_at),
    tookMs: 0,
    isFailed: false,
    attributes: { ...describeEvent(due), 'troco.event_sequence': Number(due.event.sequence) },
  }))
}

function traceAttempt(due: DueDelivery, trace: TraceContext, outcome: Outcome): void {
  const { problem, status, durationMs } = outcome
  recordSpan(() => ({
    trace,
    name: `deliver ${due.event.type}`,
    kind: 'client',
    endMs: Date.now(),
    tookMs: durationMs,
    isFailed: problem !== null,
    attributes: {
      ...describeEvent(due),
      'troco.delivery_id': due.id,
      'troco.attempt': due.tried + 1,
      'http.request.method': 'POST',
      'http.response.status_code': status,
      'server.address': URL.parse(due.url)?.hostname,
      'error.type': problem?.code,
    },
  }))
}

function describeEvent({ accountId, mode, event, trace }: DueDelivery) {
  return {
    'troco.event_id': event.id,
    'troco.event_type': event.type,
    'troco.account_id': accountId,
    'troco.mode': mode,
    'troco.request_id': parseCause(trace)?.requestId,
  }
}
