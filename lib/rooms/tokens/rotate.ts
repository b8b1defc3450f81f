import { type Actor, recordAudit } from '#lib/base/audit/record.ts'
import type { IdempotentRequest } from '#lib/base/db/idempotency.ts'
import { transaction } from '#lib/base/db/transaction.ts'
import { refuse } from '#lib/base/errors.ts'
import type { Mode } from '#lib/base/mode.ts'
import {
  assignIssuer,
  canAdopt,
  exceedsIssuer,
  readRole,
  requireAuthority,
} from '#lib/rooms/tokens/authority.ts'
import { insertToken } from '#lib/rooms/tokens/issue.ts'
import { lockActiveToken, tokenEnded } from '#lib/rooms/tokens/lock.ts'
import { lockAccount, storeIdempotencyKey } from '#lib/services/webhooks/owner.ts'

interface Rotation {
  accountId: string
  mode: Mode
  id: string
  overlapHours: number
}

/**
 * Issues a successor with the same permissions and addresses. The old token expires after the overlap or at its
 * own time, whichever is sooner. The first rotation wins. An owner who rotates a token that exceeds
 * its issuer's role confirms it; others are refused, as is a member who lacks a permission.
 */
export function rotateToken(
  { accountId, mode, id, overlapHours }: Rotation,
  actor: Actor,
  once?: IdempotentRequest,
): Promise<{ id: string; token: string }> {
  return transaction(async tx => {
    await lockAccount(tx, accountId)
    const token = await lockActiveToken(tx, { accountId, mode, id })
    const { name, permissions, allowedAddresses, nextExpiry } = token
    if (token.replacedBy) throw tokenEnded('This token was already rotated: rotate its replacement')
    await requireAuthority(
      tx,
      { accountId, actor },
      permissions,
      'ask an owner to rotate this token',
    )
    const role = token.issuedBy && (await readRole(tx, accountId, token.issuedBy))
    if (exceedsIssuer(token, role)) {
      if (!(await canAdopt(tx, accountId, actor))) throw refuse('token_unconfirmed')
      await assignIssuer(tx, { accountId, id }, actor)
    }
    await storeIdempotencyKey(tx, once)
    const restrictions = { permissions, allowedAddresses, expiresAt: nextExpiry ?? undefined }
    const newToken = { accountId, mode, name, ...restrictions }
    const successor = await insertToken(tx, newToken, actor, once?.id)
    const [old] = await tx.$queryRaw<{ expiresAt: Date }[]>`
      UPDATE tokens SET replaced_by = ${successor.id}::uuid,
        expires_at = LEAST(expires_at, now() + make_interval(hours => ${overlapHours}::int))
      WHERE account_id = ${accountId}::uuid AND id = ${id}::uuid
      RETURNING expires_at AS "expiresAt"`
    const after = { replaced_by: successor.id, expires_at: old?.expiresAt.toISOString() ?? null }
    await recordAudit(tx, { actor, action: 'token.rotated', accountId, target: id, after })
    return successor
  })
}
