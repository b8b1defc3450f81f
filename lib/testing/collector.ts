import root from '@opentelemetry/otlp-transformer/build/src/generated/root.js'
import { expect } from 'vitest'
import { startSpanExport } from '#lib/core/otlp.ts'
import { supplyEnv } from '#lib/core/settings.ts'
import { openReceiver, type Receiver } from '#lib/testing/receiver.ts'

/** A message that OpenTelemetry generated from its protocol. */
interface MessageType {
  fromObject: (json: object) => object
  encode: (message: object) => { finish: () => Uint8Array }
  decode: (bytes: Uint8Array) => object
  toObject: (message: object, options: object) => object
}
interface Protocol {
  opentelemetry: {
    proto: { collector: { trace: { v1: { ExportTraceServiceRequest: MessageType } } } }
  }
}
const { ExportTraceServiceRequest: Export } = (root as unknown as Protocol).opentelemetry.proto
  .collector.trace.v1

interface Sent {
  resourceSpans: {
    resource: { attributes: Attribute[] }
    scopeSpans: { spans: SentSpan[] }[]
  }[]
}
interface SentSpan {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  kind: number
  startTimeUnixNano: string
  endTimeUnixNano: string
  attributes: Attribute[]
  status?: { code: number } | null
}
interface Attribute {
  key: string
  value: { stringValue?: string; intValue?: string }
}

export interface ReadSpan
  extends Pick<SentSpan, 'traceId' | 'spanId' | 'parentSpanId' | 'name' | 'kind'> {
  startMs: number
  endMs: number
  attributes: Record<string, string | undefined>
  statusCode: number
  service: Record<string, string | undefined>
}

export interface Collector extends Receiver {
  /** Exports what waits and returns all spans received, the earliest first. */
  readSpans: () => Promise<ReadSpan[]>
}

const SETTINGS = ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_HEADERS', 'OTEL_SERVICE_NAME']

/** Starts the export of spans to a receiver that reads them with OpenTelemetry's own package. */
export async function openCollector(settings: Record<string, string> = {}): Promise<Collector> {
  const receiver = await openReceiver()
  supplyEnv({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, ...settings })
  let stop = startSpanExport('web')
  return {
    ...receiver,
    async readSpans() {
      await stop()
      stop = startSpanExport('web')
      return receiver.calls.flatMap(({ text }) => readExport(text))
    },
    async close() {
      await stop()
      supplyEnv(Object.fromEntries(SETTINGS.map(name => [name, ''])))
      await receiver.close()
    },
  }
}

/** Fails if the protocol has no place for something that was sent. */
function readExport(text: string): ReadSpan[] {
  const sent = JSON.parse(text)
  // The JSON of OTLP has ids in hexadecimal digits, that of Protocol Buffers in base64.
  const bytes = Export.encode(Export.fromObject(recode(sent, 'hex', 'base64'))).finish()
  const options = { longs: String, bytes: String, arrays: true }
  const read = recode(Export.toObject(Export.decode(bytes), options), 'base64', 'hex') as Sent
  expect(read).toMatchObject(sent)
  return read.resourceSpans
    .flatMap(({ resource, scopeSpans }) =>
      scopeSpans.flatMap(({ spans }) => spans.map(span => ({ span, resource }))),
    )
    .map(({ span, resource }) => ({
      ...span,
      startMs: toMs(span.startTimeUnixNano),
      endMs: toMs(span.endTimeUnixNano),
      attributes: readAttributes(span.attributes),
      statusCode: span.status?.code ?? 0,
      service: readAttributes(resource.attributes),
    }))
}

function recode(value: object, from: BufferEncoding, to: BufferEncoding): object {
  const recodeId = (name: string, text: unknown) =>
    /^(trace|span|parentSpan)Id$/.test(name) && typeof text === 'string'
      ? Buffer.from(text, from).toString(to)
      : text
  return JSON.parse(JSON.stringify(value), recodeId)
}

function readAttributes(attributes: Attribute[]): Record<string, string | undefined> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue]),
  )
}

function toMs(nanoseconds: string): number {
  return Number(BigInt(nanoseconds) / 1_000n) / 1_000
}
