import type { ChargeRow } from '#lib/charges/schema.ts'
import { db, Prisma } from '#lib/db/client.ts'
import { utc } from '#lib/db/columns.ts'
import { isUuid } from '#lib/ids.ts'
import type { Mode } from '#lib/mode.ts'

/** The columns of a ChargeRow, from a table or CTE named `c`. */
export const chargeColumns = Prisma.sql`
  c.id, c.external_id, c.mode, c.status, c.amount, c.br_code, c.metadata, c.client_name,
  c.client_email, c.client_doc, c.client_phone, c.ip, c.items, c.utms, c.webhook_url,
  ${utc('c.expires_at')}, ${utc('c.paid_at')}, c.end_to_end_id, c.refunded_amount,
  ${utc('c.created_at')}, ${utc('c.updated_at')}`

/** The same columns as one JSON value: how an event keeps the row. */
export const chargeAsJson = Prisma.sql`
  (SELECT row_to_json(r) FROM (SELECT ${chargeColumns}) r)`

/** By its id, or by the merchant's own reference; text in the form of a UUID is always an id. */
export async function findCharge(
  accountId: string,
  mode: Mode,
  idOrReference: string,
): Promise<ChargeRow | null> {
  const which = isUuid(idOrReference)
    ? Prisma.sql`c.id = ${idOrReference}::uuid`
    : Prisma.sql`c.external_id = ${idOrReference}`
  const [row] = await db().$queryRaw<ChargeRow[]>`
    SELECT ${chargeColumns} FROM charges c
    WHERE c.account_id = ${accountId}::uuid AND c.mode = ${mode} AND ${which}
      AND c.status <> 'opening'`
  return row ?? null
}

export function listRecentCharges(
  accountId: string,
  mode: Mode,
  limit: number,
): Promise<ChargeRow[]> {
  return db().$queryRaw<ChargeRow[]>`
    SELECT ${chargeColumns} FROM charges c
    WHERE c.account_id = ${accountId}::uuid AND c.mode = ${mode} AND c.status <> 'opening'
    ORDER BY c.id DESC LIMIT ${limit}`
}
