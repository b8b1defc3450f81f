import type { Actor } from '#lib/audit/record.ts'
import { refuse } from '#lib/core/errors.ts'
import { isUuid } from '#lib/core/ids.ts'
import { db, transaction } from '#lib/db/client.ts'
import { queueMailToOwners } from '#lib/mail/queue.ts'
import { revokeTokens } from '#lib/tokens/revoke.ts'
import { activeTokenCondition, withChildren } from '#lib/tokens/status.ts'
import { lockAccount } from '#lib/webhooks/owner.ts'

/** Mails the reason to the owners. Returns null if the token was already revoked. */
export async function revokeTokenAsOperator(
  { accountId, id }: { accountId: string; id: string },
  reason: string,
  actor: Actor,
): Promise<{ id: string } | null> {
  const where = { accountId, id }
  const isThere = [accountId, id].every(isUuid) && (await db().token.count({ where })) > 0
  if (!isThere) throw refuse('token_not_found')
  return transaction(async tx => {
    const revoked = (await revokeTokens(tx, accountId, withChildren(id), reason, actor)).find(
      one => one.id === id,
    )
    if (!revoked) return null
    const { name, prefix, lastFour, mode } = revoked
    await queueMailToOwners(tx, accountId, account => ({
      kind: 'tokenRevoked',
      account,
      token: name,
      ending: `${prefix}…${lastFour}`,
      reason,
      path: `/${mode}/settings/tokens`,
    }))
    return { id }
  })
}

/** Revokes an account's active tokens in both modes, with one mail. Returns how many. */
export async function revokeAccountTokens(
  accountId: string,
  reason: string,
  actor: Actor,
): Promise<number> {
  if (!isUuid(accountId)) return 0
  return transaction(async tx => {
    // Waits for transactions that are issuing or rotating a token of this account.
    await lockAccount(tx, accountId)
    const revoked = await revokeTokens(tx, accountId, activeTokenCondition, reason, actor)
    if (revoked.length > 0) {
      await queueMailToOwners(tx, accountId, account => ({
        kind: 'tokensRevoked',
        account,
        count: String(revoked.length),
        reason,
        path: '/test/settings/tokens',
      }))
    }
    return revoked.length
  })
}
