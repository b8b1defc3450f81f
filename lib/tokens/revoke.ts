import { type Actor, recordAudit } from '#lib/audit/record.ts'
import { db } from '#lib/db/client.ts'
import { transaction } from '#lib/db/transaction.ts'
import { TrocoError } from '#lib/errors.ts'
import { isUuid } from '#lib/ids.ts'

/** Ends a token from the next request on, in every process. Null: it had ended already. */
export async function revokeToken(
  idOrPrefix: string,
  reason: string,
  actor: Actor,
): Promise<{ id: string } | null> {
  const token = await findToken(idOrPrefix)
  return transaction(async tx => {
    const [revoked] = await tx.token.updateManyAndReturn({
      where: { accountId: token.accountId, id: token.id, revokedAt: null },
      data: { revokedAt: new Date(), revokedReason: reason },
      select: { id: true, accountId: true },
    })
    if (!revoked) return null
    const { id, accountId } = revoked
    await recordAudit(tx, { actor, action: 'token.revoked', accountId, target: id, reason })
    return { id }
  })
}

async function findToken(idOrPrefix: string) {
  const where = isUuid(idOrPrefix) ? { id: idOrPrefix } : { prefix: { startsWith: idOrPrefix } }
  const found = await db().token.findMany({ where, take: 2, select: { id: true, accountId: true } })
  const [only] = found
  if (only && found.length === 1) return only
  const message =
    found.length === 0
      ? `No token ${idOrPrefix}: give its id or how it begins`
      : `Several tokens begin with ${idOrPrefix}: give more of it, or the id`
  throw new TrocoError('not_found', message)
}
