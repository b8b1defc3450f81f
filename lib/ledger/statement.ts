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
export function availableCondition(accountId: string, mode: Mode): Prisma.Sql {
  return Prisma.sql`account_id = ${accountId}::uuid AND mode = ${mode} AND ledger = 'available'`
}

export function balanceBefore(ledgerCondition: Prisma.Sql, version: Prisma.Sql): Prisma.Sql {
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

export interface StatementTotals {
  in: number
  /** Sum of the debits, as a positive number. */
  out: number
}

/** Entries per statement: few enough to be summed within the statement timeout. */
export const SUM_BATCH_SIZE = 250_000

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
