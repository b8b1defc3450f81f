// Over the line limit: the condition on rows and the condition on the index must match the same
// charges, so both are here.

import { Prisma } from '#lib/base/db/client.ts'
import { type AccountRef, accountCondition } from '#lib/base/db/columns.ts'
import { filterSql, sqlIfDefined } from '#lib/base/db/page.ts'
import { queryRows } from '#lib/base/db/rows.ts'
import { isUuid } from '#lib/base/ids.ts'
import type { Mode } from '#lib/base/mode.ts'
import { normalizeTaxId, taxIdKind } from '#lib/base/pix/tax-id.ts'
import type { ChargeFilters } from '#lib/rooms/charges/wire.ts'

const ZERO_ID = '00000000-0000-0000-0000-000000000000'

export function chargesWhere(
  account: AccountRef,
  mode: Mode,
  filters: ChargeFilters & { cursor?: string },
): Prisma.Sql {
  const { amount_from: from, amount_to: to, refunded } = filters
  return Prisma.sql`
    ${accountCondition('c', account)} AND c.mode = ${mode} AND c.status <> 'opening'
    ${filterSql('c', filters)}
    ${sqlIfDefined(from, Prisma.sql`AND c.amount >= ${from}::bigint`)}
    ${sqlIfDefined(to, Prisma.sql`AND c.amount <= ${to}::bigint`)}
    ${refunded ? REFUNDED[refunded] : Prisma.empty}`
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
}
type Search = SearchScope & { q: string }

export function searchCondition(alias: string, search: Search): Prisma.Sql {
  const { q } = search
  const c = Prisma.raw(alias)
  const id = isUuid(q) ? q : null
  return Prisma.sql`(${c}.id = ${id}::uuid OR ${c}.external_id = ${q} OR ${c}.end_to_end_id = ${q}
    OR ${docSql(alias)} = ${docOf(search)} OR ${wordsSql(alias)} LIKE ${patternSql(q)})`
}

/** Computes `charge_searches.words` for a charge: prisma/functions/troco_fold.sql. */
export function wordsSql(alias: string): Prisma.Sql {
  const c = Prisma.raw(alias)
  return Prisma.sql`troco_fold(${c}.client_name || chr(10) || ${c}.client_email)`
}

export function docSql(alias: string): Prisma.Sql {
  return Prisma.sql`upper(translate(${Prisma.raw(alias)}.client_doc, './ -', ''))`
}

function docOf({ q, matchesDocuments }: Search): string | null {
  return matchesDocuments && taxIdKind(q) ? normalizeTaxId(q) : null
}

/** Escapes after folding, which turns a full-width % into %. A subquery is evaluated once. */
function patternSql(q: string): Prisma.Sql {
  return Prisma.sql`(SELECT '%' || regexp_replace(troco_fold(${q}), '([\\\\%_])', '\\\\\\1', 'g') || '%')`
}

/** A text without three letters in a row has no trigram: `|| ''` then avoids the slower index. */
function indexedWords(q: string): Prisma.Sql {
  return /[\p{L}\p{N}]{3}/u.test(q) ? Prisma.sql`c.words` : Prisma.sql`(c.words || '')`
}

/** CTE `found`: exact, indexed and not yet indexed matches. The partial index needs `mode IN`. */
export function searchCte(account: AccountRef, mode: Mode, search: Search): Prisma.Sql {
  const { q } = search
  const scope = Prisma.sql`${accountCondition('c', account)} AND c.mode = ${mode}`
  const listed = Prisma.sql`SELECT c.account_id, c.id FROM charges c WHERE ${scope} AND c.status <> 'opening'`
  const indexed = Prisma.sql`SELECT c.account_id, c.id FROM charge_searches c WHERE ${scope}`
  return Prisma.sql`found AS MATERIALIZED (
    ${indexed} AND c.mode IN ('test', 'live') AND ${indexedWords(q)} LIKE ${patternSql(q)}
    UNION ${indexed} AND c.doc = ${docOf(search)}
    UNION ${exactSql(listed, q)}
    UNION ${listed} AND c.id > COALESCE((
        SELECT m.id FROM charge_search_marks m WHERE ${accountCondition('m', account)} AND m.mode = ${mode}
      ), ${ZERO_ID}::uuid) AND ${searchCondition('c', search)})`
}

function exactSql(listed: Prisma.Sql, q: string): Prisma.Sql {
  const id = isUuid(q) ? q : null
  return Prisma.sql`${listed} AND c.id = ${id}::uuid UNION ${listed} AND c.external_id = ${q}
    UNION ${listed} AND c.end_to_end_id = ${q}`
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
