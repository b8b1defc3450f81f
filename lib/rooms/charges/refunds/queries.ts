import type { Claim } from '#lib/base/db/claim.ts'
import { db, Prisma } from '#lib/base/db/client.ts'
import { type AccountRef, accountCondition, utc } from '#lib/base/db/columns.ts'
import { type Page, pageSql, readPage } from '#lib/base/db/page.ts'
import { asJson, queryRows } from '#lib/base/db/rows.ts'
import type { ListQuery } from '#lib/base/fields.ts'
import { isUuid, removeHyphens } from '#lib/base/ids.ts'
import { Invariant } from '#lib/base/invariant.ts'
import type { Mode } from '#lib/base/mode.ts'
import { cents } from '#lib/base/money.ts'
import type { RefundRow } from '#lib/rooms/charges/refunds/schema.ts'
import type { RefundOrder } from '#lib/services/gateway/gateway.ts'

/** Columns of a RefundRow in wire order, from a table or CTE named `r`. */
export const refundColumns = Prisma.sql`
  r.id, r.charge_id AS transaction_id, r.amount, r.status, r.reason, ${utc('r.created_at')},
  r.mode, r.rejection_reason, r.rejection_code, r.return_id, ${utc('r.completed_at')}, ${utc('r.rejected_at')},
  ${utc('r.updated_at')}`

export const refundAsJson = asJson(refundColumns)

/** Returns a refund of the charge, or of any. */
export async function findRefund(
  account: AccountRef,
  mode: Mode,
  chargeId: string | null,
  id: string,
): Promise<RefundRow | null> {
  if (!isUuid(id)) return null
  const ofCharge = chargeId ? Prisma.sql`AND r.charge_id = ${chargeId}::uuid` : Prisma.empty
  const [row] = await queryRows<RefundRow>(Prisma.sql`
    SELECT ${refundAsJson}::text AS json FROM refunds r
    WHERE ${accountCondition('r', account)} AND r.mode = ${mode} AND r.id = ${id}::uuid ${ofCharge}`)
  return row ?? null
}

/** Returns the refund as in the response to its creation, regardless of its current status. */
export async function readCreatedRefund(
  account: AccountRef,
  mode: Mode,
  id: string,
): Promise<RefundRow> {
  const [row] = await queryRows<RefundRow>(Prisma.sql`
    SELECT ${refundAsJson}::text AS json FROM refunds r
    WHERE ${accountCondition('r', account)} AND r.mode = ${mode} AND r.id = ${id}::uuid`)
  if (!row) throw new Invariant(`refund ${id} was acknowledged but is missing`)
  return { ...row, status: 'pending' }
}

/** Lists the refunds of a charge, or of all. */
export function listRefunds(
  account: AccountRef,
  mode: Mode,
  chargeId: string | null,
  query: ListQuery,
): Promise<Page<RefundRow>> {
  const ofCharge = chargeId ? Prisma.sql`AND r.charge_id = ${chargeId}::uuid` : Prisma.empty
  const rows = Prisma.sql`
    SELECT ${refundAsJson}::text AS json FROM refunds r
    WHERE ${accountCondition('r', account)} AND r.mode = ${mode} ${ofCharge}
      ${pageSql('r', query)}`
  return readPage<RefundRow>(rows, query.limit)
}

/** Returns the order for the bank; null if the lease was lost or the refund has ended. */
export async function findRefundOrder({
  accountId,
  id,
  lease,
}: Claim): Promise<(RefundOrder & { payerEmail: string }) | null> {
  const [row] = await db().$queryRaw<
    { amount: bigint; endToEndId: string | null; payerEmail: string }[]
  >`
    SELECT r.amount, c.end_to_end_id AS "endToEndId", c.client_email AS "payerEmail" FROM refunds r
    JOIN charges c ON c.account_id = r.account_id AND c.id = r.charge_id
    WHERE r.account_id = ${accountId}::uuid AND r.id = ${id}::uuid
      AND r.status = 'pending' AND r.lease = ${lease}::uuid`
  if (!row) return null
  if (!row.endToEndId) throw new Invariant(`refund ${id} is due, but its charge has no payment`)
  const { endToEndId, payerEmail } = row
  return { id: removeHyphens(id), endToEndId, amount: cents(row.amount), payerEmail }
}

/** Returns what a bank's text about the refund may repeat, each with its replacement. */
export async function findHidden({ accountId, id }: Claim): Promise<Record<string, string>> {
  const [row] = await db().$queryRaw<{ name: string; email: string; doc: string }[]>`
    SELECT c.client_name AS name, c.client_email AS email, c.client_doc AS doc FROM refunds r
    JOIN charges c ON c.account_id = r.account_id AND c.id = r.charge_id
    WHERE r.account_id = ${accountId}::uuid AND r.id = ${id}::uuid`
  return row ? { [row.name]: '***', [row.email]: '***', [row.doc]: '***' } : {}
}
