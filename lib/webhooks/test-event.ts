import { randomBytes } from 'node:crypto'
import { enterGate, leaveGate } from '#lib/core/concurrency.ts'
import { invalidInput, refuse } from '#lib/core/errors.ts'
import { isUuid, newRoutableId } from '#lib/core/ids.ts'
import { Invariant } from '#lib/core/invariant.ts'
import { currentLogContext } from '#lib/core/log.ts'
import type { Mode } from '#lib/core/mode.ts'
import { childSpan, traceHeaders, traceOfEvent } from '#lib/core/trace.ts'
import { db } from '#lib/db/client.ts'
import { readDatabaseTime } from '#lib/db/clock.ts'
import { isUnderWaySql } from '#lib/webhooks/deliveries.ts'
import { eventToIntegration } from '#lib/webhooks/events.ts'
import { type Outcome, postWebhook } from '#lib/webhooks/post.ts'
import { problemText } from '#lib/webhooks/problem.ts'
import { PER_HOST_MAX, PER_URL_MAX } from '#lib/webhooks/queue.ts'
import { readSigningSecrets, signatureHeaders } from '#lib/webhooks/secrets.ts'
import {
  type EventType,
  mustRefuse,
  PING,
  type ReceiverCheck,
  type TestEventType,
} from '#lib/webhooks/states.ts'
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
  { type: requestedType, check }: { type?: TestEventType; check?: ReceiverCheck },
  { sampleOf, apiPix }: Samples,
): Promise<TestResult> {
  const where = { accountId, mode, id: endpointId, deletedAt: null }
  const endpoint = isUuid(endpointId) ? await db().webhookEndpoint.findFirst({ where }) : null
  if (!endpoint) throw refuse('endpoint_not_found')
  if (check && endpoint.isApiPix)
    throw invalidInput('check', 'is for endpoints that do not speak API Pix')
  const defaultType = mode === 'live' ? PING : (endpoint.eventTypes[0] as EventType)
  const at = await readDatabaseTime()
  const created_at = `${at.toISOString().slice(0, -1)}000Z`
  const build = (type: TestEventType) => {
    const head = { id: newRoutableId(accountId), mode, created_at }
    return type === PING ? buildPing(head) : buildTestEvent(head, type, sampleOf(type))
  }
  const secrets = await readSigningSecrets({ accountId, mode, endpointId })
  const send = async ({ event, secret, ageS = 0, change = text => text }: Probe) => {
    const { transaction, refund, return: returned } = event as { [part: string]: unknown }
    const resource = transaction ? { ...transaction, refund, return: returned } : null
    const body = JSON.stringify(endpoint.isApiPix ? apiPix(accountId, mode, resource) : event)
    const { trace, requestId } = currentLogContext()
    const span = childSpan(trace ?? traceOfEvent(null, event.id))
    const signedAt = new Date(at.getTime() - ageS * 1_000)
    const headers = {
      'content-type': 'application/json',
      ...signatureHeaders(event.id, body, secret ? [secret] : secrets, signedAt),
      ...traceHeaders(span, requestId),
    }
    const sent = change(body)
    const outcome = await withPlaces(accountId, endpoint.url, () =>
      postWebhook({ url: endpoint.url, mode, headers, body: sent }),
    )
    return { outcome, headers, body: sent }
  }
  const result = ({ outcome, headers, body }: Awaited<ReturnType<typeof send>>) => ({
    delivered: outcome.problem === null,
    status: outcome.status,
    problem: problemText(outcome.problem),
    problem_code: outcome.problem?.code ?? null,
    problem_params: outcome.problem?.params ?? null,
    address: outcome.address,
    duration_ms: Math.round(outcome.durationMs),
    request_headers: headers,
    request_body: body.length > SHOWN_MAX ? `${body.slice(0, SHOWN_MAX)}…` : body,
    response_headers: outcome.headers,
    response_body: outcome.body,
  })
  if (!check) return result(await send({ event: build(requestedType ?? defaultType) }))
  for (const probe of probesOf(check, build)) {
    const sent = await send(probe)
    const passed = isRight(check, sent.outcome)
    if (!passed || !probe.isFollowed) return { ...result(sent), passed }
  }
  throw new Invariant(`the check ${check} has no last event`)
}

/** A sample that tries a receiver. */
interface Probe {
  event: { id: string }
  /** Signs instead of the secrets of the endpoint. */
  secret?: string
  ageS?: number
  /** Changes the body after it was signed. */
  change?: (body: string) => string
  isFollowed?: boolean
}

const OLD_S = 600
const FAST_MS = 5_000
const LARGE_BYTES = 1_048_576
/** Characters of a request that are returned. */
const SHOWN_MAX = 8_192

function probesOf(check: ReceiverCheck, build: (type: EventType) => Probe['event']): Probe[] {
  const event = build('transaction.paid')
  switch (check) {
    case 'wrong_signature':
      return [{ event, secret: `whsec_${randomBytes(32).toString('base64')}` }]
    case 'changed_body':
      return [{ event, change: body => body.replace(/"amount":\d+/, '"amount":1') }]
    case 'old_timestamp':
      return [{ event, ageS: OLD_S }]
    case 'duplicate':
      return [{ event, isFollowed: true }, { event }]
    case 'out_of_order':
      return [{ event: build('transaction.refunded'), isFollowed: true }, { event }]
    case 'unknown_type':
      return [{ event: Object.assign(event, { type: 'transaction.settled' }) }]
    case 'large':
      return [{ event: Object.assign(event, { padding: 'x'.repeat(LARGE_BYTES) }) }]
    default:
      return [{ event }]
  }
}

/** A receiver that breaks on a forged event has not refused it. */
function isRight(check: ReceiverCheck, { status, durationMs }: Outcome): boolean {
  const firstDigit = Math.floor((status ?? 0) / 100)
  if (mustRefuse(check)) return firstDigit === 4
  return firstDigit === 2 && (check !== 'fast' || durationMs <= FAST_MS)
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
