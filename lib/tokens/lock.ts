import type { Actor } from '#lib/audit/record.ts'
import { refuse, type TrocoError } from '#lib/core/errors.ts'
import { isUuid } from '#lib/core/ids.ts'
import type { Mode } from '#lib/core/mode.ts'
import type { Tx } from '#lib/db/client.ts'
import type { Permission } from '#lib/tokens/schema.ts'
import { activeTokenCondition } from '#lib/tokens/status.ts'

export interface LockedToken {
  name: string
  permissions: Permission[]
  allowedAddresses: string[]
  isActive: boolean
  issuedBy: string | null
  formerIssuers: string[]
  parentId: string | null
  replacedBy: string | null
  expiresAt: Date | null
  /** Expiry of a successor with the same lifetime, at most that of the parent. */
  nextExpiry: Date | null
}

/**
 * A token that acts changes only those that it created, and rotates itself if it may see itself: others do
 * not exist for it.
 */
export async function lockActiveToken(
  tx: Tx,
  { accountId, mode, id }: { accountId: string; mode: Mode; id: string },
  actor: Actor,
  change: 'rotate' | 'other' = 'other',
): Promise<LockedToken> {
  const [token] = isUuid(id)
    ? await tx.$queryRaw<LockedToken[]>`
        SELECT t.name, t.permissions, t.allowed_addresses AS "allowedAddresses",
          t.replaced_by AS "replacedBy", t.expires_at AS "expiresAt", ${activeTokenCondition} AS "isActive",
          t.issued_by AS "issuedBy", t.former_issuers AS "formerIssuers", t.parent_id AS "parentId",
          LEAST(now() + (t.expires_at - t.created_at), (SELECT p.expires_at FROM tokens p
            WHERE p.account_id = t.account_id AND p.id = t.parent_id)) AS "nextExpiry"
        FROM tokens t
        WHERE t.account_id = ${accountId}::uuid AND t.mode = ${mode} AND t.id = ${id}::uuid
        FOR UPDATE`
    : []
  const seesItself = token?.permissions.includes('tokens:read')
  const isKnownTo = (actorId: string) =>
    token?.parentId === actorId || (actorId === id && change === 'rotate' && seesItself)
  if (!token || (actor.type === 'token' && !isKnownTo(actor.id))) throw refuse('token_not_found')
  if (!token.isActive) throw tokenEnded()
  return token
}

export function tokenEnded(): TrocoError {
  const message =
    'This token is revoked, expired or replaced: use its replacement or create a new one'
  return refuse('token_ended', message)
}
