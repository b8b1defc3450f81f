import { listChargeRows } from '#lib/charges/list.ts'
import { addDays } from '#lib/core/day.ts'
import { smallestIdAt } from '#lib/core/ids.ts'
import { Invariant } from '#lib/core/invariant.ts'
import type { Mode } from '#lib/core/mode.ts'
import { cents } from '#lib/core/money.ts'
import { chartDays, dayInZone, listDays, midnight } from '#lib/dashboard/period.ts'
import type { DayReceived, Home, Received, SearchParams, Steps } from '#lib/dashboard/schema.ts'
import { Prisma } from '#lib/db/client.ts'
import { queryRows, utc } from '#lib/db/sql.ts'
import { assessDisputes } from '#lib/ledger/owed.ts'
import { readDeliveryRate } from '#lib/webhooks/deliveries.ts'
import { hasDelivered } from '#lib/webhooks/endpoints.ts'

const CHARGES_SHOWN = 6
/** Periods of the figures beside the chart, independent of the chart's days. */
const MONTH_DAYS = 30
const WEEK_DAYS = 7
/** Newest orders searched for pending ones: older ones are long settled. */
const ORDERS_READ_MAX = 1_000
/** Age from which a pending withdrawal is mentioned: most end within seconds. */
const WAITING_MIN_MINUTES = 10

interface HomeAccount {
  id: string
  timeZone: string
}

export async function readHome(
  account: HomeAccount,
  mode: Mode,
  params: SearchParams,
  now = new Date(),
): Promise<Home> {
  const { id, timeZone } = account
  const today = dayInZone(now, timeZone)
  const month = listDays(addDays(today, 1 - MONTH_DAYS), today)
  const shown = chartDays(params, today)
  const since = midnight(addDays(today, 1 - MONTH_DAYS), timeZone)
  const [[received, chart], summary, current, webhooks, latest] = await Promise.all([
    sumBoth(account, mode, month, shown),
    summarizeCharges(id, mode, since),
    readCurrentFigures(id, mode),
    readDeliveryRate(id, mode),
    listChargeRows(id, mode, { limit: CHARGES_SHOWN }),
  ])
  return {
    ...current,
    received: {
      today: sumReceived(received.slice(-1)),
      week: sumReceived(received.slice(-WEEK_DAYS)),
      month: sumReceived(received),
    },
    ...summary,
    webhooks,
    days: chart,
    charges: latest.rows,
  }
}

/** Sums the payments of two lists of days, with one query if one list contains the other. */
async function sumBoth(
  account: HomeAccount,
  mode: Mode,
  ...spans: [string[], string[]]
): Promise<[DayReceived[], DayReceived[]]> {
  const [first, second] = spans
  const longer = first.length > second.length ? first : second
  const isWithin = spans.flat().every(day => longer.includes(day))
  if (!isWithin) return Promise.all([sumDays(account, mode, first), sumDays(account, mode, second)])
  const sums = await sumDays(account, mode, longer)
  const sumByDay = new Map(sums.map(sum => [sum.day, sum]))
  const pick = (days: string[]) => days.flatMap(day => sumByDay.get(day) ?? [])
  return [pick(first), pick(second)]
}

async function sumDays(account: HomeAccount, mode: Mode, days: string[]): Promise<DayReceived[]> {
  const after = addDays(days.at(-1) ?? '', 1)
  const moments = [...days, after].map(day => midnight(day, account.timeZone))
  const sums = await sumPaid(account.id, mode, moments)
  return days.map((day, index) => ({ day, ...(sums[index] ?? { amount: 0, count: 0 }) }))
}

function sumReceived(days: DayReceived[]): Received {
  return {
    amount: days.reduce((sum, { amount }) => sum + amount, 0),
    count: days.reduce((sum, { count }) => sum + count, 0),
  }
}

interface OpenOrders {
  count: number
  amount: number
}

interface CurrentFigures {
  available: number
  outbound: number
  disputed: number | null
  owed: number | null
  withdrawals: OpenOrders & { waiting: OpenOrders }
  refunds: OpenOrders
  books: { checked_at: string; wrong: string | null } | null
}

/** Reads balances, pending orders and the last ledger check from one snapshot. */
async function readCurrentFigures(
  accountId: string,
  mode: Mode,
): Promise<Pick<Home, 'balance' | 'books'>> {
  const balance = (ledger: string) => Prisma.sql`(
    SELECT l.balance FROM ledger_accounts l
    WHERE l.account_id = ${accountId}::uuid AND l.mode = ${mode} AND l.ledger = ${ledger})`
  const pending = (table: Prisma.Sql, isWaiting = Prisma.sql`false`) => Prisma.sql`(
    SELECT json_build_object('count', count(*), 'amount', coalesce(sum(o.amount), 0),
      'waiting', json_build_object('count', count(*) FILTER (WHERE o.is_waiting),
        'amount', coalesce(sum(o.amount) FILTER (WHERE o.is_waiting), 0))) FROM (
      SELECT o.status, o.amount, ${isWaiting} AS is_waiting FROM ${table} o
      WHERE o.account_id = ${accountId}::uuid AND o.mode = ${mode}
      ORDER BY o.id DESC LIMIT ${ORDERS_READ_MAX}) o
    WHERE o.status = 'pending')`
  const isWaiting = Prisma.sql`(o.approval_due_at IS NULL AND COALESCE(o.approval_at, o.created_at)
    < now() - make_interval(mins => ${WAITING_MIN_MINUTES}::int))`
  const [figures] = await queryRows<CurrentFigures>(Prisma.sql`
    SELECT json_build_object('available', ${balance('available')}, 'outbound', ${balance('outbound')},
      'disputed', ${balance('disputed')}, 'owed', ${balance('owed')},
      'withdrawals', ${pending(Prisma.sql`withdrawals`, isWaiting)},
      'refunds', ${pending(Prisma.sql`refunds`)},
      'books', (SELECT row_to_json(k) FROM (
        SELECT ${utc('k.checked_at')}, k.wrong FROM ledger_checks k
        WHERE k.account_id = ${accountId}::uuid) k))::text AS json`)
  if (!figures)
    throw new Invariant(`PostgreSQL returned no row for the balance of account ${accountId}`)
  const { withdrawals, refunds, books } = figures
  const outbound = cents(figures.outbound ?? 0)
  const isAll = cents(withdrawals.amount) + cents(refunds.amount) === outbound
  const held = isAll ? { withdrawals: withdrawals.count, refunds: refunds.count } : null
  const { disputed, held: heldOfDisputed, claim } = assessDisputes(figures)
  const disputes = { disputed, held: heldOfDisputed, claim }
  const { count, amount } = withdrawals.waiting
  const waiting = { count, amount: cents(amount) }
  return {
    balance: { available: cents(figures.available ?? 0), outbound, held, waiting, disputes },
    books: books && { checked_at: books.checked_at, is_right: books.wrong === null },
  }
}

/** Reads which first steps a merchant has done. The welcome charge does not count as a payment. */
export async function readFirstSteps(accountId: string, mode: Mode): Promise<Steps> {
  const scopeCondition = (alias: string) => {
    const row = Prisma.raw(alias)
    return Prisma.sql`${row}.account_id = ${accountId}::uuid AND ${row}.mode = ${mode}`
  }
  const [[steps], webhook] = await Promise.all([
    queryRows<Omit<Steps, 'webhook'>>(Prisma.sql`
      SELECT json_build_object(
        'token', EXISTS (SELECT FROM tokens t WHERE ${scopeCondition('t')}),
        'payment', EXISTS (SELECT FROM charges c WHERE ${scopeCondition('c')}
          AND c.paid_at IS NOT NULL AND c.external_id <> 'welcome'))::text AS json`),
    hasDelivered(accountId, mode),
  ])
  return { token: false, payment: false, ...steps, webhook }
}

interface Sum {
  amount: number
  count: number
}

/** Payments or ended charges of a period from which its figures are reused: below, they cost under 5 ms. */
const REUSED_MIN = 50_000
/** Age at which reused figures are read anew: 2,000,000 charges take 140 ms of the database's CPU. */
const REUSED_MS = 30_000
const REUSED_ENTRIES_MAX = 1_000

const reused = new Map<string, { readAt: number; figures: unknown }>()

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
 * Returns the sum of payments between each two `moments`, without refunds. Only the last sum can still change. The moments
 * are midnights of the merchant's time zone, so days of a clock change are exact.
 */
async function sumPaid(accountId: string, mode: Mode, moments: Date[]): Promise<Sum[]> {
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
 * of charges paid since then; null if none. Both scans are index-only. The welcome charge, which
 * nobody had to pay, does not count.
 */
async function summarizeCharges(
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
  const isSince = Prisma.sql`c.id >= ${smallestIdAt(since.getTime())}::uuid`
  const welcome = Prisma.sql`(SELECT count(*) FROM charges c
    WHERE ${scope} AND c.external_id = 'welcome' AND c.status = 'paid' AND ${isSince})`
  const [found] = await queryRows<{ paid: number; decided: number; seconds: number | null }>(
    Prisma.sql`
    SELECT row_to_json(found)::text AS json FROM (
      SELECT count(*) FILTER (WHERE c.status = 'paid') - ${welcome} AS paid, count(*) - ${welcome} AS decided,
        (SELECT percentile_cont(0.5) WITHIN GROUP (
            ORDER BY date_part('epoch', c.paid_at) - date_part('epoch', c.created_at))
          FROM charges c WHERE ${scope} AND c.paid_at >= ${since}::timestamptz) AS seconds
      FROM charges c
      WHERE ${scope} AND c.status IN ('paid', 'expired', 'failed') AND ${isSince}) found`,
  )
  return found ?? { paid: 0, decided: 0, seconds: null }
}
