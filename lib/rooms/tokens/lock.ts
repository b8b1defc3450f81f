import type { Tx } from '#lib/base/db/client.ts'
import { refuse, type TrocoError } from '#lib/base/errors.ts'
import { isUuid } from '#lib/base/ids.ts'
import type { Mode } from '#lib/base/mode.ts'
import type { Permission } from '#lib/rooms/tokens/schema.ts'
import { activeTokenCondition } from '#lib/rooms/tokens/status.ts'

interface LockedToken {
  name: string
  permissions: Permission[]
  allowedAddresses: string[]
  isActive: boolean
  issuedBy: string | null
  replacedBy: string | null
  /** Expiry of a successor with the same lifetime. */
  nextExpiry: Date | null
}

export async function lockActiveToken(
  tx: Tx,
  { accountId, mode, id }: { accountId: string; mode: Mode; id: string },
): Promise<LockedToken> {
  const [token] = isUuid(id)
    ? await tx.$queryRaw<LockedToken[]>`
        SELECT t.name, t.permissions, t.allowed_addresses AS "allowedAddresses", t.replaced_by AS "replacedBy", ${activeTokenCondition} AS "isActive",
          t.issued_by AS "issuedBy", now() + (t.expires_at - t.created_at) AS "nextExpiry"
        FROM tokens t
        WHERE t.account_id = ${accountId}::uuid AND t.mode = ${mode} AND t.id = ${id}::uuid
        FOR UPDATE`
    : []
  if (!token) throw refuse('token_not_found')
  if (!token.isActive) throw tokenEnded('This token is revoked or expired: create a new one')
  return token
}

export function tokenEnded(message: string): TrocoError {
  return refuse('token_ended', message)
}
