import { randomBytes } from 'node:crypto'
import { isUuid, removeHyphens } from '#lib/base/ids.ts'
import { currentLogContext, type Trace } from '#lib/base/log.ts'

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
const ZEROS = /^0+$/
const SAMPLED = 1

/** Continues the trace of a `traceparent` of W3C Trace Context. Without a valid one, starts a trace. */
export function continueTrace(traceparent: string | null, requestId = ''): Trace {
  return parseTraceparent(traceparent) ?? startTrace(requestId)
}

/** The trace has the id of what started it, if that is a UUID: of a request, or of an event. */
function startTrace(id: string): Trace {
  const traceId = isUuid(id) ? removeHyphens(id).toLowerCase() : randomBytes(16).toString('hex')
  // Sampled, because the story is stored: most receivers record nothing of a trace that is not.
  return { traceId, spanId: newSpanId(), isSampled: true }
}

function parseTraceparent(text: string | null): Trace | null {
  const [, version, traceId, parentId, flags, rest] = TRACEPARENT.exec(text ?? '') ?? []
  if (!version || !traceId || !parentId || !flags || version === 'ff') return null
  if (version === '00' && rest !== undefined) return null
  if (ZEROS.test(traceId) || ZEROS.test(parentId)) return null
  const isSampled = (Number.parseInt(flags, 16) & SAMPLED) === SAMPLED
  return { traceId, spanId: newSpanId(), parentId, isSampled }
}

export function newSpanId(): string {
  const id = randomBytes(8).toString('hex')
  return ZEROS.test(id) ? newSpanId() : id
}

/** The API request that caused a row, as `events.trace` stores it. */
export interface Cause {
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
 * Headers of a call about an event, which no signature covers. A new span continues the trace of the
 * request that caused the event; an event without one has a trace of its own id.
 */
export function traceHeaders(stored: string | null, eventId: string): Record<string, string> {
  const cause = parseCause(stored)
  const { traceId, isSampled } = cause ?? startTrace(eventId)
  const traceparent = `00-${traceId}-${newSpanId()}-${formatFlags({ isSampled })}`
  return { traceparent, ...(cause && { 'troco-request-id': cause.requestId }) }
}

function formatFlags({ isSampled }: Pick<Trace, 'isSampled'>): string {
  return isSampled ? '01' : '00'
}
