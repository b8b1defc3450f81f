import { permissionLock } from '#lib/accounts/members.ts'
import { type Actor, recordAudit } from '#lib/audit/record.ts'
import { chargeAsJson, findAddressed, findCharge } from '#lib/charges/list.ts'
import type { ChargeRow } from '#lib/charges/schema.ts'
import { refuse } from '#lib/core/errors.ts'
import { isUuid } from '#lib/core/ids.ts'
import type { Mode } from '#lib/core/mode.ts'
import { Prisma, transaction } from '#lib/db/client.ts'
import { queryRows } from '#lib/db/sql.ts'

interface ChargeKey {
  accountId: string
  /** Mode of a member's page; without it, a charge of either mode is found. */
  mode?: Mode
  id: string
}

/** Returns a payer's document to a user, after the access is committed to the audit log. */
export async function revealDocument(
  { accountId, mode, id }: ChargeKey,
  actor: Actor,
  reason?: string,
): Promise<string> {
  const charge = await transaction(async tx => {
    if (![accountId, id].every(isUuid)) return null
    if (mode && actor.type === 'user')
      await permissionLock({ accountId, userId: actor.id }, 'documents:reveal')(tx)
    const where = { accountId, id, mode, status: { not: 'opening' } }
    const found = await tx.charge.findFirst({ where, select: { clientDoc: true, mode: true } })
    if (!found) return null
    const entry = { actor, accountId, target: id, reason, after: { mode: found.mode } }
    await recordAudit(tx, { action: 'charge.document_revealed', ...entry })
    return found
  })
  if (!charge) throw refuse('transaction_not_found')
  return charge.clientDoc
}

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

interface Texts {
  description: string | null
  metadata: Record<string, unknown>
}

/**
 * Replaces the texts of a charge that can still be paid, by API Pix. `revision`: that of the metadata which the caller has
 * read. Returns null if the charge has ended or was revised meanwhile.
 */
export async function reviseTexts(
  { accountId, id }: ChargeKey,
  { description, metadata }: Texts,
  revision: string | null,
): Promise<ChargeRow | null> {
  const [row] = await queryRows<ChargeRow>(Prisma.sql`
    UPDATE charges c SET description = ${description}, metadata = ${JSON.stringify(metadata)}::json,
      updated_at = now()
    WHERE c.account_id = ${accountId}::uuid AND c.id = ${id}::uuid
      AND c.status IN ('pending', 'expired') AND c.cancelled_at IS NULL
      AND c.metadata ->> 'revisao' IS NOT DISTINCT FROM ${revision}
    RETURNING ${chargeAsJson}::text AS json`)
  return row ?? null
}
