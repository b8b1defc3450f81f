import * as z from 'zod'
import { addDays } from '#lib/core/day.ts'
import { invalidInput } from '#lib/core/errors.ts'
import {
  instant,
  listLimit,
  modeField,
  must,
  openApiMeta,
  pageOf,
  timeFilter,
} from '#lib/core/fields.ts'
import { Invariant } from '#lib/core/invariant.ts'
import type { Mode } from '#lib/core/mode.ts'
import { maskPixKey, PIX_KEY_TYPES } from '#lib/core/pix/pix-key.ts'
import { type DaySpan, dayInZone, listDays, midnight, readSpan } from '#lib/dashboard/period.ts'
import type { SearchParams, StatementRow } from '#lib/dashboard/schema.ts'
import { Prisma } from '#lib/db/client.ts'
import type { Page } from '#lib/db/page.ts'
import { asJson, queryRows, utc } from '#lib/db/sql.ts'
import {
  findStatementRange,
  moveEnd,
  type StatementRange,
  totalBetween,
} from '#lib/ledger/statement.ts'

/** Kinds of entries on the wire, where a charge is a transaction. */
export const KIND_OF = {
  transaction_paid: 'charge_paid',
  refund_held: 'refund_held',
  refund_returned: 'refund_returned',
  withdrawal_held: 'withdrawal_held',
  withdrawal_returned: 'withdrawal_returned',
  payout_returned: 'payout_returned',
  receipt_credited: 'unmatched_credited',
  dispute_held: 'dispute_held',
  dispute_won: 'dispute_won',
  payment_returned: 'payment_returned',
  owed_repaid: 'owed_repaid',
  corrected: 'corrected',
} as const satisfies Record<string, StatementRow['kind']>
type WireKind = keyof typeof KIND_OF
const wireKindOf = Object.fromEntries(
  Object.entries(KIND_OF).map(([wire, kind]) => [kind, wire]),
) as Record<StatementRow['kind'], WireKind>
const WIRE_KINDS = Object.keys(KIND_OF) as [WireKind, ...WireKind[]]

const KIND_DESCRIPTION =
  'What moved the balance. `transaction_paid`: a payment. `withdrawal_held`, `refund_held`: the amount left the balance with the request; `…_returned`: it came back, because the bank rejected it. `payout_returned`: the receiver’s bank sent a withdrawal back. `receipt_credited`: a payment that the administrator assigned to the account. `dispute_held`, `dispute_won`: held for a payment that its payer disputes, and released. `payment_returned`: the bank returned a payment to its payer without a refund of yours. `owed_repaid`: withheld to cover what was missing for disputes, such returns and corrections. `corrected`: a correction by the administrator, in either direction.'
const CURSOR_RULE = 'be the next_cursor of a previous page'
const DATE_DESCRIPTION =
  'a date (midnight in the time zone of the account) or a time with a UTC offset.'

export const statementFilter = z.object({
  from: timeFilter
    .optional()
    .meta(openApiMeta(`Entries at or after: ${DATE_DESCRIPTION}`, '2026-11-01')),
  to: timeFilter.optional().meta(openApiMeta(`Entries before: ${DATE_DESCRIPTION}`, '2026-12-01')),
  kind: z
    .enum(WIRE_KINDS, must(`be one of ${WIRE_KINDS.join(', ')}`))
    .optional()
    .meta(openApiMeta('Only entries of this kind.', 'transaction_paid')),
})
export type StatementFilter = z.infer<typeof statementFilter>

export const statementQuery = z.object({
  limit: listLimit(20),
  cursor: z
    .string()
    .regex(/^\d{1,15}\.\d{1,15}$/, must(CURSOR_RULE))
    .optional()
    .meta(openApiMeta('The `next_cursor` of the previous page.', '812.792')),
  ...statementFilter.shape,
})
type StatementQuery = z.infer<typeof statementQuery>

const cents = (description: string, example: number) =>
  z.int().meta(openApiMeta(description, example))

const StatementEntry = z
  .object({
    version: z
      .int()
      .meta(openApiMeta('Position in the ledger: 1, 2, 3 and so on, without gaps.', 812)),
    kind: z.enum(WIRE_KINDS).meta(openApiMeta(KIND_DESCRIPTION, 'transaction_paid')),
    amount: cents('Amount, in cents; negative if it left the balance.', 1500),
    balance_after: cents('Balance after the entry, in cents.', 251_500),
    created_at: instant.meta(openApiMeta('Time of the entry.', '2026-11-21T01:28:12.004211Z')),
    subject_id: z
      .uuid()
      .meta(
        openApiMeta(
          'Id of what moved the balance: the charge, refund, withdrawal, dispute or assigned payment.',
          '01a1fbb6-bf1b-7d40-9b0e-5f0f2d1c88aa',
        ),
      ),
    transaction_id: z
      .uuid()
      .nullable()
      .meta(
        openApiMeta(
          'Id of the charge that was paid, refunded or disputed, or null.',
          '01a1fbb6-bf1b-7d40-9b0e-5f0f2d1c88aa',
        ),
      ),
    withdrawal_id: z.uuid().nullable().meta(openApiMeta('Id of the withdrawal, or null.', null)),
    external_id: z
      .string()
      .nullable()
      .meta(openApiMeta('Your reference of the charge or withdrawal, or null.', 'order-1048')),
    client_name: z
      .string()
      .nullable()
      .meta(openApiMeta('Name of the payer, or null.', 'Ana Beatriz Rocha')),
    pix_key_type: z
      .enum(PIX_KEY_TYPES)
      .nullable()
      .meta(openApiMeta('Type of the receiver’s Pix key, or null.', null)),
    pix_key: z
      .string()
      .nullable()
      .meta(openApiMeta('Pix key of the receiver, masked, or null.', null)),
  })
  .meta({ id: 'StatementEntry' })

export const ENTRY_FIELDS = Object.keys(StatementEntry.shape) as (keyof z.infer<
  typeof StatementEntry
>)[]

const balance = {
  opening_balance: cents('Balance at the beginning of the period, in cents.', 250_000),
  closing_balance: cents('Balance at the end of the period, in cents.', 251_500),
}

export const StatementPage = pageOf(StatementEntry, {
  mode: modeField,
  time_zone: z
    .string()
    .meta(openApiMeta('Time zone of the account, in which days begin.', 'America/Sao_Paulo')),
  from: instant
    .nullable()
    .meta(openApiMeta('Beginning of the period, or null.', '2026-11-01T03:00:00.000000Z')),
  to: instant
    .nullable()
    .meta(openApiMeta('End of the period, or null.', '2026-12-01T03:00:00.000000Z')),
  ...balance,
}).meta({ id: 'StatementPage' })

export function entryToWire(row: StatementRow): z.infer<typeof StatementEntry> {
  const { kind, charge_id, withdrawal_id, external_id, client_name, pix_key_type, dict_key } = row
  const { version, amount, balance_after, created_at, subject_id } = row
  return {
    version,
    kind: wireKindOf[kind],
    amount,
    balance_after,
    created_at,
    subject_id,
    transaction_id: charge_id,
    withdrawal_id,
    external_id,
    client_name,
    pix_key_type,
    pix_key: pix_key_type && dict_key ? maskPixKey(pix_key_type, dict_key) : null,
  }
}

export function periodToWire(
  { from, to, range }: { from: string | null; to: string | null; range: StatementRange },
  place: { mode: Mode; time_zone: string },
) {
  const { opening: opening_balance, closing: closing_balance } = range
  return { ...place, from, to, opening_balance, closing_balance }
}

export const balanceQuery = z.object({
  from: z.iso
    .date(must('be a date such as 2026-11-01'))
    .refine(day => day >= '1970', must('be a date since 1970'))
    .optional()
    .meta(openApiMeta('First day. Default: 30 days before `to`.', '2026-11-01')),
  to: z.iso
    .date(must('be a date such as 2026-12-01'))
    .refine(day => day >= '1970', must('be a date since 1970'))
    .optional()
    .meta(openApiMeta('Day after the last one. Default, and at most: tomorrow.', '2026-12-01')),
})
type BalanceQuery = z.infer<typeof balanceQuery>

const BalanceDay = z
  .object({
    date: z.iso.date().meta(openApiMeta('Day in the time zone of the account.', '2026-11-21')),
    opening_balance: cents('Balance at the beginning of the day, in cents.', 250_000),
    credited: cents('Sum of what came in, in cents.', 1500),
    debited: cents('Sum of what left, in cents, as a positive number.', 0),
    closing_balance: cents(
      'Balance at the end of the day, in cents; for today, the current balance.',
      251_500,
    ),
  })
  .meta({ id: 'BalanceDay' })
type BalanceDay = z.infer<typeof BalanceDay>

export const BalanceHistory = z
  .object({
    data: z.array(BalanceDay).meta(openApiMeta('Newest day first.')),
    mode: modeField,
    time_zone: z
      .string()
      .meta(openApiMeta('Time zone of the account, in which days begin.', 'America/Sao_Paulo')),
  })
  .meta({ id: 'BalanceHistory' })

export const STATEMENT_PERIOD = '30d'

/** Reads the period of a statement from its page's URL: 30 days by default; `all` has no limits. */
export function statementSpan(params: SearchParams, timeZone: string): DaySpan {
  return readSpan({ ...params, period: params.period ?? STATEMENT_PERIOD }, timeZone)
}

export interface BookedPage {
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
): Promise<BookedPage> {
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
function describeEntries(entries: Prisma.Sql): Prisma.Sql {
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
      SELECT k.charge_id FROM payment_returns k
      WHERE k.account_id = e.account_id AND k.id = e.subject_id AND e.kind = 'payment_returned'
      LIMIT 1) k ON true
    LEFT JOIN LATERAL (
      SELECT c.id, c.client_name, c.external_id FROM charges c
      WHERE c.account_id = e.account_id AND c.id = COALESCE(r.charge_id, d.charge_id, k.charge_id, e.subject_id)
        AND e.kind IN ('charge_paid', 'refund_held', 'refund_returned', 'dispute_held', 'dispute_won',
          'payment_returned', 'owed_repaid') LIMIT 1) c ON true`
}

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
export async function listStatementEntries(
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

const DAYS = 30
/** A year: the sums of a million entries take about 0.3 s. */
const DAYS_MAX = 366

/** Returns the days of the period that have begun, newest first. */
export async function readBalanceHistory(
  { accountId, mode, timeZone }: { accountId: string; mode: Mode; timeZone: string },
  query: BalanceQuery,
): Promise<BalanceDay[]> {
  const tomorrow = addDays(dayInZone(new Date(), timeZone), 1)
  const to = query.to && query.to < tomorrow ? query.to : tomorrow
  const from = query.from ?? addDays(to, -DAYS)
  if (from >= to) return []
  if (from < addDays(to, -DAYS_MAX)) {
    throw invalidInput('from', `must be at most ${DAYS_MAX} days before to`)
  }
  const days = listDays(from, to)
  const moments = days.map(day => midnight(day, timeZone))
  const totals = await totalBetween(accountId, mode, moments)
  const history = totals.map((total, nth) => ({
    date: days[nth] ?? '',
    opening_balance: total.opening,
    credited: total.in,
    debited: total.out,
    closing_balance: total.closing,
  }))
  return history.reverse()
}
