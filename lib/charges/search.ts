import * as z from 'zod'
import { CHARGE_STATUSES, type ChargeStatus } from '#lib/charges/states.ts'
import { keyed, listQuery, must, openApiMeta, repeatable, timeFilter } from '#lib/core/fields.ts'
import { idLowerBoundAt, isUuid, smallestIdAt } from '#lib/core/ids.ts'
import type { Mode } from '#lib/core/mode.ts'
import { parseSearchedReais } from '#lib/core/money.ts'
import { normalizeTaxId } from '#lib/core/pix/tax-id.ts'
import { db, Prisma } from '#lib/db/client.ts'
import { filterSql, sqlIfDefined } from '#lib/db/page.ts'
import { onPrimary, queryRows, reverseTail, withoutTaxIds } from '#lib/db/sql.ts'

const SEARCH_DESCRIPTION =
  "Search text: words of the payer's name, e-mail and the reference, in any order and ignoring case and accents, an amount (`446,54`), an id, at least four characters of the end of an end-to-end ID or, with `payers:read`, at least three of the beginning of a CPF or CNPJ."
const CENTS_RULE = 'be a whole number of cents'

function centsFilter(description: string, example: number) {
  return z
    .string()
    .regex(/^\d{1,12}$/, must(CENTS_RULE))
    .transform(Number)
    .optional()
    .meta({ like: z.int().min(0).optional(), ...openApiMeta(description, example) })
}

export const amountFilters = {
  min_amount: centsFilter('Minimum amount, in cents.', 1500),
  max_amount: centsFilter('Maximum amount, in cents.', 9900),
}

const METADATA_LENGTH_MAX = 255
const PAID_DESCRIPTION = 'a date (midnight UTC) or a time with a UTC offset.'
const METADATA_DESCRIPTION =
  'Only charges whose `metadata` has this value at this key of the first level, as text, number or boolean: `metadata[order]=1048`. Several keys must all match.'

export const chargesQuery = listQuery(CHARGE_STATUSES, SEARCH_DESCRIPTION).extend({
  status: repeatable(CHARGE_STATUSES)
    .optional()
    .meta({
      like: z.union([z.enum(CHARGE_STATUSES), z.array(z.enum(CHARGE_STATUSES))]).optional(),
      ...openApiMeta('Only charges with this status. Repeat it for several.', 'paid'),
    }),
  ...amountFilters,
  paid_from: timeFilter
    .optional()
    .meta(openApiMeta(`Paid at or after: ${PAID_DESCRIPTION}`, '2026-11-01')),
  paid_to: timeFilter
    .optional()
    .meta(openApiMeta(`Paid before: ${PAID_DESCRIPTION}`, '2026-12-01')),
  metadata: keyed(METADATA_LENGTH_MAX, METADATA_LENGTH_MAX)
    .optional()
    .meta({
      like: z.record(z.string(), z.string()).optional(),
      ...openApiMeta(METADATA_DESCRIPTION, { order: '1048' }),
    }),
})
export type ChargesQuery = z.infer<typeof chargesQuery>

/** Filters of the dashboard only: how much of a charge is refunded, and whether it was cancelled. */
export interface ShownFilter {
  refunded?: 'none' | 'part' | 'whole'
  isCancelled?: boolean
}
/** Filters by what is in no index in list order. */
export type ScannedFilters = Pick<ChargesQuery, 'paid_from' | 'paid_to' | 'metadata'>

/** All others. */
export type ChargeFilters = Omit<
  ChargesQuery,
  'limit' | 'cursor' | 'status' | keyof ScannedFilters
> &
  ShownFilter & { status?: ChargeStatus | ChargeStatus[] | undefined }

/** The shortest of more terms do not narrow a search: each combination is a statement of its own. */
const TERMS_MAX = 6
/** A mask hides the first three digits of a CPF: a shorter beginning would reveal them one by one. */
const DOCUMENT_LENGTH_MIN = 3

/** A word of a search. A charge matches if its words contain `text` or its amount is `amount`. */
interface SearchTerm {
  /** Null for a number that is only an amount. */
  text: string | null
  amount: number | null
  /** Whether the trigram index finds the text: it needs three letters or digits in a row. */
  isIndexed: boolean
}

interface ParsedSearch {
  text: string
  id: string | null
  terms: SearchTerm[]
  /** Beginning of a payer's document; null for callers who may not read documents. */
  document: string | null
  /** End of an end-to-end id, reversed, in upper case. */
  tail: string | null
}

/** Parses what a user searches charges for. A caller who may not read documents could guess them. */
export function parseSearch(q: string, matchesDocuments: boolean): ParsedSearch {
  const text = q.trim()
  const document = normalizeTaxId(text)
  return {
    text,
    id: isUuid(text) ? text : null,
    terms: parseTerms(text),
    document: matchesDocuments && isDocumentStart(document) ? document : null,
    tail: reverseTail(text),
  }
}

/** Words in any order. An amount such as `R$ 1 446,54` is one word. */
function parseTerms(text: string): SearchTerm[] {
  if (parseSearchedReais(text) !== null) return [parseTerm(text, false)]
  const words = new Set(text.split(/\s+/).filter(word => word !== '' && !/^r\$$/i.test(word)))
  const longest = [...words].sort((one, other) => other.length - one.length).slice(0, TERMS_MAX)
  const isNarrow = longest.some(hasTrigram)
  const terms = longest.map(word => parseTerm(word, isNarrow))
  return terms.sort((one, other) => kindOf(one) - kindOf(other))
}

/** Alone, a short number is an amount only: without a trigram, all rows would be read for its text. */
function parseTerm(word: string, isNarrow: boolean): SearchTerm {
  const amount = parseSearchedReais(word)
  const isIndexed = hasTrigram(word)
  return { text: isNarrow || isIndexed || amount === null ? word : null, amount, isIndexed }
}

function hasTrigram(text: string): boolean {
  return /[\p{L}\p{N}]{3}/u.test(text)
}

/** Terms in order of kind make few different statements. */
function kindOf({ text, amount, isIndexed }: SearchTerm): number {
  return (text === null ? 4 : 0) + (amount === null ? 0 : 2) + (isIndexed ? 0 : 1)
}

function isDocumentStart(bare: string): boolean {
  return bare.length >= DOCUMENT_LENGTH_MIN && /^(?=.*\d)[0-9A-Z]{1,14}$/.test(bare)
}

// The condition on rows and the condition on the index must match the same charges.

const ZERO_ID = '00000000-0000-0000-0000-000000000000'

export function chargesWhere(
  accountId: string,
  mode: Mode,
  filters: ChargeFilters & { cursor?: string | undefined },
): Prisma.Sql {
  const { min_amount: from, max_amount: to, refunded, isCancelled } = filters
  return Prisma.sql`
    ${onPrimary} AND c.account_id = ${accountId}::uuid AND c.mode = ${mode} AND c.status <> 'opening'
    ${filterSql('c', filters)}
    ${sqlIfDefined(from, Prisma.sql`AND c.amount >= ${from}::bigint`)}
    ${sqlIfDefined(to, Prisma.sql`AND c.amount <= ${to}::bigint`)}
    ${refunded ? REFUNDED[refunded] : Prisma.empty}
    ${isCancelled === undefined ? Prisma.empty : cancelledSql(isCancelled)}`
}

/** Cancelled charges are in the index `charges_cancelled_idx`. */
function cancelledSql(isCancelled: boolean): Prisma.Sql {
  return isCancelled
    ? Prisma.sql`AND c.cancelled_at IS NOT NULL`
    : Prisma.sql`AND c.cancelled_at IS NULL`
}

/** Amounts above zero are in the index `charges_refunded_idx`. */
const REFUNDED = {
  none: Prisma.sql`AND c.refunded_amount = 0`,
  part: Prisma.sql`AND c.refunded_amount > 0 AND c.refunded_amount < c.amount`,
  whole: Prisma.sql`AND c.refunded_amount > 0 AND c.refunded_amount >= c.amount`,
}

/** Joins by primary key first: with stale statistics, PostgreSQL would fold all rows per key. */
export function joinCharges(keys: string): Prisma.Sql {
  const keysSql = Prisma.raw(keys)
  return Prisma.sql`${keysSql} CROSS JOIN LATERAL (SELECT * FROM charges c
    WHERE c.account_id = ${keysSql}.account_id AND c.id = ${keysSql}.id OFFSET 0) c`
}

/** Whether a search also matches documents. A caller who may not read them could guess them. */
export interface SearchScope {
  matchesDocuments?: boolean
  /** Whether staff views the account: what it sees masked in names and references is not matched. */
  isViewing?: boolean
}
type Search = SearchScope & { q: string }

function parse({ q, matchesDocuments = false }: Search): ParsedSearch {
  return parseSearch(q, matchesDocuments)
}

export function searchCondition(alias: string, search: Search): Prisma.Sql {
  const { id, text, terms, document, tail } = parse(search)
  const c = Prisma.raw(alias)
  return Prisma.sql`(${c}.id = ${id}::uuid OR ${c}.external_id = ${text} OR ${c}.end_to_end_id = ${text}
    OR starts_with(${tailSql(alias)}, ${tail}) OR starts_with(${docSql(alias)}, ${document})
    OR (${termsSql(terms, wordsSql(alias), Prisma.sql`${c}.amount`, search)}))`
}

/** Computes `charge_searches.words` for a charge: prisma/functions/troco_fold.sql. */
function wordsSql(alias: string): Prisma.Sql {
  const c = Prisma.raw(alias)
  return Prisma.sql`troco_fold(${c}.client_name || chr(10) || ${c}.client_email
    || CASE WHEN ${c}.external_id = ${c}.txid THEN '' ELSE chr(10) || ${c}.external_id END)`
}

export function docSql(alias: string): Prisma.Sql {
  return Prisma.sql`upper(translate(${Prisma.raw(alias)}.client_doc, './ -', ''))`
}

/** The expression of the index `charges_end_to_end_tail_idx`. */
function tailSql(alias: string): Prisma.Sql {
  return Prisma.sql`upper(reverse(${Prisma.raw(alias)}.end_to_end_id)) COLLATE "C"`
}

function termsSql(
  terms: SearchTerm[],
  words: Prisma.Sql,
  amount: Prisma.Sql,
  { isViewing = false }: SearchScope,
): Prisma.Sql {
  if (terms.length === 0) return Prisma.sql`false`
  const conditions = terms.map(term => termSql(term, words, amount, isViewing))
  return Prisma.join(conditions, ' AND ')
}

/** A text without three letters in a row has no trigram: `|| ''` then avoids the slower index. */
function termSql(
  term: SearchTerm,
  words: Prisma.Sql,
  amount: Prisma.Sql,
  isViewing: boolean,
): Prisma.Sql {
  const isAmount = Prisma.sql`${amount} = ${term.amount}::bigint`
  if (term.text === null) return isAmount
  const text = term.isIndexed ? words : Prisma.sql`(${words} || '')`
  const pattern = patternSql(term.text)
  const isFound = Prisma.sql`${text} LIKE ${pattern}`
  // The index serves the first condition only.
  const isPart = isViewing
    ? Prisma.sql`(${isFound} AND ${withoutTaxIds(words)} LIKE ${pattern})`
    : isFound
  return term.amount === null ? isPart : Prisma.sql`(${isPart} OR ${isAmount})`
}

/** Escapes after folding, which turns a full-width % into %. A subquery is evaluated once. */
function patternSql(text: string): Prisma.Sql {
  return Prisma.sql`(SELECT '%' || regexp_replace(troco_fold(${text}), '([\\\\%_])', '\\\\\\1', 'g') || '%')`
}

/**
 * CTE `found`: exact, indexed and not yet indexed matches. The partial index needs `mode IN`. Without
 * a CTE of their own, PostgreSQL would read all charges for the few that are not indexed.
 */
export function searchCte(accountId: string, mode: Mode, search: Search): Prisma.Sql {
  const { text, terms, document, tail } = parse(search)
  const scope = Prisma.sql`${onPrimary} AND c.account_id = ${accountId}::uuid AND c.mode = ${mode}`
  const listed = Prisma.sql`SELECT c.account_id, c.id FROM charges c WHERE ${scope} AND c.status <> 'opening'`
  const indexed = Prisma.sql`SELECT c.account_id, c.id FROM charge_searches c WHERE ${scope}`
  const mark = Prisma.sql`SELECT m.id FROM charge_search_marks m
    WHERE m.account_id = ${accountId}::uuid AND m.mode = ${mode}`
  return Prisma.sql`unindexed AS MATERIALIZED (
    ${listed} AND c.id > COALESCE((${mark}), ${ZERO_ID}::uuid)
  ), found AS MATERIALIZED (
    ${indexed} AND c.mode IN ('test', 'live')
      AND ${termsSql(terms, Prisma.sql`c.words`, Prisma.sql`c.amount`, search)}
    UNION ${indexed} AND ${startSql(Prisma.sql`c.doc`, document)}
    UNION ${listed} AND ${startSql(tailSql('c'), tail)}
    UNION ${exactSql(listed, text)}
    UNION SELECT c.account_id, c.id FROM ${joinCharges('unindexed')}
    WHERE ${searchCondition('c', search)})`
}

/** A range, because an index does not serve a beginning that is a parameter. Values: 0-9 and A-Z. */
function startSql(value: Prisma.Sql, start: string | null): Prisma.Sql {
  const end = start && `${start}${'Z'.repeat(32)}`
  return Prisma.sql`${value} >= ${start} AND ${value} <= ${end} AND starts_with(${value}, ${start})`
}

function exactSql(listed: Prisma.Sql, text: string): Prisma.Sql {
  const id = isUuid(text) ? text : null
  return Prisma.sql`${listed} AND c.id = ${id}::uuid UNION ${listed} AND c.external_id = ${text}
    UNION ${listed} AND c.end_to_end_id = ${text}`
}

export async function findChargeIds(
  accountId: string,
  mode: Mode,
  q: string,
): Promise<{ id: string }[]> {
  const listed = Prisma.sql`SELECT c.account_id, c.id FROM charges c
    WHERE ${onPrimary} AND c.account_id = ${accountId}::uuid AND c.mode = ${mode} AND c.status <> 'opening'`
  return queryRows(Prisma.sql`
    SELECT json_build_object('id', f.id)::text AS json FROM (${exactSql(listed, q)}) f`)
}

/** Minimum age of a charge to index: by then its INSERT has committed or was abandoned. */
const COMMITTED_AFTER_MS = 10_000
/** Backlog above which the worker does not rest: searches scan charges not indexed yet. */
const BACKLOG_MAX_MS = 60_000
const ACCOUNTS_MAX = 20
const ROWS_MAX = 2_000

const indexColumns = Prisma.sql`c.account_id, c.id, c.mode, ${wordsSql('c')} AS words, ${docSql('c')} AS doc, c.amount`

/**
 * Indexes new charges and advances the account's mark in one statement. Safe to run concurrently.
 * Returns 0 unless the backlog needs another run at once.
 */
export async function indexCharges(now = Date.now() - COMMITTED_AFTER_MS): Promise<number> {
  const [written] = await db().$queryRaw<{ count: number; reached: string | null }[]>`
    WITH behind AS (
      SELECT a.id AS account_id, w.mode, m.id AS mark
      FROM accounts a CROSS JOIN (VALUES ('test'), ('live')) AS w (mode)
      LEFT JOIN charge_search_marks m ON m.account_id = a.id AND m.mode = w.mode
      WHERE EXISTS (SELECT ${unindexedSql(Prisma.sql`a.id`, Prisma.sql`w.mode`, Prisma.sql`m.id`, now)})
      ORDER BY m.id NULLS FIRST LIMIT ${ACCOUNTS_MAX}
    ), share AS (
      SELECT greatest(1, ${ROWS_MAX}::int / greatest(1, count(*)::int)) AS most FROM behind
    ), due AS (
      SELECT n.* FROM behind b CROSS JOIN share CROSS JOIN LATERAL (
        SELECT ${indexColumns} ${unindexedSql(Prisma.sql`b.account_id`, Prisma.sql`b.mode`, Prisma.sql`b.mark`, now)}
        ORDER BY c.id LIMIT share.most) n
    ), written AS (
      INSERT INTO charge_searches (account_id, id, mode, words, doc, amount) SELECT * FROM due
      ON CONFLICT DO NOTHING
    ), marked AS (
      INSERT INTO charge_search_marks AS m (account_id, mode, id)
      SELECT account_id, mode, max(id::text)::uuid FROM due GROUP BY account_id, mode
      ON CONFLICT (account_id, mode) DO UPDATE SET id = GREATEST(m.id, EXCLUDED.id)
    )
    SELECT count(*)::int AS count, min(id::text) AS reached FROM due`
  const { count = 0, reached } = written ?? {}
  return reached && reached < smallestIdAt(Date.now() - BACKLOG_MAX_MS) ? count : 0
}

function unindexedSql(
  account: Prisma.Sql,
  mode: Prisma.Sql,
  mark: Prisma.Sql,
  now: number,
): Prisma.Sql {
  return Prisma.sql`FROM charges c
    WHERE c.account_id = ${account} AND c.mode = ${mode} AND c.status <> 'opening'
      AND c.id > COALESCE(${mark}, ${smallestIdAt(0)}::uuid) AND c.id < ${smallestIdAt(now)}::uuid`
}

/** Indexes charges with an id behind the mark, because of a slow clock or a slow bank. */
export function indexLateCharges(): Promise<number> {
  return db().$executeRaw`
    INSERT INTO charge_searches (account_id, id, mode, words, doc, amount)
    SELECT ${indexColumns} FROM charge_search_marks m JOIN charges c
      ON c.account_id = m.account_id AND c.mode = m.mode AND c.id <= m.id
    WHERE c.status <> 'opening' AND c.id >= ${idLowerBoundAt(Date.now())}::uuid
      AND NOT EXISTS (SELECT FROM charge_searches s WHERE s.account_id = c.account_id AND s.id = c.id)
    LIMIT ${ROWS_MAX}
    ON CONFLICT DO NOTHING`
}
