import { isUuid } from '#lib/core/ids.ts'
import { maskTaxId } from '#lib/core/pix/tax-id.ts'
import { Prisma } from '#lib/db/client.ts'
import { asJson, queryRows, reasonColumns, utc } from '#lib/db/sql.ts'
import type { BankOrder, MaskedCharge } from '#lib/operator/schema.ts'

/** Finds a charge that a merchant asks the operator about; the payer's document is masked. */
export async function findMaskedCharge(
  accountId: string,
  id: string,
): Promise<MaskedCharge | null> {
  if (![accountId, id].every(isUuid)) return null
  const [row] = await queryRows<Omit<MaskedCharge, 'payer'> & { client_doc: string }>(Prisma.sql`
    SELECT ${asJson(Prisma.sql`c.id, c.mode, c.status, c.amount, c.refunded_amount,
      c.client_doc, ${utc('c.created_at')}, ${utc('c.cancelled_at')}`)}::text
      AS json
    FROM charges c WHERE c.account_id = ${accountId}::uuid AND c.id = ${id}::uuid
      AND c.status <> 'opening'`)
  if (!row) return null
  const { client_doc, ...charge } = row
  return { ...charge, payer: maskTaxId(client_doc) }
}

/** Finds a withdrawal or refund that a merchant asks the operator about, with the bank's own words. */
export async function findBankOrder(accountId: string, id: string): Promise<BankOrder | null> {
  if (![accountId, id].every(isUuid)) return null
  const read = (kind: BankOrder['kind'], endToEndId: string, otherId: string) => {
    const columns = Prisma.sql`${kind}::text AS kind, o.id, o.mode, o.status, o.amount, o.bank_text,
      ${Prisma.raw(endToEndId)} AS end_to_end_id, ${Prisma.raw(otherId)} AS other_end_to_end_id,
      ${reasonColumns('o', 'rejection', 'rejection_reason')}, ${utc('o.created_at')}`
    return Prisma.sql`
      SELECT ${asJson(columns)}::text AS json FROM ${Prisma.raw(`${kind}s`)} o
      WHERE o.account_id = ${accountId}::uuid AND o.id = ${id}::uuid`
  }
  const [order] = await queryRows<BankOrder>(Prisma.sql`
    ${read('withdrawal', 'o.end_to_end_id', 'o.other_end_to_end_id')}
    UNION ALL ${read('refund', 'o.return_id', 'NULL::text')}`)
  return order ?? null
}
