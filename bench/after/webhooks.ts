import { examineLedger, formatCount } from '../books.ts'
import { startReceiver } from '../load/receive.ts'
import type { Call } from '../load/receiver.ts'
import { buildRequest } from '../load/send.ts'
import { endChild, startServer, trackChild } from '../servers.ts'
import type { Verdict } from '../targets.ts'
import { type Merchant, makeMerchant } from '../world.ts'
import { type WrittenCharge, writeCharges } from './charges.ts'
import type { BenchEnvironment, Section } from './section.ts'

const MERCHANT_COUNT = 20
const PAID_PER_SECOND = 200
/** At 200 payments per second, 64 connections suffice while responses take at most 0.3 s. */
const CONNECTIONS = 64
const WARM_UP_MS = 2_000
const P50_MAX_MS = 250
const P99_MAX_MS = 2_000
/** Minimum share of the intended rate; below it, the load was lighter than the title says. */
const RATE_SHARE_MIN = 0.95

/**
 * Events after the warm-up. `created_at` is set inside the statement, shortly before the commit, so
 * the measured latencies are slightly too long.
 */
export const READ_PAID_EVENTS = `
  SELECT id, extract(epoch FROM created_at)::float8 * 1000 AS at FROM events
  WHERE account_id = ANY ($1) AND created_at >=
    (SELECT min(created_at) FROM events WHERE account_id = ANY ($1))
      + make_interval(secs => $2::float8 / 1000)`

/** Measures the time from payment to first webhook call. The worker runs inside the server. */
export async function measureWebhooks(environment: BenchEnvironment): Promise<Section> {
  const { settings, pool, generator, options } = environment
  const merchants: Merchant[] = []
  for (let number = 1; number <= MERCHANT_COUNT; number++)
    merchants.push(await makeMerchant(`Loja ${number}`))
  const receiver = await startReceiver(trackChild)
  const seconds = (WARM_UP_MS + options.paymentsMs) / 1_000
  const accountIds = merchants.map(({ id }) => id)
  const charges = await writeCharges(pool, {
    accountIds,
    // One more second of charges, because the run ends by the clock.
    total: Math.ceil((seconds + 1) * PAID_PER_SECOND),
    urls: [`${receiver.url}/webhooks`],
  })
  await pool.query('VACUUM ANALYZE')
  const workerSettings = { WORKER: 'true', WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' }
  const server = await startServer('fast', { ...settings, ...workerSettings })
  const outcome = await generator.send({
    port: server.port,
    requests: buildPaymentRequests(charges, merchants),
    connections: CONNECTIONS,
    perSecond: PAID_PER_SECOND,
    rampMs: WARM_UP_MS,
    measureMs: options.paymentsMs,
  })
  const calls = await receiver.collect(outcome.responseCount)
  await endChild(server.child)
  await endChild(receiver.child)
  const { rows } = await pool.query<{ id: string; at: number }>(READ_PAID_EVENTS, [
    accountIds,
    WARM_UP_MS,
  ])
  const latencies = computeLatencies(rows, calls)
  const rate = outcome.perSecond
  return {
    title: `From a payment to the first call of its webhook, ${MERCHANT_COUNT} merchants`,
    lines: [
      `${formatCount(outcome.responseCount)} charges paid, ${rate.toFixed(0)} per second; p99 of the responses ${outcome.p99.toFixed(1)} ms`,
      `${formatCount(latencies.length)} measured: p50 ${formatMs(latencies, 0.5)}, p99 ${formatMs(latencies, 0.99)}, longest ${formatMs(latencies, 1)}`,
      'Measured from the event row, which is written shortly before its commit.',
    ],
    verdicts: [
      judgeQuantile(latencies, 0.5, P50_MAX_MS, rate),
      judgeQuantile(latencies, 0.99, P99_MAX_MS, rate),
      judgeCompleteness(outcome.responseCount, calls),
      await examineLedger(),
    ],
  }
}

function buildPaymentRequests(charges: WrittenCharge[], merchants: Merchant[]): Buffer[] {
  const tokens = new Map(merchants.map(({ id, token }) => [id, token]))
  return charges.map(({ accountId, id }) =>
    buildRequest('POST', `/api/sandbox/transactions/${id}`, tokens.get(accountId) ?? '', {
      outcome: 'paid',
    }),
  )
}

/** Returns latencies in ms, ascending; an event without a call counts as infinite. */
export function computeLatencies(events: { id: string; at: number }[], calls: Call[]): number[] {
  const firstCalls = new Map<string, number>()
  for (const { eventId, at } of calls) if (!firstCalls.has(eventId)) firstCalls.set(eventId, at)
  return events
    .map(({ id, at }) => (firstCalls.get(id) ?? Number.POSITIVE_INFINITY) - at)
    .toSorted((a, b) => a - b)
}

export function quantile(sorted: number[], share: number): number {
  return sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN
}

function formatMs(latencies: number[], share: number): string {
  return `${quantile(latencies, share).toFixed(1)} ms`
}

function judgeQuantile(latencies: number[], share: number, maxMs: number, rate: number): Verdict {
  return {
    requirement: `webhook: p${share * 100} at most ${maxMs} ms while ${PAID_PER_SECOND} charges per second are paid`,
    measured: formatMs(latencies, share),
    isMet: quantile(latencies, share) <= maxMs && rate >= PAID_PER_SECOND * RATE_SHARE_MIN,
  }
}

function judgeCompleteness(paid: number, calls: Call[]): Verdict {
  const delivered = new Set(calls.map(({ eventId }) => eventId)).size
  return {
    requirement: 'webhook: the receiver got an event for every successful payment',
    measured: `${formatCount(delivered)} of ${formatCount(paid)}, in ${formatCount(calls.length)} calls`,
    isMet: delivered === paid,
  }
}
