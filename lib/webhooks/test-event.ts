import { enterGate, leaveGate } from '#lib/core/concurrency.ts'
import { refuse } from '#lib/core/errors.ts'
import { isUuid, newRoutableId } from '#lib/core/ids.ts'
import { currentLogContext } from '#lib/core/log.ts'
import type { Mode } from '#lib/core/mode.ts'
import { childSpan, traceHeaders, traceOfEvent } from '#lib/core/trace.ts'
import { db } from '#lib/db/client.ts'
import { readDatabaseTime } from '#lib/db/clock.ts'
import { isUnderWaySql } from '#lib/webhooks/deliveries.ts'
import { eventToIntegration } from '#lib/webhooks/events.ts'
import { postWebhook } from '#lib/webhooks/post.ts'
import { problemText } from '#lib/webhooks/problem.ts'
import { PER_HOST_MAX, PER_URL_MAX } from '#lib/webhooks/queue.ts'
import { readSigningSecrets, signatureHeaders } from '#lib/webhooks/secrets.ts'
import { type EventType, PING, type TestEventType } from '#lib/webhooks/states.ts'
import { hostOf } from '#lib/webhooks/target.ts'
import type { TestResult } from '#lib/webhooks/wire.ts'

/** Time that a test event waits for a place before it is refused with `too_many_requests`. */
const PLACE_WAIT_MS = 2_000

/** Passed in: this folder comes before charges, withdrawals and API Pix. */
interface Samples {
  /** Returns an example resource. */
  sampleOf: (type: EventType) => Record<string, unknown>
  /** Serializes one for an endpoint of API Pix; null: a body without a payment. */
  apiPix: (accountId: string, mode: Mode, resource: object | null) => object
}

/**
 * Sends at once, without retries; stores nothing. Also calls a disabled endpoint, to test it. In live
 * mode the request's schema lets only a ping through: a receiver believes what the live secret signs.
 */
export async function sendTestEvent(
  accountId: string,
  mode: Mode,
  endpointId: string,
  requestedType: TestEventType | undefined,
  { sampleOf, apiPix }: Samples,
): Promise<TestResult> {
  const where = { accountId, mode, id: endpointId, deletedAt: null }
  const endpoint = isUuid(endpointId) ? await db().webhookEndpoint.findFirst({ where }) : null
  if (!endpoint) throw refuse('endpoint_not_found')
  const defaultType = mode === 'live' ? PING : (endpoint.eventTypes[0] as EventType)
  const type = requestedType ?? defaultType
  const id = newRoutableId(accountId)
  const at = await readDatabaseTime()
  const head = { id, mode, created_at: `${at.toISOString().slice(0, -1)}000Z` }
  const event = type === PING ? buildPing(head) : buildTestEvent(head, type, sampleOf(type))
  const { transaction, refund, return: returned } = event as { [part: string]: unknown }
  const resource = transaction ? { ...transaction, refund, return: returned } : null
  const body = JSON.stringify(endpoint.isApiPix ? apiPix(accountId, mode, resource) : event)
  const secrets = await readSigningSecrets({ accountId, mode, endpointId })
  const { trace, requestId } = currentLogContext()
  const span = childSpan(trace ?? traceOfEvent(null, event.id))
  const headers = {
    'content-type': 'application/json',
    ...signatureHeaders(event.id, body, secrets, at),
    ...traceHeaders(span, requestId),
  }
  const outcome = await withPlaces(accountId, endpoint.url, () =>
    postWebhook({ url: endpoint.url, mode, headers, body }),
  )
  return {
    delivered: outcome.problem === null,
    status: outcome.status,
    problem: problemText(outcome.problem),
    problem_code: outcome.problem?.code ?? null,
    problem_params: outcome.problem?.params ?? null,
    address: outcome.address,
    duration_ms: Math.round(outcome.durationMs),
    request_headers: headers,
    request_body: body,
    response_headers: outcome.headers,
    response_body: outcome.body,
  }
}

/**
 * Runs a call within the limits of deliveries per URL and host, less the deliveries in progress. This
 * process counts its own test events only; at a busy receiver one may run nevertheless.
 */
async function withPlaces<T>(accountId: string, url: string, run: () => Promise<T>): Promise<T> {
  const host = hostOf(url)
  const calls = await countCalls(accountId, url, host)
  const places = [
    { name: `test event ${accountId} ${url}`, max: PER_URL_MAX - calls.toUrl },
    { name: `test event ${accountId} ${host}`, max: PER_HOST_MAX - calls.toHost },
  ]
  const deadline = performance.now() + PLACE_WAIT_MS
  const entered: string[] = []
  try {
    for (const { name, max } of places) {
      await enterGate(name, max, deadline)
      entered.push(name)
    }
    return await run()
  } finally {
    for (const name of entered) leaveGate(name)
  }
}

/** Deliveries of a host that are read to count its calls. */
const READ_MAX = 64

/** Counts the calls that a worker makes at most for the deliveries under way. */
async function countCalls(accountId: string, url: string, host: string) {
  const rows = await db().$queryRaw<{ url: string }[]>`
    SELECT d.url FROM (
      (SELECT * FROM deliveries WHERE account_id = ${accountId}::uuid AND host = ${host}
        AND hashtextextended(url, 0) = hashtextextended(${url}, 0) AND url = ${url}
        AND due_at <= now() LIMIT ${PER_URL_MAX})
      UNION ALL
      (SELECT * FROM deliveries WHERE account_id = ${accountId}::uuid AND host = ${host}
        AND url <> ${url} AND due_at <= now() LIMIT ${READ_MAX})) d
    WHERE ${isUnderWaySql}`
  const perUrl = Map.groupBy(rows, row => row.url)
  const countOf = (found: unknown[] = []) => Math.min(PER_URL_MAX, found.length)
  const toHost = [...perUrl.values()].reduce((sum, found) => sum + countOf(found), 0)
  return { toUrl: countOf(perUrl.get(url)), toHost }
}

interface Head {
  id: string
  mode: Mode
  created_at: string
}

function buildPing({ id, mode, created_at }: Head) {
  return { id, type: PING, event: 'ping', mode, sequence: 0, created_at }
}

/** Builds the event. Its sequence number is 0, which no real event has. */
function buildTestEvent(head: Head, type: EventType, sample: Record<string, unknown>) {
  const {
    transaction,
    withdrawal,
    refund,
    dispute,
    return: returned,
    payment,
  } = sample as Record<string, object | undefined>
  const withMode = (resource: object | undefined) => ({ ...resource, mode: head.mode })
  const serializers = {
    transaction: () => ({
      transaction: withMode(transaction),
      ...(refund ? { refund } : {}),
      ...(payment ? { payment } : {}),
      ...(dispute ? { dispute } : {}),
      ...(returned ? { return: returned } : {}),
    }),
    withdrawal: () => ({ withdrawal: withMode(withdrawal) }),
  }
  const row = { ...head, type, sequence: 0, resource: null }
  return { ...eventToIntegration(row, serializers, true), id: head.id }
}
