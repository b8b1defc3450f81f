// Over the line limit: the condition on rows and the condition on the index must match the same
// charges, so both are here.

import type { ChargeFilters } from '#lib/charges/list-query.ts'
import { type ParsedSearch, parseSearch, type SearchTerm } from '#lib/charges/search-terms.ts'
import { isUuid } from '#lib/core/ids.ts'
import type { Mode } from '#lib/core/mode.ts'
import { Prisma } from '#lib/db/client.ts'
import { filterSql, sqlIfDefined } from '#lib/db/page.ts'
import { type AccountRef, accountCondition, queryRows, withoutTaxIds } from '#lib/db/sql.ts'

const ZERO_ID = '00000000-0000-0000-0000-000000000000'

export function chargesWhere(
  account: AccountRef,
  mode: Mode,
  filters: ChargeFilters & { cursor?: string | undefined },
): Prisma.Sql {
  const { min_amount: from, max_amount: to, refunded, isCancelled } = filters
  return Prisma.sql`
    ${accountCondition('c', account)} AND c.mode = ${mode} AND c.status <> 'opening'
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
export function wordsSql(alias: string): Prisma.Sql {
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
export function searchCte(account: AccountRef, mode: Mode, search: Search): Prisma.Sql {
  const { text, terms, document, tail } = parse(search)
  const scope = Prisma.sql`${accountCondition('c', account)} AND c.mode = ${mode}`
  const listed = Prisma.sql`SELECT c.account_id, c.id FROM charges c WHERE ${scope} AND c.status <> 'opening'`
  const indexed = Prisma.sql`SELECT c.account_id, c.id FROM charge_searches c WHERE ${scope}`
  const mark = Prisma.sql`SELECT m.id FROM charge_search_marks m
    WHERE ${accountCondition('m', account)} AND m.mode = ${mode}`
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
  account: AccountRef,
  mode: Mode,
  q: string,
): Promise<{ id: string }[]> {
  const listed = Prisma.sql`SELECT c.account_id, c.id FROM charges c
    WHERE ${accountCondition('c', account)} AND c.mode = ${mode} AND c.status <> 'opening'`
  return queryRows(Prisma.sql`
    SELECT json_build_object('id', f.id)::text AS json FROM (${exactSql(listed, q)}) f`)
}
