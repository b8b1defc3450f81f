import { type Actor, personOf } from '#lib/audit/record.ts'
import { refuse, type TrocoError } from '#lib/core/errors.ts'
import type { Tx } from '#lib/db/client.ts'
import { transaction } from '#lib/db/client.ts'
import type { IdempotentRequest } from '#lib/db/idempotency.ts'
import { requireAuthority } from '#lib/tokens/authority.ts'
import { restrictToParent } from '#lib/tokens/child.ts'
import { insertToken, type NewToken } from '#lib/tokens/insert.ts'
import { type ExpiryField, TOKENS_MAX } from '#lib/tokens/schema.ts'
import { activeTokenCondition } from '#lib/tokens/status.ts'
import { lockAccount, storeIdempotencyKey } from '#lib/webhooks/owner.ts'

const WORKING_MAX = 2 * TOKENS_MAX

interface RequestedToken extends NewToken {
  /** Field that set the expiry, which a refusal names. */
  expiryField?: ExpiryField
}

/** Returns the token only this once: only its HMAC, its start and its end are stored. */
export function issueToken(
  { expiryField = 'expires_in_days', ...newToken }: RequestedToken,
  actor: Actor,
  once?: IdempotentRequest,
): Promise<{ id: string; token: string }> {
  return transaction(async tx => {
    const { accountId, permissions } = newToken
    await lockAccount(tx, accountId)
    const child =
      actor.type === 'token'
        ? await restrictToParent(tx, newToken, { parentId: actor.id, expiryField })
        : null
    if (!child) await requireAuthority(tx, { accountId, actor }, permissions, 'create')
    await storeIdempotencyKey(tx, once)
    await refuseTooMany(tx, newToken)
    const { token, origin } = child ?? { token: newToken, origin: { issuedBy: personOf(actor) } }
    return insertToken(tx, token, origin, actor, once?.id)
  })
}

/**
 * Limits active tokens. A replaced token does not count, because its successor does; but those that
 * still work are limited too, since every rotation leaves one.
 */
export async function refuseTooMany(
  tx: Tx,
  { accountId, mode }: Pick<NewToken, 'accountId' | 'mode'>,
  isReplacement = false,
): Promise<void> {
  const [found] = await tx.$queryRaw<{ lasting: number; working: number }[]>`
    SELECT count(*) FILTER (WHERE t.replaced_by IS NULL)::int AS lasting, count(*)::int AS working
    FROM tokens t
    WHERE t.account_id = ${accountId}::uuid AND t.mode = ${mode} AND ${activeTokenCondition}`
  const { lasting = 0, working = 0 } = found ?? {}
  if (!isReplacement && lasting >= TOKENS_MAX) throw tooManyTokens()
  if (working >= WORKING_MAX) throw tooManyWorkingTokens()
}

export function tooManyTokens(reached = `${TOKENS_MAX} active tokens`): TrocoError {
  return refuse('limit_reached', `The limit of ${reached} is reached: revoke one first`)
}

export function tooManyWorkingTokens(): TrocoError {
  return tooManyTokens(`${WORKING_MAX} working tokens, replaced ones included,`)
}
