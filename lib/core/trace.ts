import { randomBytes, randomUUID } from 'node:crypto'
import { isUuid, removeHyphens } from '#lib/core/ids.ts'
import { currentLogContext, type TraceContext } from '#lib/core/log.ts'
import { increment } from '#lib/core/metrics.ts'
import { processWide } from '#lib/core/process-wide.ts'

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
const ZEROS = /^0+$/
const SAMPLED = 1
const SPAN_DIGITS = 16

/** Continues the trace of a `traceparent` of W3C Trace Context. Without a valid one, starts a trace. */
export function continueTrace(traceparent: string | null, requestId = ''): TraceContext {
  return parseTraceparent(traceparent) ?? startTrace(requestId)
}

/** The trace has the id of what started it, if that is a UUID: of a request, or of an event. */
function startTrace(id: string): TraceContext {
  const traceId = isUuid(id) ? removeHyphens(id).toLowerCase() : randomBytes(16).toString('hex')
  // Sampled, because the trace is stored: most receivers record nothing of a trace that is not.
  return new StartedTrace(traceId)
}

/** Draws the id of its span when it is first read: nothing reads that of most requests. */
class StartedTrace implements TraceContext {
  readonly traceId: string
  readonly isSampled = true
  #spanId: string | undefined

  constructor(traceId: string) {
    this.traceId = traceId
  }

  get spanId(): string {
    this.#spanId ??= newSpanId()
    return this.#spanId
  }
}

function parseTraceparent(text: string | null): TraceContext | null {
  const [, version, traceId, parentId, flags, rest] = TRACEPARENT.exec(text ?? '') ?? []
  if (!version || !traceId || !parentId || !flags || version === 'ff') return null
  if (version === '00' && rest !== undefined) return null
  if (ZEROS.test(traceId) || ZEROS.test(parentId)) return null
  const isSampled = (Number.parseInt(flags, 16) & SAMPLED) === SAMPLED
  return { traceId, spanId: newSpanId(), parentId, isSampled }
}

/** From a UUID, because Node draws the random bytes of UUIDs in batches. */
function newSpanId(): string {
  const uuid = randomUUID()
  const id = uuid.slice(0, SPAN_DIGITS / 2) + uuid.slice(-SPAN_DIGITS / 2)
  return ZEROS.test(id) ? newSpanId() : id
}

/** The API request that caused a row, as `events.trace` stores it. */
interface Cause {
  traceId: string
  spanId: string
  isSampled: boolean
  requestId: string
}

/** Returns the current API request for a column `trace`; null in a job. */
export function currentCause(): string | null {
  const { trace, requestId } = currentLogContext()
  if (!trace || !requestId) return null
  return `${trace.traceId}-${trace.spanId}-${formatFlags(trace)}-${requestId}`
}

/** Place of the request id in a column `trace`, from 1: the index events_trace_request_idx uses it. */
export const REQUEST_ID_PLACE = 54

export function parseCause(stored: string | null): Cause | null {
  if (stored === null) return null
  const [traceId = '', spanId = '', flags] = stored.split('-')
  const requestId = stored.slice(REQUEST_ID_PLACE - 1)
  return { traceId, spanId, isSampled: flags === '01', requestId }
}

/**
 * Returns the span of an event, in the trace of the request that caused it or in one of its own id. All
 * processes give the span the same id: the end of the event's.
 */
export function traceOfEvent(stored: string | null, eventId: string): TraceContext {
  const cause = parseCause(stored)
  const { traceId, isSampled } = cause ?? startTrace(eventId)
  const spanId = removeHyphens(eventId).slice(-SPAN_DIGITS)
  return { traceId, spanId, ...(cause && { parentId: cause.spanId }), isSampled }
}

/** Returns a span below another. Without one, starts a trace. */
export function childSpan(parent: Omit<TraceContext, 'parentId'> | null | undefined): TraceContext {
  if (!parent) return startTrace('')
  const { traceId, spanId: parentId, isSampled } = parent
  return { traceId, spanId: newSpanId(), parentId, isSampled }
}

/** Headers of a call about an event, which no signature covers. */
export function traceHeaders(
  span: TraceContext,
  requestId: string | undefined,
): Record<string, string> {
  const traceparent = `00-${span.traceId}-${span.spanId}-${formatFlags(span)}`
  return { traceparent, ...(requestId && { 'troco-request-id': requestId }) }
}

function formatFlags({ isSampled }: Pick<TraceContext, 'isSampled'>): string {
  return isSampled ? '01' : '00'
}

/**
 * A part of a trace that has ended. Attributes are ids, names, codes and counts: no text of a caller but
 * the request id that it chose.
 */
export interface Span {
  trace: TraceContext
  name: string
  kind: 'server' | 'client' | 'producer'
  endMs: number
  tookMs: number
  attributes: Record<string, string | number | null | undefined>
  isFailed: boolean
}

/** About 3 MiB. Beyond it, the oldest are dropped. */
export const WAITING_MAX = 4_096

const state = processWide('spans', () => ({
  isExported: false,
  /** By id: the span of an event with several deliveries waits once. */
  waiting: new Map<string, Span>(),
}))

/** Turned on by the exporter: without it, nothing is described or kept. */
export function setExported(isExported: boolean): void {
  state.isExported = isExported
}

export function isExported(): boolean {
  return state.isExported
}

/** Keeps a span of a sampled trace for the exporter. Never waits. */
export function recordSpan(describe: () => Span): void {
  if (!state.isExported) return
  const span = describe()
  if (!span.trace.isSampled) return
  state.waiting.set(span.trace.spanId, span)
  dropOldest()
}

export function takeSpans(limit: number): Span[] {
  const taken = [...state.waiting.values().take(limit)]
  for (const { trace } of taken) state.waiting.delete(trace.spanId)
  return taken
}

/** Puts spans back before those that were recorded since. */
export function returnSpans(spans: Span[]): void {
  const returned = spans.map(span => [span.trace.spanId, span] as const)
  state.waiting = new Map([...returned, ...state.waiting])
  dropOldest()
}

export function countWaiting(): number {
  return state.waiting.size
}

function dropOldest(): void {
  const excess = state.waiting.size - WAITING_MAX
  if (excess > 0) increment('troco_spans_total', ['dropped'], takeSpans(excess).length)
}
