import { type Actor, recordAudit } from '#lib/base/audit/record.ts'
import type { Tx } from '#lib/base/db/client.ts'
import type { IdempotentRequest } from '#lib/base/db/idempotency.ts'
import { transaction } from '#lib/base/db/transaction.ts'
import { refuse, type TrocoError } from '#lib/base/errors.ts'
import { isUuid } from '#lib/base/ids.ts'
import type { Mode } from '#lib/base/mode.ts'
import { insertToken } from '#lib/rooms/tokens/issue.ts'
import type { Permission } from '#lib/rooms/tokens/schema.ts'
import { activeTokenCondition } from '#lib/rooms/tokens/status.ts'
import { lockAccount, storeIdempotencyKey } from '#lib/services/webhooks/owner.ts'

interface Rotation {
  accountId: string
  mode: Mode
  id: string
  overlapHours: number
}

interface OldToken {
  name: string
  permissions: Permission[]
  isActive: boolean
  replacedBy: string | null
  /** Expiry of a successor with the same lifetime as the old token. */
  nextExpiry: Date | null
}

/**
 * Issues a successor with the same permissions. The old token expires after the overlap or at its
 * own time, whichever is sooner. A token has one successor: the first rotation wins.
 */
export function rotateToken(
  { accountId, mode, id, overlapHours }: Rotation,
  actor: Actor,
  once?: IdempotentRequest,
): Promise<{ id: string; token: string }> {
  return transaction(async tx => {
    await lockAccount(tx, accountId)
    const { name, permissions, nextExpiry } = await lockToken(tx, { accountId, mode, id })
    await storeIdempotencyKey(tx, once)
    const newToken = { accountId, mode, name, permissions, expiresAt: nextExpiry ?? undefined }
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

async function lockToken(
  tx: Tx,
  { accountId, mode, id }: Omit<Rotation, 'overlapHours'>,
): Promise<OldToken> {
  const [old] = isUuid(id)
    ? await tx.$queryRaw<OldToken[]>`
        SELECT t.name, t.permissions, t.replaced_by AS "replacedBy", ${activeTokenCondition} AS "isActive",
          now() + (t.expires_at - t.created_at) AS "nextExpiry"
        FROM tokens t
        WHERE t.account_id = ${accountId}::uuid AND t.mode = ${mode} AND t.id = ${id}::uuid
        FOR UPDATE`
    : []
  if (!old) throw refuse('token_not_found')
  if (!old.isActive) throw tokenEnded('This token is revoked or expired: create a new one')
  if (old.replacedBy) throw tokenEnded('This token was already rotated: rotate its replacement')
  return old
}

function tokenEnded(message: string): TrocoError {
  return refuse('token_ended', message)
}
