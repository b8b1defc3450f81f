import type { RefundRow } from '#lib/charges/refunds/schema.ts'
import type { ListQuery } from '#lib/core/fields.ts'
import { isUuid } from '#lib/core/ids.ts'
import { Invariant } from '#lib/core/invariant.ts'
import type { Mode } from '#lib/core/mode.ts'
import { Prisma } from '#lib/db/client.ts'
import { type Page, pageSql, readPage } from '#lib/db/page.ts'
import { asJson, queryRows, utc } from '#lib/db/sql.ts'

/** Columns of a RefundRow in wire order, from a table or CTE named `r`. */
export const refundColumns = Prisma.sql`
  r.id, r.charge_id AS transaction_id, r.amount, r.status, r.reason, ${utc('r.created_at')},
  r.mode, r.rejection_reason, r.rejection_code, r.return_id, ${utc('r.completed_at')}, ${utc('r.rejected_at')},
  ${utc('r.updated_at')}`

export const refundAsJson = asJson(refundColumns)

/** Returns a refund of the charge, or of any. */
export async function findRefund(
  accountId: string,
  mode: Mode,
  chargeId: string | null,
  id: string,
): Promise<RefundRow | null> {
  if (!isUuid(id)) return null
  const ofCharge = chargeId ? Prisma.sql`AND r.charge_id = ${chargeId}::uuid` : Prisma.empty
  const [row] = await queryRows<RefundRow>(Prisma.sql`
    SELECT ${refundAsJson}::text AS json FROM refunds r
    WHERE r.account_id = ${accountId}::uuid AND r.mode = ${mode} AND r.id = ${id}::uuid ${ofCharge}`)
  return row ?? null
}

/** Returns the refund as in the response to its creation, regardless of its current status. */
export async function readCreatedRefund(
  accountId: string,
  mode: Mode,
  id: string,
): Promise<RefundRow> {
  const [row] = await queryRows<RefundRow>(Prisma.sql`
    SELECT ${refundAsJson}::text AS json FROM refunds r
    WHERE r.account_id = ${accountId}::uuid AND r.mode = ${mode} AND r.id = ${id}::uuid`)
  if (!row) throw new Invariant(`refund ${id} was acknowledged but is missing`)
  return { ...row, status: 'pending' }
}

/** Lists the refunds of a charge, or of all. */
export function listRefunds(
  accountId: string,
  mode: Mode,
  chargeId: string | null,
  query: ListQuery,
): Promise<Page<RefundRow>> {
  const ofCharge = chargeId ? Prisma.sql`AND r.charge_id = ${chargeId}::uuid` : Prisma.empty
  const rows = Prisma.sql`
    SELECT ${refundAsJson}::text AS json FROM refunds r
    WHERE r.account_id = ${accountId}::uuid AND r.mode = ${mode} ${ofCharge}
      ${pageSql('r', query)}`
  return readPage<RefundRow>(rows, query.limit)
}
