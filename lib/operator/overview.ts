import { idLowerBoundAt } from '#lib/core/ids.ts'
import type { Mode } from '#lib/core/mode.ts'
import { Prisma } from '#lib/db/client.ts'
import { queryRows } from '#lib/db/sql.ts'
import {
  type ChargeFigures,
  type Overview,
  type OverviewInterval,
  type RequestFigures,
  SPANS,
  type SpanName,
} from '#lib/operator/schema.ts'

/**
 * Upper bounds of the histogram of response times, in milliseconds; one more class counts slower
 * ones. Stored rows have one number per class, so bounds may only be added at the end.
 */
export const LATENCY_BOUNDS_MS: readonly number[] = [
  1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 40, 50, 70, 100, 150, 200, 300, 400, 500, 700, 1_000, 1_500,
  2_000, 3_000, 5_000, 10_000,
]

export function latencyClassOf(tookMs: number): number {
  const nth = LATENCY_BOUNDS_MS.findIndex(bound => tookMs <= bound)
  return nth === -1 ? LATENCY_BOUNDS_MS.length : nth
}

/** Returns the time within which this part of the responses was sent; null without responses. */
export function percentileOf(counts: readonly number[], part: number): number | null {
  const total = counts.reduce((sum, count) => sum + count, 0)
  if (total === 0) return null
  const rank = part * total
  let seen = 0
  for (const [nth, count] of counts.entries()) {
    if (seen + count >= rank && count > 0) {
      const from = LATENCY_BOUNDS_MS[nth - 1] ?? 0
      const to = LATENCY_BOUNDS_MS[nth] ?? from
      return from + ((to - from) * (rank - seen)) / count
    }
    seen += count
  }
  return null
}

const HOUR_MS = 3_600_000
/** Midnight in Sao Paulo, from which intervals are counted. No clock change since 2019. */
const ORIGIN_MS = Date.UTC(2000, 0, 1, 3)
/** Each open page asks again by itself at most this often; sums of 30 days read many rows. */
const CACHED_MS = 60_000

const cache = new Map<string, { readAt: number; overview: Promise<Overview> }>()

/** Returns the figures of all accounts in both modes, at most a minute old. */
export function readOverview(name: SpanName): Promise<Overview> {
  const known = cache.get(name)
  if (known && Date.now() - known.readAt < CACHED_MS) return known.overview
  const overview = sumUp(name)
  cache.set(name, { readAt: Date.now(), overview })
  overview.catch(() => cache.delete(name))
  return overview
}

interface Span {
  from: Date
  widthMs: number
}

type Payments = Pick<ChargeFigures, 'paid_amount' | 'paid_count'>
type Created = Pick<ChargeFigures, 'created' | 'converted'>
interface Requests extends Pick<RequestFigures, 'refused' | 'limited' | 'failed'> {
  succeeded: number
  latencies: number[]
}
type OfInterval<Row> = Row & { at_ms: number }

/** Computes the figures of the intervals up to and including the present one. */
export async function sumUp(name: SpanName, now = Date.now()): Promise<Overview> {
  const { hours, intervalHours } = SPANS[name]
  const widthMs = intervalHours * HOUR_MS
  const last = ORIGIN_MS + Math.floor((now - ORIGIN_MS) / widthMs) * widthMs
  const starts = Array.from({ length: hours / intervalHours }, (_, index) => last - index * widthMs)
  starts.reverse()
  const span = { from: new Date(starts[0] ?? last), widthMs }
  const [test, live, requests] = await Promise.all([
    readCharges(span, 'test'),
    readCharges(span, 'live'),
    readRequests(span),
  ])
  const requestsOf = (start: number) =>
    addUp(requests.filter(({ at_ms }) => at_ms >= start && at_ms < start + widthMs))
  const intervals = starts.map(start => ({
    at: new Date(start).toISOString(),
    test: test(start),
    live: live(start),
    ...serializeRequests(requestsOf(start)),
  }))
  const total = {
    test: sumCharges(intervals, 'test'),
    live: sumCharges(intervals, 'live'),
    ...serializeRequests(addUp(requests)),
  }
  return { intervals, total }
}

/** Returns a function that finds the figures of the interval that begins at a time. */
async function readCharges(span: Span, mode: Mode): Promise<(start: number) => ChargeFigures> {
  const [payments, created] = await Promise.all([
    byInterval(readPayments(span, mode)),
    byInterval(readCreated(span, mode)),
  ])
  const none = { paid_amount: 0, paid_count: 0, created: 0, converted: 0 }
  return start => ({ ...none, ...payments.get(start), ...created.get(start) })
}

async function byInterval<Row>(rows: Promise<OfInterval<Row>[]>): Promise<Map<number, Row>> {
  return new Map((await rows).map(({ at_ms, ...row }) => [at_ms, row as Row]))
}

function intervalSql(column: string, widthMs: number): Prisma.Sql {
  return Prisma.sql`(extract(epoch FROM date_bin(make_interval(secs => ${widthMs / 1_000}::int),
    ${Prisma.raw(column)}, ${new Date(ORIGIN_MS)})) * 1000)::bigint`
}

/** Reads one range of an index per account, and no table. */
function readPayments({ from, widthMs }: Span, mode: Mode): Promise<OfInterval<Payments>[]> {
  return queryRows(Prisma.sql`
    SELECT json_build_object('at_ms', p.at_ms,
      'paid_amount', sum(p.amount), 'paid_count', count(*))::text AS json
    FROM accounts a CROSS JOIN LATERAL (
      SELECT ${intervalSql('c.paid_at', widthMs)} AS at_ms, c.amount FROM charges c
      WHERE c.account_id = a.id AND c.mode = ${mode} AND c.paid_at >= ${from}) p
    GROUP BY p.at_ms`)
}

/** Leaves out the welcome charge of test mode, which nobody had to pay. */
function readCreated({ from, widthMs }: Span, mode: Mode): Promise<OfInterval<Created>[]> {
  return queryRows(Prisma.sql`
    SELECT json_build_object('at_ms', p.at_ms,
      'created', count(*), 'converted', count(*) FILTER (WHERE p.status = 'paid'))::text AS json
    FROM accounts a CROSS JOIN LATERAL (
      SELECT ${intervalSql('c.created_at', widthMs)} AS at_ms, c.status FROM charges c
      WHERE c.account_id = a.id AND c.mode = ${mode} AND c.status <> 'opening'
        AND c.id >= ${idLowerBoundAt(from.getTime())}::uuid AND c.created_at >= ${from}
        AND c.id IS DISTINCT FROM (SELECT w.id FROM charges w
          WHERE w.account_id = a.id AND w.mode = 'test' AND w.external_id = 'welcome'
          ORDER BY w.id LIMIT 1)) p
    GROUP BY p.at_ms`)
}

function readRequests({ from }: Span): Promise<OfInterval<Requests>[]> {
  return queryRows(Prisma.sql`
    SELECT json_build_object('at_ms', (extract(epoch FROM r.hour) * 1000)::bigint,
      'succeeded', r.succeeded, 'refused', r.refused, 'limited', r.limited, 'failed', r.failed,
      'latencies', r.latencies)::text AS json
    FROM request_counts r WHERE r.hour >= ${from}`)
}

function addUp(rows: Requests[]): Requests {
  const sum = { succeeded: 0, refused: 0, limited: 0, failed: 0 }
  const latencies = Array<number>(LATENCY_BOUNDS_MS.length + 1).fill(0)
  for (const row of rows) {
    for (const key of ['succeeded', 'refused', 'limited', 'failed'] as const) sum[key] += row[key]
    for (const [nth, count] of row.latencies.entries())
      latencies[nth] = (latencies[nth] ?? 0) + count
  }
  return { ...sum, latencies }
}

function serializeRequests({ succeeded, refused, limited, failed, latencies }: Requests) {
  const requests = succeeded + refused + limited + failed
  const [p50, p99] = [0.5, 0.99].map(part => percentileOf(latencies, part))
  return { requests, refused, limited, failed, p50: p50 ?? null, p99: p99 ?? null }
}

function sumCharges(intervals: OverviewInterval[], mode: Mode): ChargeFigures {
  const sum = (key: keyof ChargeFigures) =>
    intervals.reduce((total, interval) => total + interval[mode][key], 0)
  return {
    paid_amount: sum('paid_amount'),
    paid_count: sum('paid_count'),
    created: sum('created'),
    converted: sum('converted'),
  }
}
