import { Invariant } from '#lib/core/invariant.ts'
import type { Mode } from '#lib/core/mode.ts'
import { cents } from '#lib/core/money.ts'
import { Prisma } from '#lib/db/client.ts'
import { queryRows } from '#lib/db/sql.ts'

/** Entry versions, `end` exclusive. Entries never change: the same bounds read the same data. */
export interface StatementRange {
  first: number
  end: number
  opening: number
  closing: number
}

interface Period {
  from?: Date | string
  to?: Date | string
}

/**
 * Binary search, because versions grow with time: about 20 key reads in a million entries. Adjacent
 * periods share a bound: closing and opening balances agree even if a clock was changed.
 */
export async function findStatementRange(
  accountId: string,
  mode: Mode,
  { from, to }: Period,
): Promise<StatementRange> {
  const ledgerCondition = availableCondition(accountId, mode)
  const balance = (bound: string) => balanceBefore(ledgerCondition, Prisma.raw(bound))
  const [range] = await queryRows<StatementRange>(Prisma.sql`
    WITH RECURSIVE search(moment, bound, low, high) AS (
      SELECT m.moment::timestamptz, m.bound, m.low, l.version + 1
      FROM ledger_accounts l CROSS JOIN LATERAL (VALUES
        (${from ?? '-infinity'}::timestamptz, 'first', 1::bigint),
        (${to ?? 'infinity'}::timestamptz, 'end', 1::bigint)) m(moment, bound, low)
      WHERE ${ledgerCondition}
      UNION ALL
      SELECT s.moment, s.bound,
        CASE WHEN e.created_at < s.moment THEN e.version + 1 ELSE s.low END,
        CASE WHEN e.created_at < s.moment THEN s.high ELSE e.version END
      FROM search s CROSS JOIN LATERAL (
        SELECT e.version, e.created_at FROM ledger_entries e
        WHERE ${ledgerCondition} AND e.version = (s.low + s.high) / 2) e
      WHERE s.low < s.high
    ), found AS (
      SELECT f.low AS first, GREATEST(f.low, e.low) AS "end"
      FROM search f, search e
      WHERE f.bound = 'first' AND f.low = f.high AND e.bound = 'end' AND e.low = e.high
    )
    SELECT json_build_object('first', b.first, 'end', b."end",
      'opening', ${balance('b.first')}, 'closing', ${balance('b."end"')})::text AS json
    FROM found b`)
  if (!range) throw new Invariant(`account ${accountId} has no ledger in ${mode} mode`)
  cents(range.opening)
  cents(range.closing)
  return range
}

/** Selects the available balance of an account, or its entries. */
function availableCondition(accountId: string, mode: Mode): Prisma.Sql {
  return Prisma.sql`account_id = ${accountId}::uuid AND mode = ${mode} AND ledger = 'available'`
}

function balanceBefore(ledgerCondition: Prisma.Sql, version: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`COALESCE((
    SELECT e.balance_after FROM ledger_entries e
    WHERE ${ledgerCondition} AND e.version = ${version} - 1), 0)`
}

/** Returns the range with an earlier end. */
export async function moveEnd(
  accountId: string,
  mode: Mode,
  range: StatementRange,
  end: number,
): Promise<StatementRange> {
  const ledgerCondition = availableCondition(accountId, mode)
  const [found] = await queryRows<{ closing: number }>(Prisma.sql`
    SELECT json_build_object('closing',
      ${balanceBefore(ledgerCondition, Prisma.sql`${end}::bigint`)})::text AS json`)
  return { ...range, end: Math.max(range.first, end), closing: cents(found?.closing ?? 0) }
}

interface StatementTotals {
  in: number
  /** Sum of the debits, as a positive number. */
  out: number
}

/** Entries per statement: few enough to be summed within the statement timeout. */
const SUM_BATCH_SIZE = 250_000

/** Sums credits and debits of the range: opening + in - out = closing. */
export async function totalStatement(
  accountId: string,
  mode: Mode,
  { first, end }: StatementRange,
): Promise<StatementTotals> {
  const totals = { in: 0, out: 0 }
  for (let low = first; low < end; low += SUM_BATCH_SIZE) {
    const [part] = await queryRows<StatementTotals>(Prisma.sql`
      SELECT json_build_object(
        'in', COALESCE(sum(e.amount) FILTER (WHERE e.amount > 0), 0),
        'out', COALESCE(-sum(e.amount) FILTER (WHERE e.amount < 0), 0))::text AS json
      FROM ledger_entries e
      WHERE e.account_id = ${accountId}::uuid AND e.mode = ${mode} AND e.ledger = 'available'
        AND e.version >= ${low}::bigint AND e.version < ${Math.min(end, low + SUM_BATCH_SIZE)}::bigint`)
    totals.in = cents(totals.in + cents(part?.in ?? 0))
    totals.out = cents(totals.out + cents(part?.out ?? 0))
  }
  return totals
}

interface Bound {
  /** First entry at or after the moment. */
  version: number
  /** Balance before it. */
  balance: number
}

/** Finds each moment by binary search, as findStatementRange does: 20 key reads in a million entries. */
async function findBounds(accountId: string, mode: Mode, moments: Date[]): Promise<Bound[]> {
  const ledgerCondition = availableCondition(accountId, mode)
  return queryRows<Bound>(Prisma.sql`
    WITH RECURSIVE search(nth, moment, low, high) AS (
      SELECT m.nth, m.moment, 1::bigint, l.version + 1
      FROM ledger_accounts l
        CROSS JOIN unnest(${moments}::timestamptz[]) WITH ORDINALITY m(moment, nth)
      WHERE ${ledgerCondition}
      UNION ALL
      SELECT s.nth, s.moment,
        CASE WHEN e.created_at < s.moment THEN e.version + 1 ELSE s.low END,
        CASE WHEN e.created_at < s.moment THEN s.high ELSE e.version END
      FROM search s CROSS JOIN LATERAL (
        SELECT e.version, e.created_at FROM ledger_entries e
        WHERE ${ledgerCondition} AND e.version = (s.low + s.high) / 2) e
      WHERE s.low < s.high
    )
    SELECT json_build_object('version', b.version,
      'balance', ${balanceBefore(ledgerCondition, Prisma.raw('b.version'))})::text AS json
    FROM (SELECT s.nth, max(s.low) OVER (ORDER BY s.nth) AS version
      FROM search s WHERE s.low = s.high) b ORDER BY b.nth`)
}

interface DailyTotals extends StatementTotals {
  opening: number
  closing: number
}

/** Sums the entries between each two moments: opening + in - out = closing, the next one's opening. */
export async function totalBetween(
  accountId: string,
  mode: Mode,
  moments: Date[],
): Promise<DailyTotals[]> {
  const bounds = await findBounds(accountId, mode, moments)
  const totals = bounds.slice(1).map(({ balance }, nth) => ({
    in: 0,
    out: 0,
    opening: cents(bounds[nth]?.balance ?? 0),
    closing: cents(balance),
  }))
  const versions = bounds.map(({ version }) => version)
  const [first = 0, end = 0] = [versions[0], versions.at(-1)]
  for (let low = first; low < end; low += SUM_BATCH_SIZE) {
    const parts = await queryRows<StatementTotals & { nth: number }>(Prisma.sql`
      SELECT json_build_object('nth', d.nth,
        'in', COALESCE(sum(d.amount) FILTER (WHERE d.amount > 0), 0),
        'out', COALESCE(-sum(d.amount) FILTER (WHERE d.amount < 0), 0))::text AS json
      FROM (SELECT e.amount, width_bucket(e.version, ${versions}::bigint[]) AS nth
        FROM ledger_entries e
        WHERE e.account_id = ${accountId}::uuid AND e.mode = ${mode} AND e.ledger = 'available'
          AND e.version >= ${low}::bigint AND e.version < ${Math.min(end, low + SUM_BATCH_SIZE)}::bigint) d
      GROUP BY d.nth`)
    for (const part of parts) {
      const total = totals[part.nth - 1]
      if (!total) continue
      total.in = cents(total.in + cents(part.in))
      total.out = cents(total.out + cents(part.out))
    }
  }
  return totals
}
