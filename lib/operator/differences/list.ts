import { HOME_TIME_ZONE, type Locale } from '#lib/core/locale.ts'
import { csvFile, csvTimeFormatter, recordExport } from '#lib/dashboard/exports.ts'
import { dayInZone } from '#lib/dashboard/period.ts'
import type { SearchParams } from '#lib/dashboard/schema.ts'
import { readFilters } from '#lib/dashboard/url-filters.ts'
import { Prisma } from '#lib/db/client.ts'
import { type Page, readPage, sqlIfDefined, walkPages } from '#lib/db/page.ts'
import { asJson, queryRows, utc, utcText } from '#lib/db/sql.ts'
import { itemsSql, modeOfItem } from '#lib/differences/differences.ts'
import {
  type DifferenceFilters,
  type DifferenceLine,
  type DifferenceSummary,
  differenceQuery,
} from '#lib/operator/differences/schema.ts'
import { MESSAGES } from '#messages/words.ts'

/** Cents at a path of the facts; null if there is no number. */
function centsAt(path: string): Prisma.Sql {
  const [value, text] = ['#>', '#>>'].map(get => Prisma.raw(`i.facts ${get} '{${path}}'`))
  return Prisma.sql`CASE WHEN json_typeof(${value}) = 'number' THEN (${text})::numeric::bigint END`
}

/** Of a day: the amount of the bank, else that of the books, or what its balances differ by. */
const amountOfFacts = Prisma.sql`COALESCE(${centsAt('amount')},
  CASE WHEN i.kind LIKE 'day%' THEN COALESCE(${centsAt('bank,amount')}, ${centsAt('ours,amount')},
    ${centsAt('bank,difference')}, ${centsAt('bank,opening')} - ${centsAt('ours,closing')}) END)`

/** Columns of a DifferenceLine. */
export const lineColumns = Prisma.sql`
  i.id, i.kind, json_build_object('id', n.id, 'name', n.name) AS connection,
  ${modeOfItem} AS mode,
  COALESCE(r.amount, ${amountOfFacts}) AS amount,
  r.id IS NOT NULL AND i.resolved_at IS NULL AS is_held,
  EXISTS (SELECT FROM unmatched_returns b WHERE b.item_id = i.id AND b.status = 'pending')
    AS is_giving_back,
  ${utc('i.created_at')}, ${utc('i.resolved_at')}, i.resolution`

/** Returns items, newest first. */
export function listItems(
  filters: DifferenceFilters & { cursor?: string; limit: number },
): Promise<Page<DifferenceLine>> {
  const { state, kind, connection, age, cursor, limit } = filters
  const stateSql = Prisma.sql`AND CASE WHEN i.resolved_at IS NULL THEN 'open'
    WHEN i.resolution = 'acknowledge' THEN 'acknowledged' ELSE 'resolved' END = ${state}`
  return readPage<DifferenceLine>(
    Prisma.sql`
      SELECT ${asJson(lineColumns)}::text AS json FROM ${itemsSql}
      WHERE true ${sqlIfDefined(state, stateSql)}
        ${sqlIfDefined(kind, Prisma.sql`AND i.kind = ${kind}`)}
        ${sqlIfDefined(connection, Prisma.sql`AND i.connection_id = ${connection}::uuid`)}
        ${sqlIfDefined(age, Prisma.sql`AND i.created_at < now() - make_interval(days => ${Number(age)}::int)`)}
        ${sqlIfDefined(cursor, Prisma.sql`AND i.id < ${cursor}::uuid`)}
      ORDER BY i.id DESC LIMIT ${limit + 1}`,
    limit,
  )
}

export async function summarizeOpen(): Promise<DifferenceSummary> {
  const sum = (mode: string) =>
    Prisma.sql`COALESCE(sum(r.amount) FILTER (WHERE r.mode = ${mode}), 0)`
  const [summary] = await queryRows<DifferenceSummary>(Prisma.sql`
    SELECT json_build_object('count', count(*), 'oldest_at', ${utcText('min(i.created_at)')},
      'amount', json_build_object('test', ${sum('test')}, 'live', ${sum('live')}))::text AS json
    FROM ${itemsSql} WHERE i.resolved_at IS NULL`)
  return summary ?? { count: 0, oldest_at: null, amount: { test: 0, live: 0 } }
}

/** Returns the connections that any item is about, for the filter. */
export function listItemConnections(): Promise<DifferenceLine['connection'][]> {
  return queryRows(Prisma.sql`
    SELECT json_build_object('id', n.id, 'name', n.name)::text AS json FROM connections n
    WHERE EXISTS (SELECT FROM differences i WHERE i.connection_id = n.id) ORDER BY n.name, n.id`)
}

const ANY_STATE = 'all'

/** Reads the filters of the differences from a page's URL: what is open by default. Drops invalid values. */
export function readDifferenceFilters(params: SearchParams) {
  const { query: filters } = readFilters(
    params,
    differenceQuery.omit({ limit: true }),
    HOME_TIME_ZONE,
  )
  return params.state === ANY_STATE ? filters : { ...filters, state: filters.state ?? 'open' }
}

const BATCH_MAX = 500

export async function exportDifferences(
  userId: string,
  { locale, ...filters }: DifferenceFilters & { locale: Locale },
) {
  await recordExport('difference.exported', userId, undefined, {
    ...filters,
    status: filters.state,
  })
  const { differences: t } = MESSAGES[locale]
  const time = csvTimeFormatter(locale, HOME_TIME_ZONE)
  const nameOf = (names: Record<string, string>, key: string) => names[key] ?? key
  const about = [t.column.what, t.column.connection, t.column.mode, t.column.amount]
  const ended = [t.column.resolved, t.column.resolution]
  return csvFile<DifferenceLine>(`${t.file}-${dayInZone(new Date(), HOME_TIME_ZONE)}`, {
    locale,
    head: [t.column.created, ...about, ...ended, t.column.code, 'ID'],
    pages: walkPages(cursor => listItems({ ...filters, cursor, limit: BATCH_MAX })),
    cellsOf: row => [
      time(row.created_at),
      nameOf(t.kind, row.kind),
      nameOf({ simulator: t.simulator }, row.connection.name),
      t.mode[row.mode],
      row.amount === null ? null : { amount: row.amount },
      row.resolved_at && time(row.resolved_at),
      row.resolution && nameOf(t.resolution, row.resolution),
      row.kind,
      row.id,
    ],
  })
}
