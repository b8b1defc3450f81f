import { type Actor, recordAudit } from '#lib/base/audit/record.ts'
import type { Tx } from '#lib/base/db/client.ts'
import type { IdempotentRequest } from '#lib/base/db/idempotency.ts'
import { transaction } from '#lib/base/db/transaction.ts'
import { refuse } from '#lib/base/errors.ts'
import { newId } from '#lib/base/ids.ts'
import { hmac } from '#lib/base/keys.ts'
import type { Mode } from '#lib/base/mode.ts'
import { requireAuthority } from '#lib/rooms/tokens/authority.ts'
import { type Permission, TOKENS_MAX } from '#lib/rooms/tokens/schema.ts'
import { activeTokenCondition } from '#lib/rooms/tokens/status.ts'
import { makeToken } from '#lib/rooms/tokens/token-text.ts'
import { lockAccount, storeIdempotencyKey } from '#lib/services/webhooks/owner.ts'

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

const LEAVE_OUT = 'leave it out of permissions or ask an owner to create this token'

/** Returns the token only this once: only its HMAC, its start and its end are stored. */
export function issueToken(
  newToken: NewToken,
  actor: Actor,
  once?: IdempotentRequest,
): Promise<{ id: string; token: string }> {
  return transaction(async tx => {
    const { accountId, permissions } = newToken
    await lockAccount(tx, accountId)
    await requireAuthority(tx, { accountId, actor }, permissions, LEAVE_OUT)
    await storeIdempotencyKey(tx, once)
    await refuseTooMany(tx, newToken)
    return insertToken(tx, newToken, actor, once?.id)
  })
}

export async function insertToken(tx: Tx, newToken: NewToken, actor: Actor, id = newId()) {
  const { accountId, mode, name, permissions, allowedAddresses = [], expiresAt } = newToken
  const token = makeToken(accountId, mode)
  await tx.token.create({
    data: {
      ...newToken,
      id,
      issuedBy: actor.type === 'user' ? actor.id : null,
      hash: hashToken(token),
      prefix: token.slice(0, PREFIX_LENGTH),
      lastFour: token.slice(-4),
    },
  })
  const after = {
    name,
    mode,
    permissions,
    ...(allowedAddresses.length > 0 && { allowed_addresses: allowedAddresses }),
    ...(expiresAt && { expires_at: expiresAt.toISOString() }),
  }
  await recordAudit(tx, { actor, action: 'token.issued', accountId, target: id, after })
  return { id, token }
}

/** Limits active tokens. A replaced token does not count, because its successor does. */
async function refuseTooMany(tx: Tx, { accountId, mode }: NewToken): Promise<void> {
  const [found] = await tx.$queryRaw<{ count: number }[]>`
    SELECT count(*)::int AS count FROM tokens t
    WHERE t.account_id = ${accountId}::uuid AND t.mode = ${mode} AND t.replaced_by IS NULL
      AND ${activeTokenCondition}`
  if (found && found.count < TOKENS_MAX) return
  const message = `The limit of ${TOKENS_MAX} active tokens is reached: revoke one first`
  throw refuse('limit_reached', message)
}

export function hashToken(token: string, secret?: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(hmac('api-tokens', token, secret))
}
