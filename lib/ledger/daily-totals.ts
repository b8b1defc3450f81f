import type { Mode } from '#lib/core/mode.ts'
import { cents } from '#lib/core/money.ts'
import { Prisma } from '#lib/db/client.ts'
import { queryRows } from '#lib/db/sql.ts'
import {
  availableCondition,
  balanceBefore,
  type StatementTotals,
  SUM_BATCH_SIZE,
} from '#lib/ledger/statement.ts'

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
    ...{ in: 0, out: 0, opening: cents(bounds[nth]?.balance ?? 0), closing: cents(balance) },
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
