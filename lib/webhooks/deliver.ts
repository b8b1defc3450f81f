import { setImmediate as nextTurn } from 'node:timers/promises'
import { Pool } from '#lib/core/concurrency.ts'
import { unseal } from '#lib/core/keys.ts'
import { log, type TraceContext } from '#lib/core/log.ts'
import { increment, observe } from '#lib/core/metrics.ts'
import { childSpan, parseCause, recordSpan, traceHeaders, traceOfEvent } from '#lib/core/trace.ts'
import { createBatcher } from '#lib/db/batch.ts'
import { renewLease } from '#lib/db/claim.ts'
import { db, Prisma, retryOnConflict } from '#lib/db/client.ts'
import { queryRows } from '#lib/db/sql.ts'
import { countTestBytes } from '#lib/db/test-usage.ts'
import { wake } from '#lib/db/wake.ts'
import {
  claimDueDeliveries,
  type DueDelivery,
  maskBody,
  nextPauseMs,
  type ReceiverForm,
  readReceiverForms,
} from '#lib/webhooks/deliveries.ts'
import { disableEndpoint } from '#lib/webhooks/endpoints.ts'
import { type BodySerializers, eventToIntegration, eventToWire } from '#lib/webhooks/events.ts'
import { closeConnections, type Outcome, postWebhook } from '#lib/webhooks/post.ts'
import { problemText } from '#lib/webhooks/problem.ts'
import { signatureHeaders } from '#lib/webhooks/secrets.ts'

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
  serializers: BodySerializers,
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
    const formOf = await readReceiverForms(claimed)
    const stopRenewal = renewLease('deliveries', first.lease)
    const started: Promise<void>[] = []
    for (const due of claimed) {
      const call = deliver(due, serializers, formOf(due), calls.signal)
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
  serializers: BodySerializers,
  { showsDocuments, isApiPix }: ReceiverForm,
  signal: AbortSignal,
): Promise<void> {
  const { event, endpointId, url, mode } = due
  const secrets = (due.secrets ?? []).map(({ id, sealed }) =>
    unseal(Buffer.from(sealed, 'base64'), id),
  )
  const serialize = endpointId === null ? eventToWire : eventToIntegration
  const build = () =>
    isApiPix
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
  const outcome: Outcome = await postWebhook({ url, mode, headers, body }, { signal })
  if (signal.aborted) return
  if (due.tried === 0) traceEvent(due, eventSpan)
  traceAttempt(due, span, outcome)
  await finishDelivery({ due, sent: { headers, body }, outcome })
  const bytes = ATTEMPT_BYTES + body.length + (outcome.body?.length ?? 0)
  if (mode === 'test') countTestBytes(due.accountId, bytes)
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
 * becomes due. If the lease was lost, only the attempt is stored.
 */
export async function finishDelivery(attempt: FinishedAttempt): Promise<void> {
  const { accountId, endpointId } = attempt.due
  const isGivenUp = await finishBatched(attempt)
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
  const rows = attempts.map(resultOf)
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
    lease: due.lease,
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

/** Receivers per statement: about 10 ms. */
const STEP_MAX = 1_000
/** A lane that is later than its first delivery by less is about to be read by a claim. */
const LATE_AFTER = Prisma.sql`interval '10 seconds'`

interface Receiver {
  account_id: string
  host: string
  due_at: string
  is_lost: boolean
}

/**
 * Restores lanes that are missing or later than their deliveries, because rows were written without
 * the triggers: by a restore, by hand. Calls `rest` between steps. Returns the number restored.
 */
export async function healLanes(rest = async () => {}): Promise<number> {
  let restored = 0
  let receivers = await readReceivers({
    account_id: '00000000-0000-0000-0000-000000000000',
    host: '',
  })
  for (let last = receivers.at(-1); last; last = receivers.at(-1)) {
    restored += await restoreLanes(receivers.filter(({ is_lost }) => is_lost))
    if (receivers.length < STEP_MAX) break
    await rest()
    receivers = await readReceivers(last)
  }
  if (restored > 0) wake('deliveries')
  return restored
}

/** Steps from receiver to receiver, so that the deliveries of none are read completely. */
function readReceivers(after: Pick<Receiver, 'account_id' | 'host'>): Promise<Receiver[]> {
  return queryRows(Prisma.sql`
    WITH RECURSIVE receivers AS (
      (SELECT d.account_id, d.host, d.due_at, 1 AS nth FROM deliveries d
        WHERE d.due_at IS NOT NULL
          AND (d.account_id, d.host) > (${after.account_id}::uuid, ${after.host}::text)
        ORDER BY d.account_id, d.host, d.due_at LIMIT 1)
      UNION ALL
      SELECT n.account_id, n.host, n.due_at, r.nth + 1 FROM receivers r CROSS JOIN LATERAL (
        SELECT d.account_id, d.host, d.due_at FROM deliveries d
        WHERE d.due_at IS NOT NULL AND (d.account_id, d.host) > (r.account_id, r.host)
        ORDER BY d.account_id, d.host, d.due_at LIMIT 1) n
      WHERE r.nth < ${STEP_MAX}
    )
    SELECT json_build_object('account_id', r.account_id, 'host', r.host, 'due_at', r.due_at, 'is_lost',
      l.host IS NULL OR a.account_id IS NULL OR r.due_at < now() - ${LATE_AFTER}
        AND greatest(l.due_at, a.due_at) > now() AND NOT (l.is_full OR a.is_full))::text AS json
    FROM receivers r
    LEFT JOIN delivery_lanes l ON l.account_id = r.account_id AND l.host = r.host
    LEFT JOIN delivery_accounts a ON a.account_id = r.account_id
    ORDER BY r.nth`)
}

/** Locks in the order of prisma/functions/troco_touch_lanes.sql: by account and host, lanes first. */
async function restoreLanes(lost: Receiver[]): Promise<number> {
  if (lost.length === 0) return 0
  const columns = Prisma.sql`
    unnest(${lost.map(({ account_id }) => account_id)}::uuid[], ${lost.map(({ host }) => host)}::text[],
      ${lost.map(({ due_at }) => due_at)}::timestamptz[]) AS t (account_id, host, due_at)`
  await db().$executeRaw`
    INSERT INTO delivery_lanes AS l (account_id, host, due_at)
    SELECT t.account_id, t.host, t.due_at FROM ${columns} ORDER BY t.account_id, t.host
    ON CONFLICT (account_id, host) DO UPDATE SET due_at = EXCLUDED.due_at, is_full = false
    WHERE l.due_at > EXCLUDED.due_at`
  await db().$executeRaw`
    INSERT INTO delivery_accounts AS a (account_id, due_at)
    SELECT t.account_id, min(t.due_at) FROM ${columns} GROUP BY t.account_id ORDER BY t.account_id
    ON CONFLICT (account_id) DO UPDATE SET due_at = EXCLUDED.due_at, is_full = false
    WHERE a.due_at > EXCLUDED.due_at`
  return lost.length
}
