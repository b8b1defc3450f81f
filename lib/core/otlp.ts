import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { log } from '#lib/core/log.ts'
import { increment } from '#lib/core/metrics.ts'
import { env } from '#lib/core/settings.ts'
import { countWaiting, returnSpans, type Span, setExported, takeSpans } from '#lib/core/trace.ts'

const INTERVAL_MS = 1_000
const RETRY_MS = 5_000
/** Encoding a span takes 2 µs, and requests wait for a batch. */
const BATCH_MAX = 256
/** Time limit of OpenTelemetry for an export. */
const TIMEOUT_MS = 10_000
const STOP_MAX_MS = 2_000
const RESPONSE_BYTES_MAX = 64 * 1024
/** Responses after which the specification of OTLP lets a client send the same spans again. */
const TEMPORARY_STATUSES = [429, 502, 503, 504]

/** Numbers of the protocol. */
const KINDS = { server: 2, client: 3, producer: 4 } as const
const STATUS_ERROR = 2

const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }

interface Collector {
  url: URL
  headers: Record<string, string>
  resource: { attributes: object[] }
}

interface Failure {
  reason: string
  isTemporary: boolean
}

/**
 * Sends the recorded spans in batches to the collector of OTEL_EXPORTER_OTLP_ENDPOINT, if it is set. Returns a
 * function that sends the rest, for 2 s at most, and ends it.
 */
export function startSpanExport(role: 'web' | 'worker'): () => Promise<void> {
  const collector = findCollector(role)
  if (!collector) return async () => {}
  const stopping = new AbortController()
  const cut = new AbortController()
  setExported(true)
  const running = exportSpans(collector, stopping.signal, cut.signal)
  return async () => {
    stopping.abort()
    const timer = setTimeout(() => cut.abort(), STOP_MAX_MS)
    await running
    clearTimeout(timer)
    setExported(false)
    const spans = takeSpans(countWaiting()).length
    if (spans > 0)
      log().warn({ spans }, 'spans dropped at the stop: the collector did not take them')
  }
}

/** Sends no span. Returns why the collector does not take it; null if it does, undefined if there is none. */
export async function checkCollector(): Promise<{ host: string; fault: string | null } | null> {
  const collector = findCollector('command')
  if (!collector) return null
  const failure = await send(collector, [], AbortSignal.timeout(TIMEOUT_MS))
  return { host: collector.url.host, fault: failure?.reason ?? null }
}

/** Its address is the operator's, not a merchant's: it may be private. */
function findCollector(role: string): Collector | null {
  const { OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS, OTEL_SERVICE_NAME } = env()
  if (!OTEL_EXPORTER_OTLP_ENDPOINT) return null
  const url = new URL(OTEL_EXPORTER_OTLP_ENDPOINT)
  url.pathname = `${url.pathname.replace(/(?<!\/)\/+$/, '')}/v1/traces`
  const attributes = encodeAttributes({
    'service.name': OTEL_SERVICE_NAME,
    'service.version': version,
    'service.instance.id': randomUUID(),
    'host.name': hostname(),
    'process.pid': process.pid,
    'troco.role': role,
  })
  const headers = { ...OTEL_EXPORTER_OTLP_HEADERS, 'content-type': 'application/json' }
  return { url, headers, resource: { attributes } }
}

async function exportSpans(
  collector: Collector,
  stopSignal: AbortSignal,
  cutSignal: AbortSignal,
): Promise<void> {
  let failure: Failure | null = null
  while (!stopSignal.aborted) {
    const pauseMs = failure ? RETRY_MS : INTERVAL_MS
    await sleep(pauseMs, undefined, { signal: stopSignal, ref: false }).catch(() => {})
    const before = failure
    const sent = await sendWaiting(collector, cutSignal)
    if (sent === undefined) continue
    failure = sent
    const fields = { collector: collector.url.host, reason: failure?.reason }
    if (failure && !before) log().warn(fields, 'the OTLP collector takes no spans')
    if (!failure && before) log().info(fields, 'the OTLP collector takes spans again')
  }
}

/** Sends batches until none waits or one fails. Returns undefined if none waited. */
async function sendWaiting(
  collector: Collector,
  cutSignal: AbortSignal,
): Promise<Failure | null | undefined> {
  let sent: null | undefined
  for (let batch = takeSpans(BATCH_MAX); batch.length > 0; batch = takeSpans(BATCH_MAX)) {
    const signal = AbortSignal.any([AbortSignal.timeout(TIMEOUT_MS), cutSignal])
    const failure = await send(collector, batch, signal)
    if (failure?.isTemporary) returnSpans(batch)
    else if (failure) increment('troco_spans_total', ['dropped'], batch.length)
    if (failure) return failure
    sent = null
  }
  return sent
}

async function send(
  { url, headers, resource }: Collector,
  spans: Span[],
  signal: AbortSignal,
): Promise<Failure | null> {
  const body = encodeSpans(resource, spans)
  try {
    const init = { method: 'POST', headers, body, signal, redirect: 'manual' } as const
    const response = await fetch(url, init)
    const text = await readText(response)
    if (!response.ok) {
      const isTemporary = TEMPORARY_STATUSES.includes(response.status)
      return { reason: `status ${response.status}`, isTemporary }
    }
    const rejected = Math.min(spans.length, countRejected(text))
    increment('troco_spans_total', ['dropped'], rejected)
    increment('troco_spans_total', ['exported'], spans.length - rejected)
    return null
  } catch (error) {
    const { name, cause } = error as { name?: string; cause?: { code?: string } }
    return { reason: cause?.code ?? name ?? 'failed', isTemporary: true }
  }
}

async function readText(response: Response): Promise<string> {
  let text = ''
  const decoder = new TextDecoder()
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true })
    if (text.length > RESPONSE_BYTES_MAX) break
  }
  return text
}

/** Returns how many spans the collector reports not to have taken, although it responded with success. */
function countRejected(text: string): number {
  try {
    const count = Number(JSON.parse(text).partialSuccess?.rejectedSpans)
    return Math.max(count || 0, 0)
  } catch {
    return 0
  }
}

/** Encodes an ExportTraceServiceRequest in the JSON of OTLP. */
function encodeSpans(resource: Collector['resource'], spans: Span[]): string {
  const scope = { name: 'troco', version }
  const scopeSpans = [{ scope, spans: spans.map(encodeSpan) }]
  return JSON.stringify({ resourceSpans: spans.length === 0 ? [] : [{ resource, scopeSpans }] })
}

function encodeSpan({ trace, name, kind, endMs, tookMs, attributes, isFailed }: Span): object {
  return {
    traceId: trace.traceId,
    spanId: trace.spanId,
    parentSpanId: trace.parentId,
    name,
    kind: KINDS[kind],
    startTimeUnixNano: toNanoseconds(endMs - tookMs),
    endTimeUnixNano: toNanoseconds(endMs),
    attributes: encodeAttributes(attributes),
    ...(isFailed && { status: { code: STATUS_ERROR } }),
  }
}

/** In whole microseconds: a number has no room for the nanoseconds since 1970. */
function toNanoseconds(ms: number): string {
  return `${Math.round(ms * 1_000)}000`
}

function encodeAttributes(attributes: Span['attributes']): object[] {
  return Object.entries(attributes).flatMap(([key, value]) => {
    if (value === null || value === undefined) return []
    const isNumber = typeof value === 'number'
    return { key, value: isNumber ? { intValue: String(value) } : { stringValue: value } }
  })
}
