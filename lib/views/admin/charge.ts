import { Prisma } from '#lib/base/db/client.ts'
import { utc } from '#lib/base/db/columns.ts'
import { asJson, queryRows } from '#lib/base/db/rows.ts'
import { isUuid } from '#lib/base/ids.ts'
import { maskTaxId } from '#lib/base/pix/tax-id.ts'
import type { MaskedCharge } from '#lib/views/admin/schema.ts'

/** Finds a charge that a merchant asks the operator about; the payer's document is masked. */
export async function findMaskedCharge(
  accountId: string,
  id: string,
): Promise<MaskedCharge | null> {
  if (![accountId, id].every(isUuid)) return null
  const [row] = await queryRows<Omit<MaskedCharge, 'payer'> & { client_doc: string }>(Prisma.sql`
    SELECT ${asJson(Prisma.sql`c.id, c.mode, c.status, c.amount, c.client_doc, ${utc('c.created_at')}`)}::text
      AS json
    FROM charges c WHERE c.account_id = ${accountId}::uuid AND c.id = ${id}::uuid
      AND c.status <> 'opening'`)
  if (!row) return null
  const { client_doc, ...charge } = row
  return { ...charge, payer: maskTaxId(client_doc) }
}
