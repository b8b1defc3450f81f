import { paymentUrl } from '#lib/charges/payment-url.ts'
import type { ChargeRow, CreatedCharge } from '#lib/charges/schema.ts'
import { type ChargeDetail, chargeToWire } from '#lib/charges/wire.ts'
import { Prisma } from '#lib/db/client.ts'
import { type AccountRef, ofAccount, utc } from '#lib/db/columns.ts'
import { type Page, pageSql, toPage } from '#lib/db/page.ts'
import { asJson, queryRows } from '#lib/db/rows.ts'
import type { ListQuery } from '#lib/fields.ts'
import { isUuid } from '#lib/ids.ts'
import type { Mode } from '#lib/mode.ts'

/** The columns of a ChargeRow, from a table or CTE named `c`. */
export const chargeColumns = Prisma.sql`
  c.id, c.external_id, c.mode, c.status, c.amount, c.br_code, c.metadata, c.client_name,
  c.client_email, c.client_doc, c.client_phone, c.ip, c.items, c.utms, c.webhook_url,
  ${utc('c.expires_at')}, ${utc('c.paid_at')}, c.end_to_end_id, c.refunded_amount,
  ${utc('c.created_at')}, ${utc('c.updated_at')}`

/** The same columns as one JSON value: how an event keeps the row. */
export const chargeAsJson = asJson(chargeColumns)

/** By its id, or by the merchant's own reference; text in the form of a UUID is always an id. */
export async function findCharge(
  account: AccountRef,
  mode: Mode,
  idOrReference: string,
): Promise<ChargeRow | null> {
  const which = isUuid(idOrReference)
    ? Prisma.sql`c.id = ${idOrReference}::uuid`
    : Prisma.sql`c.external_id = ${idOrReference}`
  const [row] = await queryRows<ChargeRow>(Prisma.sql`
    SELECT ${chargeAsJson}::text AS json FROM charges c
    WHERE ${ofAccount('c', account)} AND c.mode = ${mode} AND ${which}
      AND c.status <> 'opening'`)
  return row ?? null
}

/** A charge as it goes over the wire. */
export function describeCharge(charge: ChargeRow): ChargeDetail {
  return chargeToWire(charge, paymentUrl(charge.id))
}

/** What an event tells of a charge: how it stood then, and the refund that it is about. */
export function tellCharge(resource: unknown): { transaction: ChargeDetail; refund?: unknown } {
  const { refund, ...charge } = resource as ChargeRow & { refund?: unknown }
  return { transaction: describeCharge(charge), ...(refund ? { refund } : {}) }
}

/** What was answered when the charge was created, whatever has become of it since. */
export async function recallCharge(
  account: AccountRef,
  mode: Mode,
  id: string,
): Promise<CreatedCharge> {
  const row = await findCharge(account, mode, id)
  if (!row) throw new Error('A charge that was answered is not there')
  return { ...row, status: 'pending' }
}

export async function listCharges(
  account: AccountRef,
  mode: Mode,
  query: ListQuery,
): Promise<Page<ChargeRow>> {
  const { q } = query
  const found = q
    ? Prisma.sql`AND (c.external_id = ${q} OR c.end_to_end_id = ${q} OR c.client_doc = ${q}
        OR c.id = ${isUuid(q) ? q : null}::uuid
        OR strpos(lower(c.client_name), lower(${q})) > 0
        OR strpos(lower(c.client_email), lower(${q})) > 0)`
    : Prisma.empty
  const rows = await queryRows<ChargeRow>(Prisma.sql`
    SELECT ${chargeAsJson}::text AS json FROM charges c
    WHERE ${ofAccount('c', account)} AND c.mode = ${mode} AND c.status <> 'opening'
      ${found} ${pageSql('c', query)}`)
  return toPage(rows, query.limit)
}
