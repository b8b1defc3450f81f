import { count, examineLedger } from '../books.ts'
import { startReceiver } from '../load/receive.ts'
import type { Call } from '../load/receiver.ts'
import { writeRequest } from '../load/send.ts'
import type { Verdict } from '../musts.ts'
import { adopt, endChild, startServer } from '../servers.ts'
import { type Merchant, makeMerchant } from '../world.ts'
import { type WrittenCharge, writeCharges } from './charges.ts'
import type { Ground, Section } from './section.ts'

const MERCHANTS = 20
const PAID_PER_SECOND = 200
/** Enough: a payment waits for a connection only when responses take longer than 0.3 s. */
const CONNECTIONS = 64
const WARM_UP_MS = 2_000
const P50_MAX_MS = 250
const P99_MAX_MS = 2_000
/** Below this share of the rate, the times belong to another load. */
const RATE_MIN = 0.95

/**
 * `created_at` is set inside the statement, shortly before its commit: the times are slightly too
 * long.
 */
const TOLD = `
  SELECT id, extract(epoch FROM created_at)::float8 * 1000 AS at FROM events
  WHERE account_id = ANY ($1) AND created_at >=
    (SELECT min(created_at) FROM events WHERE account_id = ANY ($1))
      + make_interval(secs => $2::float8 / 1000)`

/** The worker runs inside the server. */
export async function measureWebhooks(ground: Ground): Promise<Section> {
  const { settings, pool, generator, options } = ground
  const merchants: Merchant[] = []
  for (let nth = 1; nth <= MERCHANTS; nth++) merchants.push(await makeMerchant(`Loja ${nth}`))
  const receiver = await startReceiver(adopt)
  const seconds = (WARM_UP_MS + options.paysMs) / 1_000
  const accountIds = merchants.map(({ id }) => id)
  const charges = await writeCharges(pool, {
    accountIds,
    // One more second of charges, because the run ends by the clock.
    total: Math.ceil((seconds + 1) * PAID_PER_SECOND),
    urls: [`${receiver.url}/webhooks`],
  })
  await pool.query('VACUUM ANALYZE')
  const allowed = { WORKER: 'true', WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' }
  const server = await startServer('fast', { ...settings, ...allowed })
  const paid = await generator.send({
    port: server.port,
    requests: payments(charges, merchants),
    connections: CONNECTIONS,
    perSecond: PAID_PER_SECOND,
    rampMs: WARM_UP_MS,
    measureMs: options.paysMs,
  })
  const calls = await receiver.take(paid.answered)
  await endChild(server.child)
  await endChild(receiver.child)
  const { rows } = await pool.query<{ id: string; at: number }>(TOLD, [accountIds, WARM_UP_MS])
  const waits = waitsFor(rows, calls)
  const rate = paid.perSecond
  return {
    title: `From a payment to the first call of its webhook, ${MERCHANTS} merchants`,
    lines: [
      `${count(paid.answered)} charges paid, ${rate.toFixed(0)} per second; p99 of the responses ${paid.p99.toFixed(1)} ms`,
      `${count(waits.length)} measured: p50 ${ms(waits, 0.5)}, p99 ${ms(waits, 0.99)}, longest ${ms(waits, 1)}`,
      'Measured from the event row, which is written shortly before its commit.',
    ],
    verdicts: [
      within(waits, 0.5, P50_MAX_MS, rate),
      within(waits, 0.99, P99_MAX_MS, rate),
      everyOneTold(paid.answered, calls),
      await examineLedger(),
    ],
  }
}

function payments(charges: WrittenCharge[], merchants: Merchant[]): Buffer[] {
  const tokens = new Map(merchants.map(({ id, token }) => [id, token]))
  return charges.map(({ accountId, id }) =>
    writeRequest('POST', `/api/sandbox/transactions/${id}`, tokens.get(accountId) ?? '', {
      outcome: 'paid',
    }),
  )
}

/** Sorted ascending; an event without a call counts as infinite. */
function waitsFor(events: { id: string; at: number }[], calls: Call[]): number[] {
  const first = new Map<string, number>()
  for (const { eventId, at } of calls) if (!first.has(eventId)) first.set(eventId, at)
  return events
    .map(({ id, at }) => (first.get(id) ?? Number.POSITIVE_INFINITY) - at)
    .toSorted((a, b) => a - b)
}

function quantile(sorted: number[], share: number): number {
  return sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN
}

function ms(waits: number[], share: number): string {
  return `${quantile(waits, share).toFixed(1)} ms`
}

function within(waits: number[], share: number, mostMs: number, rate: number): Verdict {
  return {
    promise: `webhook: p${share * 100} at most ${mostMs} ms while ${PAID_PER_SECOND} charges per second are paid`,
    figure: ms(waits, share),
    holds: quantile(waits, share) <= mostMs && rate >= PAID_PER_SECOND * RATE_MIN,
  }
}

function everyOneTold(paid: number, calls: Call[]): Verdict {
  const told = new Set(calls.map(({ eventId }) => eventId)).size
  return {
    promise: 'webhook: the receiver got an event for every successful payment',
    figure: `${count(told)} of ${count(paid)}, in ${count(calls.length)} calls`,
    holds: told === paid,
  }
}
