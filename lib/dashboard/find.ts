import * as z from 'zod'
import { listCharges } from '#lib/charges/list.ts'
import type { ChargeRow } from '#lib/charges/schema.ts'
import { shownStatusOf } from '#lib/charges/states.ts'
import { must } from '#lib/core/fields.ts'
import { isUuid } from '#lib/core/ids.ts'
import type { Mode } from '#lib/core/mode.ts'
import { parseSearchedReais } from '#lib/core/money.ts'
import { parseBrCode } from '#lib/core/pix/br-code.ts'
import { normalizeTaxId, taxIdKind } from '#lib/core/pix/tax-id.ts'
import { HIT_KINDS, type Hit } from '#lib/dashboard/schema.ts'
import { Prisma } from '#lib/db/client.ts'
import { asJson, queryRows, reverseTail } from '#lib/db/sql.ts'
import { activeTokenCondition, tokenStatusSql } from '#lib/tokens/authenticate.ts'
import { withdrawalMatches } from '#lib/withdrawals/queries.ts'

const HITS_MAX = 8
/** Maximum input: a PIX code has at most 512 characters. */
const TEXT_MAX = 600
const REFERENCE_MAX = 255

export const FindQuery = z.object({
  q: z
    .string(must('be a string'))
    .trim()
    .min(1, must('not be empty'))
    .max(TEXT_MAX, must(`have at most ${TEXT_MAX} characters`)),
})

export const HitList = z.object({
  data: z.array(
    z.object({
      kind: z.enum(HIT_KINDS),
      id: z.guid(),
      label: z.string(),
      detail: z.string().nullable(),
      status: z.string(),
      amount: z.int().nullable(),
      href: z.string(),
      isExact: z.boolean(),
    }),
  ),
})

/**
 * Finds the records of one account and mode that match a text, exact matches first. Staff that
 * views the account finds nothing by what it sees masked.
 */
export async function findHits(
  accountId: string,
  mode: Mode,
  text: string,
  matchesDocuments: boolean,
  isViewing = false,
): Promise<Hit[]> {
  const terms = parseSearchTerms(text.trim())
  const found = await Promise.all(
    terms.map(async term => {
      const scope = { matchesDocuments, isViewing }
      const query = { q: term.slice(0, REFERENCE_MAX), limit: HITS_MAX, ...scope }
      const [{ rows }, others] = await Promise.all([
        listCharges(accountId, mode, query),
        findOtherHits(accountId, mode, term, isViewing),
      ])
      return [...rows.map(row => chargeHit(row, term, matchesDocuments)), ...others]
    }),
  )
  const hits = found.flat().sort((one, other) => Number(other.isExact) - Number(one.isExact))
  const isFirst = ({ id }: Hit, index: number) => hits.findIndex(hit => hit.id === id) === index
  return hits.filter(isFirst).slice(0, HITS_MAX)
}

/** A PIX code contains the charge's id without hyphens, but may also be a merchant's reference. */
function parseSearchTerms(text: string): string[] {
  const reading = parseBrCode(text)
  const code = reading.ok ? reading.code : null
  const codeId = code?.kind === 'dynamic' ? code.location.split('/').at(-1) : null
  const term = code?.txid ?? codeId ?? text
  const id = toUuid(term)
  return id && id !== term.toLowerCase() ? [id, term] : [id ?? term]
}

function toUuid(text: string): string | null {
  if (isUuid(text)) return text.toLowerCase()
  const [, ...parts] =
    /^([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$/i.exec(text) ?? []
  return parts.length > 0 ? parts.join('-').toLowerCase() : null
}

function chargeHit(row: ChargeRow, text: string, matchesDocuments: boolean): Hit {
  const { id, mode, client_name, client_email, client_doc, external_id, end_to_end_id } = row
  const names = [id, external_id, end_to_end_id, client_email.toLowerCase()]
  const isDocument = matchesDocuments && taxIdKind(text) !== null
  const isPayer = isDocument && normalizeTaxId(client_doc) === normalizeTaxId(text)
  return {
    kind: 'charge',
    id,
    label: client_name || external_id,
    detail: external_id,
    status: shownStatusOf(row),
    amount: row.amount,
    href: `/${mode}/charges/${id}`,
    isExact: isPayer || names.includes(text) || names.includes(text.toLowerCase()),
  }
}

/** Searches each kind by its own index, and the newest withdrawals and refunds. */
async function findOtherHits(
  accountId: string,
  mode: Mode,
  text: string,
  isViewing: boolean,
): Promise<Hit[]> {
  const scopeCondition = (alias: string) => {
    const row = Prisma.raw(alias)
    return Prisma.sql`${row}.account_id = ${accountId}::uuid AND ${row}.mode = ${mode}`
  }
  const basePath = `/${mode}`
  const parts = isUuid(text)
    ? selectById(scopeCondition, text, basePath)
    : [
        selectWithdrawals(scopeCondition, Prisma.sql`w.external_id = ${text}`, basePath),
        selectWithdrawals(scopeCondition, Prisma.sql`w.end_to_end_id = ${text}`, basePath),
        selectRefunds(scopeCondition, Prisma.sql`r.return_id = ${text}`, basePath),
        ...(/^troco_(test|live)_/.test(text) ? [selectTokens(scopeCondition, text, basePath)] : []),
      ]
  const exact = parts.map(part => Prisma.sql`(SELECT e.*, true AS "isExact" FROM (${part}) e)`)
  const similar = selectNewest(scopeCondition, text, basePath, isViewing).map(
    part => Prisma.sql`(SELECT s.*, false AS "isExact" FROM (${part}) s LIMIT ${HITS_MAX})`,
  )
  const union = Prisma.join([...exact, ...similar], ' UNION ALL ')
  const columns = Prisma.sql`f.kind, f.id, f.label, f.detail, f.status, f.amount, f.href, f."isExact"`
  return queryRows<Hit>(Prisma.sql`
    SELECT ${asJson(columns)}::text AS json
    FROM (${union} ORDER BY "isExact" DESC, id DESC LIMIT ${HITS_MAX}) f`)
}

/** Withdrawals and refunds have no index of amounts and ends of ids: the newest are read. */
const NEWEST_MAX = 2_000

/** Condition on account and mode of the row with this alias. */
type ScopeSql = (alias: string) => Prisma.Sql

/** An event and its delivery to the resource's own URL share an id: returns only the delivery. */
function selectById(scopeCondition: ScopeSql, id: string, basePath: string): Prisma.Sql[] {
  return [
    selectWithdrawals(scopeCondition, Prisma.sql`w.id = ${id}::uuid`, basePath),
    selectRefunds(scopeCondition, Prisma.sql`r.id = ${id}::uuid`, basePath),
    selectDeliveries(scopeCondition, Prisma.sql`d.id = ${id}::uuid`, basePath),
    Prisma.sql`
      SELECT 'event', e.id, e.type, e.sequence::text, 'event', NULL::bigint,
        ${basePath}::text || CASE WHEN e.type LIKE 'withdrawal%' THEN '/withdrawals/' ELSE '/charges/' END
          || e.subject_id
      FROM events e WHERE ${scopeCondition('e')} AND e.id = ${id}::uuid AND NOT EXISTS (
        SELECT 1 FROM deliveries d WHERE ${scopeCondition('d')} AND d.id = ${id}::uuid)`,
  ]
}

function selectWithdrawals(
  scopeCondition: ScopeSql,
  condition: Prisma.Sql,
  basePath: string,
): Prisma.Sql {
  return Prisma.sql`
    SELECT 'withdrawal' AS kind, w.id, w.pix_key AS label, w.external_id AS detail, w.status,
      w.amount, ${basePath}::text || '/withdrawals/' || w.id AS href
    FROM withdrawals w WHERE ${scopeCondition('w')} AND ${condition}`
}

function selectRefunds(
  scopeCondition: ScopeSql,
  condition: Prisma.Sql,
  basePath: string,
): Prisma.Sql {
  return Prisma.sql`
    SELECT 'refund' AS kind, r.id, c.client_name AS label, c.external_id AS detail, r.status,
      r.amount, ${basePath}::text || '/charges/' || r.charge_id AS href
    FROM refunds r JOIN charges c ON c.account_id = r.account_id AND c.id = r.charge_id
    WHERE ${scopeCondition('r')} AND ${condition}`
}

function selectNewest(
  scopeCondition: ScopeSql,
  text: string,
  basePath: string,
  isViewing: boolean,
): Prisma.Sql[] {
  const newest = (table: string, alias: string) =>
    Prisma.sql`${Prisma.raw(alias)}.id IN (SELECT n.id FROM ${Prisma.raw(table)} n
      WHERE ${scopeCondition('n')} ORDER BY n.id DESC LIMIT ${NEWEST_MAX})`
  const isRefund = Prisma.sql`(r.amount = ${parseSearchedReais(text)}::bigint
    OR starts_with(upper(reverse(r.return_id)), ${reverseTail(text)}))`
  return [
    selectWithdrawals(
      scopeCondition,
      Prisma.sql`${newest('withdrawals', 'w')} AND ${withdrawalMatches(text, isViewing)}
        ORDER BY w.id DESC`,
      basePath,
    ),
    selectRefunds(
      scopeCondition,
      Prisma.sql`${newest('refunds', 'r')} AND ${isRefund} ORDER BY r.id DESC`,
      basePath,
    ),
  ]
}

function selectDeliveries(
  scopeCondition: ScopeSql,
  condition: Prisma.Sql,
  basePath: string,
): Prisma.Sql {
  return Prisma.sql`
    SELECT 'delivery' AS kind, d.id, e.type AS label, d.url AS detail, d.status,
      NULL::bigint AS amount, ${basePath}::text || '/webhooks/deliveries/' || d.id AS href
    FROM deliveries d JOIN events e ON e.account_id = d.account_id AND e.id = d.event_id
    WHERE ${scopeCondition('d')} AND ${condition}`
}

/** Scans the account's tokens: there are few, and the primary key begins with the account. */
function selectTokens(scopeCondition: ScopeSql, text: string, basePath: string): Prisma.Sql {
  return Prisma.sql`
    SELECT 'token' AS kind, t.id, t.name AS label, t.prefix AS detail,
      CASE WHEN ${activeTokenCondition} THEN 'active' ELSE ${tokenStatusSql} END AS status,
      NULL::bigint AS amount,
      ${basePath}::text || '/settings/tokens' AS href
    FROM tokens t WHERE ${scopeCondition('t')} AND t.prefix = left(${text}, 20)`
}
