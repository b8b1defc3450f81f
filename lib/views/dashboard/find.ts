import * as z from 'zod'
import { Prisma } from '#lib/base/db/client.ts'
import { asJson, queryRows } from '#lib/base/db/rows.ts'
import { must } from '#lib/base/fields.ts'
import { isUuid } from '#lib/base/ids.ts'
import type { Mode } from '#lib/base/mode.ts'
import { parseBrCode } from '#lib/base/pix/br-code.ts'
import { normalizeTaxId, taxIdKind } from '#lib/base/pix/tax-id.ts'
import { listCharges } from '#lib/rooms/charges/queries.ts'
import type { ChargeRow } from '#lib/rooms/charges/schema.ts'
import { isTokenActive, tokenStatus } from '#lib/rooms/tokens/status.ts'
import { FOUND_KINDS, type Hit } from '#lib/views/dashboard/schema.ts'

const HITS_MAX = 8
/** Longest PIX code of a charge. */
const TEXT_MAX = 600
/** Longest search text of a list. */
const REFERENCE_MAX = 255

export const FindQuery = z.object({
  q: z
    .string(must('be a string'))
    .trim()
    .min(1, must('not be empty'))
    .max(TEXT_MAX, must(`have at most ${TEXT_MAX} characters`)),
})

export const Found = z.object({
  data: z.array(
    z.object({
      kind: z.enum(FOUND_KINDS),
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

/** Finds everything with this name in one mode of an account, exact matches first. */
export async function find(accountId: string, mode: Mode, given: string): Promise<Hit[]> {
  const names = readNames(given.trim())
  const found = await Promise.all(
    names.map(async name => {
      const query = { q: name.slice(0, REFERENCE_MAX), limit: HITS_MAX }
      const [{ rows }, others] = await Promise.all([
        listCharges(accountId, mode, query),
        findOthers(accountId, mode, name),
      ])
      return [...rows.map(row => chargeHit(row, name)), ...others]
    }),
  )
  const hits = [...new Map(found.flat().map(hit => [hit.id, hit])).values()]
  return hits.sort((one, other) => Number(other.isExact) - Number(one.isExact)).slice(0, HITS_MAX)
}

/** A code contains its charge's id without hyphens, which may also be a merchant's reference. */
function readNames(text: string): string[] {
  const reading = parseBrCode(text)
  const code = reading.ok ? reading.code : null
  const place = code?.kind === 'dynamic' ? code.location.split('/').at(-1) : null
  const name = code?.txid ?? place ?? text
  const id = asId(name)
  return id && id !== name.toLowerCase() ? [id, name] : [id ?? name]
}

function asId(text: string): string | null {
  if (isUuid(text)) return text.toLowerCase()
  const [, ...parts] =
    /^([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$/i.exec(text) ?? []
  return parts.length > 0 ? parts.join('-').toLowerCase() : null
}

function chargeHit(row: ChargeRow, text: string): Hit {
  const { id, mode, client_name, client_email, client_doc, external_id, end_to_end_id } = row
  const names = [id, external_id, end_to_end_id, client_email.toLowerCase()]
  const isPayer = taxIdKind(text) !== null && normalizeTaxId(client_doc) === normalizeTaxId(text)
  return {
    kind: 'charge',
    id,
    label: client_name,
    detail: external_id,
    status: row.status,
    amount: row.amount,
    href: `/${mode}/charges/${id}`,
    isExact: isPayer || names.includes(text) || names.includes(text.toLowerCase()),
  }
}

/** Searches each kind by its own index; no table is scanned. */
async function findOthers(accountId: string, mode: Mode, text: string): Promise<Hit[]> {
  const ofThem = (alias: string) => {
    const row = Prisma.raw(alias)
    return Prisma.sql`${row}.account_id = ${accountId}::uuid AND ${row}.mode = ${mode}`
  }
  const at = `/${mode}`
  const parts = isUuid(text)
    ? byId(ofThem, text, at)
    : [
        withdrawals(ofThem, Prisma.sql`w.external_id = ${text}`, at),
        withdrawals(ofThem, Prisma.sql`w.end_to_end_id = ${text}`, at),
        refunds(ofThem, Prisma.sql`r.return_id = ${text}`, at),
        ...(/^troco_(test|live)_/.test(text) ? [tokens(ofThem, text, at)] : []),
      ]
  const union = Prisma.join(
    parts.map(part => Prisma.sql`(${part})`),
    ' UNION ALL ',
  )
  const columns = Prisma.sql`f.kind, f.id, f.label, f.detail, f.status, f.amount, f.href,
    true AS "isExact"`
  return queryRows<Hit>(Prisma.sql`
    SELECT ${asJson(columns)}::text AS json FROM (${union} LIMIT ${HITS_MAX}) f`)
}

type Rows = (alias: string) => Prisma.Sql

/** An event and its delivery to the resource's own URL share an id: the delivery shows more. */
function byId(ofThem: Rows, id: string, at: string): Prisma.Sql[] {
  return [
    withdrawals(ofThem, Prisma.sql`w.id = ${id}::uuid`, at),
    refunds(ofThem, Prisma.sql`r.id = ${id}::uuid`, at),
    deliveries(ofThem, Prisma.sql`d.id = ${id}::uuid`, at),
    Prisma.sql`
      SELECT 'event', e.id, e.type, e.sequence::text, 'event', NULL::bigint,
        ${at}::text || CASE WHEN e.type LIKE 'withdrawal%' THEN '/withdrawals/' ELSE '/charges/' END
          || e.subject_id
      FROM events e WHERE ${ofThem('e')} AND e.id = ${id}::uuid AND NOT EXISTS (
        SELECT 1 FROM deliveries d WHERE ${ofThem('d')} AND d.id = ${id}::uuid)`,
  ]
}

function withdrawals(ofThem: Rows, which: Prisma.Sql, at: string): Prisma.Sql {
  return Prisma.sql`
    SELECT 'withdrawal' AS kind, w.id, w.pix_key AS label, w.external_id AS detail, w.status,
      w.amount, ${at}::text || '/withdrawals/' || w.id AS href
    FROM withdrawals w WHERE ${ofThem('w')} AND ${which}`
}

function refunds(ofThem: Rows, which: Prisma.Sql, at: string): Prisma.Sql {
  return Prisma.sql`
    SELECT 'refund' AS kind, r.id, c.client_name AS label, c.external_id AS detail, r.status,
      r.amount, ${at}::text || '/charges/' || r.charge_id AS href
    FROM refunds r JOIN charges c ON c.account_id = r.account_id AND c.id = r.charge_id
    WHERE ${ofThem('r')} AND ${which}`
}

function deliveries(ofThem: Rows, which: Prisma.Sql, at: string): Prisma.Sql {
  return Prisma.sql`
    SELECT 'delivery' AS kind, d.id, e.type AS label, d.url AS detail, d.status,
      NULL::bigint AS amount, ${at}::text || '/webhooks/deliveries/' || d.id AS href
    FROM deliveries d JOIN events e ON e.account_id = d.account_id AND e.id = d.event_id
    WHERE ${ofThem('d')} AND ${which}`
}

/** Scans the account's tokens: there are few, and the primary key begins with the account. */
function tokens(ofThem: Rows, text: string, at: string): Prisma.Sql {
  return Prisma.sql`
    SELECT 'token' AS kind, t.id, t.name AS label, t.prefix AS detail,
      CASE WHEN ${isTokenActive} THEN 'active' ELSE ${tokenStatus} END AS status,
      NULL::bigint AS amount,
      ${at}::text || '/settings/tokens' AS href
    FROM tokens t WHERE ${ofThem('t')} AND t.prefix = left(${text}, 20)`
}
