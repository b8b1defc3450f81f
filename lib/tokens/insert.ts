import { type Actor, recordAudit } from '#lib/audit/record.ts'
import { newId } from '#lib/core/ids.ts'
import { hmac } from '#lib/core/keys.ts'
import type { Mode } from '#lib/core/mode.ts'
import type { Tx } from '#lib/db/client.ts'
import type { Permission } from '#lib/tokens/schema.ts'
import { makeToken } from '#lib/tokens/token-text.ts'

const PREFIX_LENGTH = 20

export interface NewToken {
  accountId: string
  mode: Mode
  name: string
  permissions: Permission[]
  /** Addresses and ranges from which the token may be used; absent or empty: any. */
  allowedAddresses?: string[]
  expiresAt?: Date
}

/** The member who issues a new token, earlier issuers, and the token that creates it, if one does. */
export interface Origin {
  issuedBy: string | null
  formerIssuers?: string[]
  parentId?: string
}

/** Call it under `lockAccount`, which serializes the limit of tokens. */
export async function insertToken(
  tx: Tx,
  newToken: NewToken,
  origin: Origin,
  actor: Actor,
  id = newId(),
) {
  const { accountId, mode, name, permissions, allowedAddresses = [], expiresAt } = newToken
  const token = makeToken(accountId, mode)
  await tx.token.create({
    data: {
      ...newToken,
      ...origin,
      id,
      hash: hashToken(token),
      prefix: token.slice(0, PREFIX_LENGTH),
      lastFour: token.slice(-4),
    },
  })
  const after = {
    ...{ name, mode, permissions },
    ...(origin.parentId && { parent_id: origin.parentId }),
    ...(allowedAddresses.length > 0 && { allowed_addresses: allowedAddresses }),
    ...(expiresAt && { expires_at: expiresAt.toISOString() }),
  }
  await recordAudit(tx, { actor, action: 'token.issued', accountId, target: id, after })
  return { id, token }
}

export function hashToken(token: string, secret?: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(hmac('api-tokens', token, secret))
}
