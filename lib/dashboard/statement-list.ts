import { invalidInput } from '#lib/core/errors.ts'
import type { Mode } from '#lib/core/mode.ts'
import { midnight } from '#lib/dashboard/period.ts'
import type { StatementRow } from '#lib/dashboard/schema.ts'
import { describeEntries } from '#lib/dashboard/statement.ts'
import {
  KIND_OF,
  type StatementFilter,
  type StatementQuery,
} from '#lib/dashboard/statement-wire.ts'
import { Prisma } from '#lib/db/client.ts'
import type { Page } from '#lib/db/page.ts'
import { queryRows } from '#lib/db/rows.ts'
import { findStatementRange, moveEnd, type StatementRange } from '#lib/ledger/statement.ts'

/** Entries that one page looks at for those of a kind: about 50 ms. */
const SCANNED_MAX = 250_000

/** A later time has five digits in its year. */
const LATEST = Date.UTC(9999, 11, 31, 23, 59, 59)

interface StatementList {
  page: Page<StatementRow>
  range: StatementRange
  from: string | null
  to: string | null
}

/**
 * Reads a page of the statement, newest first. The cursor contains the end of the first page's
 * period: pages add up to the same closing balance, even if money moves meanwhile.
 */
export async function listEntries(
  { accountId, mode, timeZone }: { accountId: string; mode: Mode; timeZone: string },
  { limit, cursor, kind, ...period }: StatementQuery,
): Promise<StatementList> {
  const { from, to } = toSpan(period, timeZone)
  const whole = await findStatementRange(accountId, mode, { from, to })
  const [end = whole.end, before = whole.end] = cursor?.split('.').map(Number) ?? []
  if (end > whole.end || before > end) {
    throw invalidInput('cursor', 'must be the next_cursor of a previous page with the same filters')
  }
  const range = end === whole.end ? whole : await moveEnd(accountId, mode, whole, end)
  const first = Math.max(range.first, kind ? before - SCANNED_MAX : 0)
  const rows = await queryRows<StatementRow>(Prisma.sql`
    ${describeEntries(Prisma.sql`
      SELECT * FROM ledger_entries e
      WHERE e.account_id = ${accountId}::uuid AND e.mode = ${mode} AND e.ledger = 'available'
        AND e.version >= ${first}::bigint AND e.version < ${before}::bigint
        ${kind ? Prisma.sql`AND e.kind = ${KIND_OF[kind]}` : Prisma.empty}
      ORDER BY e.version DESC LIMIT ${limit + 1}`)}
    ORDER BY e.version DESC`)
  const cursorAt = (version: number) => `${range.end}.${version}`
  const cursorOf = (row: StatementRow) => cursorAt(row.version)
  const last = rows.length > limit ? rows[limit - 1] : undefined
  const scanned = first > range.first ? cursorAt(first) : null
  const page = { rows: rows.slice(0, limit), nextCursor: last ? cursorOf(last) : scanned, cursorOf }
  return { page, range, from: from ?? null, to: to ?? null }
}

/** Returns the period as exact times, undefined where it has no limit. */
export function toSpan({ from, to }: Pick<StatementFilter, 'from' | 'to'>, timeZone: string) {
  return { from: toInstant(from, timeZone), to: toInstant(to, timeZone) }
}

/** Returns the time in UTC with microseconds. A date is its midnight in the account's time zone. */
function toInstant(time: string | undefined, timeZone: string): string | undefined {
  if (time === undefined) return undefined
  const exact = time.includes('T') ? new Date(time) : midnight(time, timeZone)
  const moment = new Date(Math.min(exact.getTime(), LATEST))
  const fraction = /\.(\d+)/.exec(time)?.[1] ?? ''
  return `${moment.toISOString().slice(0, 19)}.${fraction.padEnd(6, '0').slice(0, 6)}Z`
}
