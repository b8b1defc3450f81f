import type * as z from 'zod'
import type { ChargeRow, ChargeTotals, ListedCharge } from '#lib/charges/schema.ts'
import {
  amountFilters,
  type ChargeFilters,
  chargesWhere,
  joinCharges,
  type ScannedFilters,
  type SearchScope,
  type ShownFilter,
  searchCondition,
  searchCte,
} from '#lib/charges/search.ts'
import {
  type ChargeStatus,
  SHOWN_CHARGE_STATUSES,
  type ShownChargeStatus,
} from '#lib/charges/states.ts'
import { paymentUrl, paymentUrls } from '#lib/charges/urls.ts'
import { ChargeDetail, chargeToWire } from '#lib/charges/wire.ts'
import { refuse } from '#lib/core/errors.ts'
import { listQuery } from '#lib/core/fields.ts'
import { idUpperBoundAt, isUuid } from '#lib/core/ids.ts'
import type { Mode } from '#lib/core/mode.ts'
import { maskTaxId } from '#lib/core/pix/tax-id.ts'
import { currentCause } from '#lib/core/trace.ts'
import { db, Prisma, type Tx } from '#lib/db/client.ts'
import {
  idOf,
  PAGE_BYTES_MAX,
  type Page,
  readPage,
  readPageOfColumns,
  sqlIfDefined,
  toPage,
} from '#lib/db/page.ts'
import {
  accountRow,
  asJson,
  columnsOf,
  onPrimary,
  queryRows,
  queryRowsWithin,
  utc,
} from '#lib/db/sql.ts'
import { recordEvent } from '#lib/ledger/book.ts'
import type { EventType } from '#lib/webhooks/states.ts'

/** Query of the dashboard's list, with the statuses that it shows. */
export const shownChargesQuery = listQuery(SHOWN_CHARGE_STATUSES).extend(amountFilters)
export type ShownChargesQuery = z.infer<typeof shownChargesQuery>

export const shownChargeFilters = shownChargesQuery.omit({ limit: true, cursor: true })

type RowFilters = ShownFilter & { status?: ChargeStatus }

/** The conditions on a row for each shown status. */
const ROW_FILTERS: Record<ShownChargeStatus, RowFilters> = {
  pending: { status: 'pending' },
  paid: { status: 'paid', refunded: 'none' },
  partly_refunded: { status: 'paid', refunded: 'part' },
  refunded: { status: 'paid', refunded: 'whole' },
  expired: { status: 'expired', isCancelled: false },
  cancelled: { status: 'expired', isCancelled: true },
  failed: { status: 'failed' },
}

/** Replaces the shown status by the conditions on a row. */
export function rowFiltersOf<Query extends { status?: ShownChargeStatus }>(
  query: Query,
): Omit<Query, 'status'> & RowFilters {
  const { status, ...others } = query
  return { ...others, ...(status && ROW_FILTERS[status]) }
}

type ChargesSearch = ChargeFilters &
  ScannedFilters &
  SearchScope & { limit: number; cursor?: string | undefined }

const payerSql = Prisma.sql`CASE WHEN c.payer_name IS NOT NULL THEN json_build_object(
    'name', c.payer_name, 'document', c.payer_doc, 'bank', c.payer_bank) END AS payer`

const wireColumns = ChargeDetail.omit({ transaction_id: true, payment_url: true, payer: true })
const columns = Object.keys(wireColumns.shape).map(name =>
  name.endsWith('_at') ? utc(`c.${name}`) : Prisma.raw(`c.${name}`),
)

/** Columns of a ChargeRow, from a table or CTE named `c`: those of the wire are named like it. */
export const chargeColumns = Prisma.sql`
  ${Prisma.join(columns, ', ')}, c.webhook_masked, ${payerSql}`

export const chargeAsJson = asJson(chargeColumns)

/** Event columns of a charge, from a CTE named `c` that also has `event_id`. */
export const eventColumns = {
  ...columnsOf('c', ['account_id', 'mode', 'event_id', 'webhook_url', 'webhook_host', 'trace']),
  subject_id: Prisma.sql`c.id`,
  resource: chargeAsJson,
}

const listedColumns = Prisma.sql`
  c.id, c.status, c.amount, c.refunded_amount, c.external_id, c.client_name, ${utc('c.created_at')},
  ${utc('c.cancelled_at')}`

/**
 * Finds a charge by id or by the merchant's reference, of several with it the newest. Text in UUID form
 * is always an id.
 */
export async function findCharge(
  accountId: string,
  mode: Mode,
  idOrReference: string,
  find = chargeRow.find,
): Promise<ChargeRow | null> {
  if (isUuid(idOrReference)) return find(accountId, mode, idOrReference)
  const [row] = await findNewest(accountId, mode, idOrReference, 1)
  return row ?? null
}

export const chargeRow = accountRow<ChargeRow>(
  (account, mode, id) => Prisma.sql`
    SELECT ${chargeAsJson} AS json FROM charges c
    WHERE c.account_id = ${account} AND c.mode = ${mode} AND c.id = ${id} AND c.status <> 'opening'`,
)

/** Finds the charge that a write is about: several with the same reference could mean any of them. */
export async function findAddressed(
  accountId: string,
  mode: Mode,
  idOrReference: string,
): Promise<ChargeRow> {
  const [charge, another] = await findNewest(accountId, mode, idOrReference, 2)
  if (!charge) throw refuse('transaction_not_found')
  if (another) throw refuse('external_id_ambiguous')
  return charge
}

function findNewest(
  accountId: string,
  mode: Mode,
  idOrReference: string,
  countMax: number,
): Promise<ChargeRow[]> {
  const listed = Prisma.sql`${onPrimary} AND c.account_id = ${accountId}::uuid AND c.mode = ${mode}
    AND c.status <> 'opening'`
  // OFFSET 0, because with stale statistics PostgreSQL would search all charges for the newest.
  const rows = isUuid(idOrReference)
    ? Prisma.sql`charges c WHERE ${listed} AND c.id = ${idOrReference}::uuid`
    : Prisma.sql`(SELECT * FROM charges c WHERE ${listed} AND c.external_id = ${idOrReference}
      OFFSET 0) c ORDER BY c.id DESC LIMIT ${countMax}`
  return queryRows<ChargeRow>(Prisma.sql`SELECT ${chargeAsJson}::text AS json FROM ${rows}`)
}

/** Finds a charge that can be paid: only the code of one is shown. */
export async function findPayableCharge(
  accountId: string,
  mode: Mode,
  idOrReference: string,
): Promise<ChargeRow> {
  const charge = await findCharge(accountId, mode, idOrReference)
  if (!charge) throw refuse('transaction_not_found')
  if (charge.status !== 'pending') throw refuse('not_pending')
  return charge
}

export function serializeCharge(charge: ChargeRow): ChargeDetail {
  return chargeToWire(charge, paymentUrl(charge.id))
}

/** Returns what serializes each of these charges. */
export function serializeCharges(charges: ChargeRow[]) {
  const urls = paymentUrls(charges.map(({ id }) => id))
  return (charge: ChargeRow, nth: number) => chargeToWire(charge, urls[nth] as string)
}

/** Masks the payer's document: docs/decisions/023. */
export function maskCharge(charge: ChargeDetail): ChargeDetail {
  return { ...charge, client_doc: maskTaxId(charge.client_doc) }
}

/** Mask of a response that is one charge, which has a document only if it is shown whole. */
export function maskChargeRead<Data extends Partial<ChargeDetail>>(shown: {
  status: 'success'
  data: Data
}) {
  const { client_doc } = shown.data
  if (client_doc === undefined) return shown
  return { ...shown, data: { ...shown.data, client_doc: maskTaxId(client_doc) } }
}

export function serializeMaskedCharge(charge: ChargeRow): ChargeDetail {
  return maskCharge(serializeCharge(charge))
}

function chargeSerializerFor(showsDocuments: boolean): (charge: ChargeRow) => ChargeDetail {
  return showsDocuments ? serializeCharge : serializeMaskedCharge
}

/**
 * Records an event of each charge in `causes`, in the caller's transaction after all its other statements: the event
 * sequence is locked last. The subject is the charge, so the events of one come in order. `causes` selects
 * `account_id`, `charge_id`, `event_id` and, as JSON, the `cause` that the event has as `part`.
 */
export async function recordChargeEvents(
  tx: Tx,
  event: EventType,
  part: EventPart,
  causes: Prisma.Sql,
): Promise<void> {
  const statement = recordEvent({
    ctes: {
      causes,
      caused: Prisma.sql`
        SELECT c.*, k.event_id, k.cause FROM causes k
        JOIN charges c ON c.account_id = k.account_id AND c.id = k.charge_id`,
    },
    source: {
      from: Prisma.sql`caused c`,
      columns: {
        ...columnsOf('c', ['account_id', 'mode', 'webhook_url', 'webhook_host', 'event_id']),
        subject_id: Prisma.sql`c.id`,
        resource: asJson(Prisma.sql`${chargeColumns}, c.cause AS ${Prisma.raw(`"${part}"`)}`),
        trace: Prisma.sql`${currentCause()}::text`,
      },
    },
    event,
    returning: Prisma.sql`json_build_object('id', c.id)`,
  })
  await queryRows(statement, tx)
}

/** What the event of a charge may be about beside the charge. */
type EventPart = 'refund' | 'dispute' | 'return' | 'payment'

/** Serializes the charge that an event stores, with what the event is about. */
export function serializeChargeEvent(
  resource: unknown,
  showsDocuments: boolean,
): { transaction: ChargeDetail } & { [Part in EventPart]?: unknown } {
  const {
    refund,
    dispute,
    return: returned,
    payment,
    ...charge
  } = resource as ChargeRow & Record<EventPart, unknown>
  const transaction = chargeSerializerFor(showsDocuments)(charge)
  return {
    transaction,
    ...(refund ? { refund } : {}),
    ...(dispute ? { dispute } : {}),
    ...(returned ? { return: returned } : {}),
    ...(payment ? { payment } : {}),
  }
}

export function listCharges(
  accountId: string,
  mode: Mode,
  query: ChargesSearch,
): Promise<Page<ChargeRow>> {
  return readCharges<ChargeRow>(chargeColumns, accountId, mode, query)
}

/** Returns the page with only the columns of a list row; the only data of the payer is the name. */
export function listChargeRows(
  accountId: string,
  mode: Mode,
  query: ChargesSearch,
): Promise<Page<ListedCharge>> {
  return readCharges<ListedCharge>(listedColumns, accountId, mode, query)
}

/** Reads a page of matching charges, newest first. `columns` must include `id`. */
export async function readCharges<Row extends { id: string }>(
  columns: Prisma.Sql,
  accountId: string,
  mode: Mode,
  query: ChargesSearch,
): Promise<Page<Row>> {
  const { q, limit } = query
  if (q) return searchCharges(columns, accountId, mode, { ...query, q })
  if (query.paid_from || query.paid_to || query.metadata)
    return readBounded(columns, accountId, mode, query)
  const where = chargesWhere(accountId, mode, query)
  const end = Prisma.sql`ORDER BY c.id DESC LIMIT ${limit + 1}`
  const rows = needsIdScan(query)
    ? Prisma.sql`(${idsOf(where)} ${end}) k JOIN charges c USING (account_id, id) ORDER BY c.id DESC`
    : Prisma.sql`charges c WHERE ${where} ${end}`
  return readPageOfColumns<Row>(Prisma.sql`SELECT ${columns} FROM ${rows}`, limit)
}

/** Without an index in list order, an index-only scan finds the ids: matches may be old. */
function needsIdScan({ status, min_amount, max_amount }: ChargeFilters): boolean {
  const statuses = [status ?? []].flat()
  const isIndexed = statuses.length === 0 || (statuses.length === 1 && statuses[0] !== 'pending')
  return !isIndexed || min_amount !== undefined || max_amount !== undefined
}

function idsOf(where: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`SELECT c.account_id, c.id FROM charges c WHERE ${where}`
}

const NEWEST_MAX = 2_000

/** Searches the newest rows first: the search index must read all matches before sorting. */
async function searchCharges<Row extends { id: string }>(
  columns: Prisma.Sql,
  accountId: string,
  mode: Mode,
  query: ChargesSearch & { q: string },
): Promise<Page<Row>> {
  const { limit } = query
  const where = chargesWhere(accountId, mode, query)
  const end = Prisma.sql`ORDER BY c.id DESC LIMIT ${limit + 1}`
  const newest = Prisma.sql`
    WITH newest AS MATERIALIZED (${idsOf(where)} ORDER BY c.id DESC LIMIT ${NEWEST_MAX})
    SELECT json_build_object('row', ${asJson(columns)}, 'seen', (SELECT count(*) FROM newest))::text AS json
    FROM ${joinCharges('newest')}
    WHERE ${searchCondition('c', query)} ${scannedSql(query)} ${end}`
  const { rows, isCut } = await queryRowsWithin<{ row: Row; seen: number }>(newest, PAGE_BYTES_MAX)
  const isComplete = isCut || rows.length > limit || (rows[0] && rows[0].seen < NEWEST_MAX)
  if (isComplete)
    return toPage(
      rows.map(({ row }) => row),
      limit,
      idOf,
      isCut,
    )
  const found = Prisma.sql`
    WITH ${searchCte(accountId, mode, query)}
    SELECT ${asJson(columns)}::text AS json FROM ${joinCharges('found')}
    WHERE ${where} ${scannedSql(query)} ${end}`
  return readPage<Row>(found, limit)
}

/** Rows that one page reads to find those that match: about 50 ms (docs/decisions/053). */
const SCANNED_MAX = 10_000

type BoundedQuery = ChargeFilters & ScannedFilters & { limit: number; cursor?: string | undefined }

/**
 * Reads a page by filters that no index gives in list order. A page reads a limited number of rows: it
 * may be empty and still have a next one. Few payments in the period are found by their times instead.
 */
async function readBounded<Row extends { id: string }>(
  columns: Prisma.Sql,
  accountId: string,
  mode: Mode,
  query: BoundedQuery,
): Promise<Page<Row>> {
  const listed = chargesWhere(accountId, mode, query)
  const select = Prisma.sql`SELECT ${columns} FROM`
  const end = Prisma.sql`ORDER BY c.id DESC LIMIT ${query.limit + 1}`
  const paid = await countPaid(accountId, mode, query)
  if (paid !== null && paid <= SCANNED_MAX) {
    return readPageOfColumns<Row>(
      Prisma.sql`
      WITH paid AS MATERIALIZED (
        SELECT c.account_id, c.id FROM charges c
        WHERE ${chargesWhere(accountId, mode, {})} AND c.paid_at IS NOT NULL ${paidSql(query)})
      ${select} ${joinCharges('paid')} WHERE ${listed} ${metadataSql(query)} ${end}`,
      query.limit,
    )
  }
  const [last] = await queryRows<{ id: string }>(Prisma.sql`
    SELECT json_build_object('id', c.id)::text AS json FROM charges c
    WHERE ${listed} ${createdSql(query)} ORDER BY c.id DESC OFFSET ${SCANNED_MAX - 1} LIMIT 1`)
  const scanned = sqlIfDefined(last, Prisma.sql`AND c.id >= ${last?.id}::uuid`)
  const page = await readPageOfColumns<Row>(
    Prisma.sql`
    WITH scanned AS MATERIALIZED (
      SELECT c.account_id, c.id FROM charges c WHERE ${listed} ${createdSql(query)} ${scanned})
    ${select} ${joinCharges('scanned')} WHERE true ${scannedSql(query)} ${end}`,
    query.limit,
  )
  return { ...page, nextCursor: page.nextCursor ?? last?.id ?? null }
}

/** Counts the payments of the period, which an index holds; null without a period. */
async function countPaid(
  accountId: string,
  mode: Mode,
  query: BoundedQuery,
): Promise<number | null> {
  if (!query.paid_from && !query.paid_to) return null
  const [found] = await queryRows<{ count: number }>(Prisma.sql`
    SELECT json_build_object('count', count(*))::text AS json FROM (
      SELECT FROM charges c
      WHERE ${chargesWhere(accountId, mode, {})} AND c.paid_at IS NOT NULL ${paidSql(query)}
      LIMIT ${SCANNED_MAX + 1}) c`)
  return found?.count ?? 0
}

/** Condition of these filters on rows that another condition has found. */
function scannedSql(filters: ScannedFilters): Prisma.Sql {
  return Prisma.sql`${paidSql(filters)} ${metadataSql(filters)}`
}

function paidSql({ paid_from: from, paid_to: to }: ScannedFilters): Prisma.Sql {
  return Prisma.sql`
    ${sqlIfDefined(from, Prisma.sql`AND c.paid_at >= ${from}::timestamptz`)}
    ${sqlIfDefined(to, Prisma.sql`AND c.paid_at < ${to}::timestamptz`)}`
}

/** No charge is paid before it is created. */
function createdSql({ paid_to: to }: ScannedFilters): Prisma.Sql {
  return to ? Prisma.sql`AND c.id < ${idUpperBoundAt(Date.parse(to))}::uuid` : Prisma.empty
}

/** Compares the value as text, which is the same for the number 1048 and the string "1048". */
function metadataSql({ metadata = [] }: ScannedFilters): Prisma.Sql {
  const isEqual = metadata.map(([key, value]) => Prisma.sql`AND c.metadata ->> ${key} = ${value}`)
  return isEqual.length > 0 ? Prisma.join(isEqual, ' ') : Prisma.empty
}

const COUNTED_MAX = 100_000

export async function totalCharges(
  accountId: string,
  mode: Mode,
  filters: ChargeFilters & SearchScope,
): Promise<ChargeTotals> {
  const { q } = filters
  const rows = Prisma.sql`SELECT c.status, c.amount FROM
    ${q ? joinCharges('found') : Prisma.sql`charges c`}
    WHERE ${chargesWhere(accountId, mode, filters)} LIMIT ${COUNTED_MAX + 1}`
  const [total] = await queryRows<Omit<ChargeTotals, 'is_exact'>>(Prisma.sql`
    ${q ? Prisma.sql`WITH ${searchCte(accountId, mode, { ...filters, q })}` : Prisma.empty}
    SELECT json_build_object('count', count(*),
      'amount', LEAST(COALESCE(sum(r.amount), 0), ${Number.MAX_SAFE_INTEGER}::bigint),
      'paid_amount', LEAST(COALESCE(sum(r.amount) FILTER (WHERE r.status = 'paid'), 0),
        ${Number.MAX_SAFE_INTEGER}::bigint))::text AS json
    FROM (${rows}) r`)
  const { count = 0, amount = 0, paid_amount = 0 } = total ?? {}
  const isExact = count <= COUNTED_MAX && amount < Number.MAX_SAFE_INTEGER
  return { count: Math.min(count, COUNTED_MAX), amount, paid_amount, is_exact: isExact }
}

/** Stores the first view. `updated_at` stays, because the charge itself does not change. */
export async function recordChargeView(accountId: string, chargeId: string): Promise<void> {
  await db().$executeRaw`
    UPDATE charges SET viewed_at = now()
    WHERE account_id = ${accountId}::uuid AND id = ${chargeId}::uuid AND viewed_at IS NULL`
}
