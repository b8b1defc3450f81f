import { chargeAsJson, findAddressed, findCharge } from '#lib/charges/queries.ts'
import type { ChargeRow } from '#lib/charges/schema.ts'
import { refuse } from '#lib/core/errors.ts'
import type { Mode } from '#lib/core/mode.ts'
import { Prisma } from '#lib/db/client.ts'
import { queryRows } from '#lib/db/sql.ts'

/**
 * Sets or, with null, removes what the payer reads about a pending charge. Afterwards it stays as it was
 * when the charge was paid. Called twice, the second call changes nothing.
 */
export async function describeCharge(
  accountId: string,
  mode: Mode,
  idOrReference: string,
  description: string | null,
): Promise<ChargeRow> {
  const charge = await findAddressed(accountId, mode, idOrReference)
  const [row] = await queryRows<ChargeRow>(Prisma.sql`
    UPDATE charges c SET description = ${description}, updated_at = now()
    WHERE c.account_id = ${accountId}::uuid AND c.id = ${charge.id}::uuid AND c.status = 'pending'
    RETURNING ${chargeAsJson}::text AS json`)
  if (row) return row
  const { status = charge.status } = (await findCharge(accountId, mode, charge.id)) ?? {}
  throw refuse('already_final', { subject: 'Transaction', status })
}
