import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { renderMetrics } from '#lib/core/metrics.ts'
import { checkCollector, startSpanExport } from '#lib/core/otlp.ts'
import { supplyEnv } from '#lib/core/settings.ts'
import { childSpan, countWaiting, recordSpan, WAITING_MAX } from '#lib/core/trace.ts'
import { type Collector, openCollector } from '#lib/testing/collector.ts'
import { followLog } from '#lib/testing/log-tail.ts'
import { status } from '#lib/testing/receiver.ts'
import { findFreePort } from '#lib/testing/server.ts'
import { testInTorture } from '#lib/testing/torture.ts'

let collector: Collector
beforeEach(async () => {
  collector = await openCollector({ OTEL_EXPORTER_OTLP_HEADERS: 'api-key=a%20b,x-tenant=7' })
})
afterEach(() => collector.close())

function record(name: string): void {
  recordSpan(() => ({
    trace: childSpan(null),
    name,
    kind: 'client',
    isFailed: false,
    endMs: Date.now(),
    tookMs: 1.5,
    attributes: { 'troco.outcome': 'ok' },
  }))
}

function recordMany(count: number): void {
  for (let index = 0; index < count; index++) record(`span ${index}`)
}

function countSpans(outcome: 'exported' | 'dropped'): number {
  const series = `troco_spans_total{outcome="${outcome}"} `
  const line = renderMetrics([])
    .split('\n')
    .find(each => each.startsWith(series))
  return Number(line?.slice(series.length) ?? 0)
}

test('spans go to /v1/traces with the configured headers, each once, and at the stop at the latest', async () => {
  const before = countSpans('exported')
  recordMany(600)
  const spans = await collector.readSpans()
  expect(spans.map(({ name }) => name)).toEqual(
    Array.from({ length: 600 }, (_, index) => `span ${index}`),
  )
  expect(spans[0]?.endMs).toBeCloseTo((spans[0]?.startMs ?? 0) + 1.5, 2)
  expect(collector.calls[0]).toMatchObject({
    path: '/v1/traces',
    headers: { 'content-type': 'application/json', 'api-key': 'a b', 'x-tenant': '7' },
  })
  expect(countSpans('exported') - before).toBe(600)
})

test('spans are sent without a stop', async () => {
  record('alone')
  await expect.poll(() => collector.calls.length).toBe(1)
})

test('without a collector nothing is described or kept', async () => {
  await collector.close()
  const stop = startSpanExport('worker')
  recordSpan(() => expect.unreachable('a span was described'))
  expect(countWaiting()).toBe(0)
  expect(await checkCollector()).toBeNull()
  await stop()
  collector = await openCollector()
})

testInTorture(
  'while the collector is unavailable, the newest spans wait, and it is logged once until it recovers',
  async () => {
    const readLog = followLog()
    const before = countSpans('dropped')
    collector.respondWith(status(503))
    record('oldest')
    await expect.poll(() => collector.calls.length).toBe(1)
    await expect.poll(countWaiting).toBe(1)
    recordMany(WAITING_MAX)
    expect(countWaiting()).toBe(WAITING_MAX)
    expect(countSpans('dropped') - before).toBe(1)
    await expect.poll(() => collector.calls.length, { timeout: 15_000 }).toBe(2)
    collector.calls.length = 0
    collector.respondWith(status(200))
    await expect.poll(countWaiting, { timeout: 15_000 }).toBe(0)
    await expect.poll(readLog).toContain('the OTLP collector takes spans again')
    const names = (await collector.readSpans()).map(({ name }) => name)
    expect(names).toHaveLength(WAITING_MAX)
    expect(names[0]).toBe('span 0')
    const lines = readLog().split('\n')
    const warnings = lines.filter(line => line.includes('the OTLP collector takes no spans'))
    expect(warnings).toHaveLength(1)
    expect(warnings[0]).toContain('status 503')
    expect(lines.join()).not.toContain('a b')
  },
)

test('spans that the collector refuses are dropped and counted, not repeated', async () => {
  const before = countSpans('dropped')
  collector.respondWith(status(401))
  recordMany(3)
  await expect.poll(() => countSpans('dropped') - before).toBe(3)
  expect(countWaiting()).toBe(0)
  collector.respondWith((_received, response) =>
    response.end('{"partialSuccess":{"rejectedSpans":"2"}}'),
  )
  recordMany(3)
  await collector.readSpans()
  expect(countSpans('dropped') - before).toBe(5)
  expect(collector.calls).toHaveLength(2)
})

test('a collector that does not respond delays neither what is traced nor the stop', async () => {
  collector.respondWith(() => {})
  record('first')
  await expect.poll(() => collector.calls.length).toBe(1)
  recordMany(WAITING_MAX * 2)
  expect(countWaiting()).toBe(WAITING_MAX)
  await sleep(0)
  expect(collector.calls).toHaveLength(1)
  const readLog = followLog()
  await collector.readSpans()
  expect(countWaiting()).toBe(0)
  expect(readLog()).toContain('spans dropped at the stop')
})

test('the check of an installation names why the collector takes no spans', async () => {
  const { host } = new URL(collector.url)
  expect(await checkCollector()).toEqual({ host, fault: null })
  collector.respondWith(status(401))
  expect(await checkCollector()).toEqual({ host, fault: 'status 401' })
  supplyEnv({ OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${await findFreePort()}/base/` })
  expect(await checkCollector()).toMatchObject({ fault: 'ECONNREFUSED' })
})
