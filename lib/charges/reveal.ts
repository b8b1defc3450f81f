import { permissionLock } from '#lib/accounts/members.ts'
import { type Actor, recordAudit } from '#lib/audit/record.ts'
import { refuse } from '#lib/core/errors.ts'
import { isUuid } from '#lib/core/ids.ts'
import type { Mode } from '#lib/core/mode.ts'
import { transaction } from '#lib/db/client.ts'

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
