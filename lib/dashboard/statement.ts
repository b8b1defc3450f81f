import { Invariant } from '#lib/core/invariant.ts'
import type { Mode } from '#lib/core/mode.ts'
import { readSpan, type Span } from '#lib/dashboard/period.ts'
import type { SearchParams, StatementRow } from '#lib/dashboard/schema.ts'
import { Prisma } from '#lib/db/client.ts'
import { utc } from '#lib/db/columns.ts'
import { asJson, queryRows } from '#lib/db/rows.ts'
import type { StatementRange } from '#lib/ledger/statement.ts'

export const STATEMENT_PERIOD = '30d'

/** Reads the period of a statement from its page's URL: 30 days by default; `all` has no limits. */
export function statementSpan(params: SearchParams, timeZone: string): Span {
  return readSpan({ ...params, period: params.period ?? STATEMENT_PERIOD }, timeZone)
}

export interface StatementPage {
  rows: StatementRow[]
  nextCursor: string | null
}

const PAGE_SIZE = 50

/** Newest first: the rows before version `cursor`, or the latest rows. */
export async function listStatement(
  accountId: string,
  mode: Mode,
  range: StatementRange,
  cursor?: number,
): Promise<StatementPage> {
  const end = Math.max(range.first, Math.min(range.end, cursor ?? range.end))
  const first = Math.max(range.first, end - PAGE_SIZE)
  const rows = await readStatement(accountId, mode, first, end)
  return { rows: rows.reverse(), nextCursor: first > range.first ? String(first) : null }
}

const BATCH_MAX = 1_000

export async function* walkStatement(
  accountId: string,
  mode: Mode,
  { first, end }: StatementRange,
): AsyncGenerator<StatementRow[]> {
  for (let start = first; start < end; start += BATCH_MAX) {
    yield await readStatement(accountId, mode, start, Math.min(end, start + BATCH_MAX))
  }
}

const columns = asJson(Prisma.sql`
  e.version, e.kind, e.subject_id, e.amount, e.balance_after, ${utc('e.created_at')},
  c.id AS charge_id, w.id AS withdrawal_id, c.client_name,
  COALESCE(c.external_id, w.external_id) AS external_id,
  w.pix_key_type, w.dict_key`)

/** Reads entries by version, which has no gaps. */
async function readStatement(
  accountId: string,
  mode: Mode,
  first: number,
  end: number,
): Promise<StatementRow[]> {
  const rows = await queryRows<StatementRow>(Prisma.sql`
    ${describeEntries(Prisma.sql`
      SELECT * FROM ledger_entries e
      WHERE e.account_id = ${accountId}::uuid AND e.mode = ${mode} AND e.ledger = 'available'
        AND e.version >= ${first}::bigint AND e.version < ${end}::bigint
      ORDER BY e.version LIMIT ${BATCH_MAX}`)}
    ORDER BY e.version`)
  if (rows.length !== end - first)
    throw new Invariant(
      `the ledger of account ${accountId} has ${rows.length} entries from ${first} to before ${end}`,
    )
  return rows
}

/** Joins each entry with its subject by primary key. */
export function describeEntries(entries: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`
    SELECT ${columns}::text AS json FROM (${entries}) e
    LEFT JOIN LATERAL (
      SELECT b.withdrawal_id FROM payout_returns b
      WHERE b.account_id = e.account_id AND b.id = e.subject_id
        AND e.kind IN ('payout_returned', 'owed_repaid') LIMIT 1) b ON true
    LEFT JOIN LATERAL (
      SELECT w.id, w.external_id, w.pix_key_type, w.dict_key FROM withdrawals w
      WHERE w.account_id = e.account_id AND w.id = COALESCE(b.withdrawal_id, e.subject_id)
        AND e.kind IN ('withdrawal_held', 'withdrawal_returned', 'payout_returned', 'owed_repaid')
      LIMIT 1) w ON true
    LEFT JOIN LATERAL (
      SELECT r.charge_id FROM refunds r
      WHERE r.account_id = e.account_id AND r.id = e.subject_id
        AND e.kind IN ('refund_held', 'refund_returned', 'owed_repaid') LIMIT 1) r ON true
    LEFT JOIN LATERAL (
      SELECT d.charge_id FROM disputes d
      WHERE d.account_id = e.account_id AND d.id = e.subject_id
        AND e.kind IN ('dispute_held', 'dispute_won', 'owed_repaid') LIMIT 1) d ON true
    LEFT JOIN LATERAL (
      SELECT c.id, c.client_name, c.external_id FROM charges c
      WHERE c.account_id = e.account_id AND c.id = COALESCE(r.charge_id, d.charge_id, e.subject_id)
        AND e.kind IN ('charge_paid', 'refund_held', 'refund_returned', 'dispute_held', 'dispute_won',
          'owed_repaid') LIMIT 1) c ON true`
}
