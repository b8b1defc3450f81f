import { smallestIdAt } from '#lib/core/ids.ts'
import type { Mode } from '#lib/core/mode.ts'
import { cents } from '#lib/core/money.ts'
import { processWide } from '#lib/core/process-wide.ts'
import { Prisma } from '#lib/db/client.ts'
import { queryRows } from '#lib/db/sql.ts'

interface Sum {
  amount: number
  count: number
}

/** Payments or ended charges of a period from which its figures are reused: below, they cost under 5 ms. */
const REUSED_MIN = 50_000
/** Age at which reused figures are read anew: 2,000,000 charges take 140 ms of the database's CPU. */
const REUSED_MS = 30_000
const REUSED_ENTRIES_MAX = 1_000

const reused = processWide(
  'charge figures',
  () => new Map<string, { readAt: number; figures: unknown }>(),
)

/** Reads figures of a busy merchant at most every 30 s, those of others each time. */
async function readReusable<T>(
  key: string,
  read: () => Promise<T>,
  countOf: (figures: T) => number,
) {
  const known = reused.get(key)
  if (known && performance.now() - known.readAt < REUSED_MS) return known.figures as T
  const figures = await read()
  reused.delete(key)
  if (countOf(figures) < REUSED_MIN) return figures
  reused.set(key, { readAt: performance.now(), figures })
  const oldest = reused.keys().next().value
  if (reused.size > REUSED_ENTRIES_MAX && oldest !== undefined) reused.delete(oldest)
  return figures
}

/**
 * Returns the payments of each day, the last of which is live. Ignores refunds. Moments are the merchant's
 * midnights, so days of a clock change are exact.
 */
export async function sumPaid(accountId: string, mode: Mode, moments: Date[]): Promise<Sum[]> {
  const key = [
    'paid',
    accountId,
    mode,
    moments.length,
    moments[0]?.getTime(),
    moments.at(-1)?.getTime(),
  ]
  const [past, today] = await Promise.all([
    readReusable(
      key.join(' '),
      () => readPaid(accountId, mode, moments.slice(0, -1)),
      sums => sums.reduce((total, { count }) => total + count, 0),
    ),
    readPaid(accountId, mode, moments.slice(-2)),
  ])
  return [...past, ...today]
}

async function readPaid(accountId: string, mode: Mode, moments: Date[]): Promise<Sum[]> {
  if (moments.length < 2) return []
  const [first, last] = [moments[0], moments.at(-1)]
  const rows = await queryRows<Sum & { nth: number }>(Prisma.sql`
    SELECT json_build_object('nth', nth, 'amount', sum(amount), 'count', count(*))::text AS json
    FROM (SELECT c.amount, width_bucket(c.paid_at, ${moments}::timestamptz[]) AS nth
      FROM charges c
      WHERE c.account_id = ${accountId}::uuid AND c.mode = ${mode}
        AND c.paid_at >= ${first}::timestamptz AND c.paid_at < ${last}::timestamptz) paid
    GROUP BY nth`)
  const found = new Map(rows.map(({ nth, amount, count }) => [nth, { amount, count }]))
  return moments.slice(1).map((_, index) => {
    const { amount, count } = found.get(index + 1) ?? { amount: 0, count: 0 }
    return { amount: cents(amount), count }
  })
}

/**
 * Returns the paid share of ended charges created since `since`, and the median seconds to payment
 * of charges paid since then; null if none. Both scans are index-only.
 */
export async function summarizeCharges(
  accountId: string,
  mode: Mode,
  since: Date,
): Promise<{ conversion: number | null; median_seconds: number | null }> {
  const { paid, decided, seconds } = await readReusable(
    `summary ${accountId} ${mode} ${since.getTime()}`,
    () => readSummary(accountId, mode, since),
    summary => summary.decided,
  )
  return {
    conversion: decided > 0 ? paid / decided : null,
    median_seconds: seconds === null ? null : Math.max(0, seconds),
  }
}

async function readSummary(accountId: string, mode: Mode, since: Date) {
  const scope = Prisma.sql`c.account_id = ${accountId}::uuid AND c.mode = ${mode}`
  const [found] = await queryRows<{ paid: number; decided: number; seconds: number | null }>(
    Prisma.sql`
    SELECT row_to_json(found)::text AS json FROM (
      SELECT count(*) FILTER (WHERE c.status = 'paid') AS paid, count(*) AS decided,
        (SELECT percentile_cont(0.5) WITHIN GROUP (
            ORDER BY date_part('epoch', c.paid_at) - date_part('epoch', c.created_at))
          FROM charges c WHERE ${scope} AND c.paid_at >= ${since}::timestamptz) AS seconds
      FROM charges c
      WHERE ${scope} AND c.status IN ('paid', 'expired', 'failed')
        AND c.id >= ${smallestIdAt(since.getTime())}::uuid) found`,
  )
  return found ?? { paid: 0, decided: 0, seconds: null }
}
