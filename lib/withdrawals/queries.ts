import { type ListQuery, listQuery, pickFields } from '#lib/core/fields.ts'
import { isUuid } from '#lib/core/ids.ts'
import { Invariant } from '#lib/core/invariant.ts'
import type { Mode } from '#lib/core/mode.ts'
import { parseSearchedReais } from '#lib/core/money.ts'
import { db, Prisma } from '#lib/db/client.ts'
import { filterSql, type Page, pageSql, readPage } from '#lib/db/page.ts'
import {
  asJson,
  columnsOf,
  onPrimary,
  queryRows,
  reverseTail,
  utc,
  withoutTaxIds,
} from '#lib/db/sql.ts'
import { createReceiptUrl, isEndToEndId } from '#lib/receipts/sign.ts'
import type { WithdrawalRow } from '#lib/withdrawals/schema.ts'
import { WITHDRAWAL_STATUSES } from '#lib/withdrawals/states.ts'
import {
  ListedWithdrawal,
  type WithdrawalDetail,
  type WithdrawalTotals,
  withdrawalToWire,
} from '#lib/withdrawals/wire.ts'

/** Query of the dashboard's list. */
export const shownWithdrawalsQuery = listQuery(WITHDRAWAL_STATUSES)

/** Columns of a WithdrawalRow, from a table or CTE named `w`. A statement that makes one does not see its order. */
export const withdrawalColumns = Prisma.sql`
  w.id, w.external_id, w.mode, w.status, w.amount, w.pix_key_type, w.pix_key, w.owner_doc, w.memo,
  w.webhook_url, w.rejection_reason, w.rejection_code,
  CASE WHEN w.status <> 'pending' THEN NULL WHEN w.approval_due_at IS NOT NULL THEN 'approval'
    ELSE COALESCE((SELECT CASE WHEN o.state = 'waiting' AND o.attempts = 0 THEN 'balance_window' ELSE 'bank' END
      FROM bank_orders o WHERE o.account_id = w.account_id AND o.id = w.id), 'balance_window') END AS awaiting,
  w.end_to_end_id, ${utc('w.approved_at')}, ${utc('w.rejected_at')},
  w.returned_amount,
  ${utc('w.created_at')}, ${utc('w.updated_at')}`

export const withdrawalAsJson = asJson(withdrawalColumns)

/** Columns of an event about a withdrawal, from a CTE named `w`, without the id of the event. */
export const withdrawalEventColumns = {
  ...columnsOf('w', ['account_id', 'mode', 'webhook_url', 'webhook_host', 'trace']),
  subject_id: Prisma.sql`w.id`,
  resource: withdrawalAsJson,
}

/** Finds a withdrawal by id or by the merchant's reference. Text in UUID form is always an id. */
export async function findWithdrawal(
  accountId: string,
  mode: Mode,
  idOrReference: string,
): Promise<WithdrawalRow | null> {
  const condition = isUuid(idOrReference)
    ? Prisma.sql`w.id = ${idOrReference}::uuid`
    : Prisma.sql`w.external_id = ${idOrReference}`
  const [row] = await queryRows<WithdrawalRow>(Prisma.sql`
    SELECT ${withdrawalAsJson}::text AS json FROM withdrawals w
    WHERE ${onPrimary} AND w.account_id = ${accountId}::uuid AND w.mode = ${mode} AND ${condition}`)
  return row ?? null
}

/** Receivers of events never get the full document that a withdrawal was created with. */
export function serializeWithdrawalEvent(resource: unknown): { withdrawal: WithdrawalDetail } {
  return { withdrawal: withdrawalToWire(resource as WithdrawalRow) }
}

/** Returns the withdrawal as in the response to its creation, regardless of its current status. */
export async function readCreatedWithdrawal(
  accountId: string,
  mode: Mode,
  id: string,
): Promise<WithdrawalRow> {
  const row = await findWithdrawal(accountId, mode, id)
  if (!row) throw new Invariant(`withdrawal ${id} was acknowledged but is missing`)
  return { ...row, status: 'pending' }
}

const payeeSql = Prisma.sql`CASE WHEN w.payee_name IS NOT NULL THEN
  json_build_object('name', w.payee_name, 'masked_doc', w.payee_doc) END AS payee`
const listedAsJson = asJson(Prisma.sql`${withdrawalColumns}, ${payeeSql}`)

interface ListOptions {
  /** Whether staff views the account. */
  isViewing?: boolean
}

export function listWithdrawals(
  accountId: string,
  mode: Mode,
  query: ListQuery,
  options: ListOptions = {},
): Promise<Page<WithdrawalRow>> {
  return readWithdrawals<WithdrawalRow>(withdrawalAsJson, { accountId, mode, query, options })
}

/** Returns the page with the columns of a row of the dashboard's list. */
export async function listShownWithdrawals(
  accountId: string,
  mode: Mode,
  query: ListQuery,
  options: ListOptions = {},
): Promise<Page<ListedWithdrawal>> {
  const page = await readWithdrawals<ListedWithdrawal>(listedAsJson, {
    accountId,
    mode,
    query,
    options,
  })
  return { ...page, rows: page.rows.map(row => pickFields(ListedWithdrawal.shape, row)) }
}

/** A count of more rows would take longer than the list itself. */
const COUNTED_MAX = 10_000

/** Sums the matching withdrawals on all pages. */
export async function totalWithdrawals(
  accountId: string,
  mode: Mode,
  { q, limit, cursor, ...filters }: ListQuery,
  { isViewing = false }: ListOptions = {},
): Promise<WithdrawalTotals> {
  const found = q ? Prisma.sql`AND ${withdrawalMatches(q, isViewing)}` : Prisma.empty
  const [total] = await queryRows<Omit<WithdrawalTotals, 'is_exact'>>(Prisma.sql`
    SELECT json_build_object('count', count(*),
      'amount', LEAST(COALESCE(sum(r.amount), 0), ${Number.MAX_SAFE_INTEGER}::bigint))::text AS json
    FROM (SELECT w.amount FROM withdrawals w
      WHERE ${onPrimary} AND w.account_id = ${accountId}::uuid AND w.mode = ${mode} ${found}
        ${filterSql('w', filters)} LIMIT ${COUNTED_MAX + 1}) r`)
  const { count = 0, amount = 0 } = total ?? {}
  const isExact = count <= COUNTED_MAX && amount < Number.MAX_SAFE_INTEGER
  return { count: Math.min(count, COUNTED_MAX), amount, is_exact: isExact }
}

interface Reading {
  accountId: string
  mode: Mode
  query: ListQuery
  options: ListOptions
}

function readWithdrawals<Row extends { id: string }>(
  columns: Prisma.Sql,
  { accountId, mode, query: { q, ...query }, options: { isViewing = false } }: Reading,
): Promise<Page<Row>> {
  const found = q ? Prisma.sql`AND ${withdrawalMatches(q, isViewing)}` : Prisma.empty
  const rows = Prisma.sql`
    SELECT ${columns}::text AS json FROM withdrawals w
    WHERE ${onPrimary} AND w.account_id = ${accountId}::uuid AND w.mode = ${mode} ${found} ${pageSql('w', query)}`
  return readPage<Row>(rows, query.limit)
}

/**
 * Matches an id, part of the reference or of the memo, an amount or the end of an end-to-end id, and
 * a whole Pix key. Staff that views the account sees documents masked and could guess them: for it,
 * neither a key nor a document in a reference or memo matches.
 */
export function withdrawalMatches(q: string, isViewing = false): Prisma.Sql {
  const text = q.trim()
  const key = isViewing ? null : text
  const shown = (column: Prisma.Sql) => (isViewing ? withoutTaxIds(column) : column)
  return Prisma.sql`(w.pix_key = ${key} OR w.dict_key = ${key}
    OR w.id = ${isUuid(text) ? text : null}::uuid OR w.end_to_end_id = ${text}
    OR starts_with(upper(reverse(w.end_to_end_id)), ${reverseTail(text)})
    OR w.amount = ${parseSearchedReais(text)}::bigint OR w.external_id = ${text}
    OR (w.external_id <> replace(w.id::text, '-', '')
      AND strpos(lower(${shown(Prisma.sql`w.external_id`)}), lower(${text})) > 0)
    OR strpos(lower(${shown(Prisma.sql`w.memo`)}), lower(${text})) > 0)`
}

type Payout = Pick<
  WithdrawalRow,
  'id' | 'mode' | 'status' | 'amount' | 'approved_at' | 'end_to_end_id'
>

/**
 * Returns the URL on which the receipt of a payout proves itself. Null without the bank's word: also
 * if admins ended the withdrawal as sent, or if the bank reported a second end-to-end id.
 */
export async function createWithdrawalReceiptUrl(
  accountId: string,
  withdrawal: Payout,
): Promise<string | null> {
  const { id, mode, status, amount, approved_at: at, end_to_end_id: endToEndId } = withdrawal
  if (status !== 'approved' || at === null || !isEndToEndId(endToEndId)) return null
  const doubts = await db().$queryRaw<unknown[]>`
    SELECT FROM withdrawals w JOIN bank_orders o USING (account_id, id)
    WHERE w.account_id = ${accountId}::uuid AND w.id = ${id}::uuid
      AND (o.ended_at IS NOT NULL OR w.other_end_to_end_id IS NOT NULL)`
  if (doubts.length > 0) return null
  return createReceiptUrl({ kind: 'withdrawal', id, mode, amount, at, endToEndId })
}
