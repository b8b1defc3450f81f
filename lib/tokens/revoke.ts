import { type Actor, personOf, recordAudit } from '#lib/audit/record.ts'
import { refuse } from '#lib/core/errors.ts'
import { isUuid } from '#lib/core/ids.ts'
import type { Mode } from '#lib/core/mode.ts'
import { db, type Prisma, type Tx, transaction } from '#lib/db/client.ts'
import { queueMailToOwners } from '#lib/mail/queue.ts'
import {
  activeTokenCondition,
  isTokenText,
  tokenHashBytes,
  withChildren,
} from '#lib/tokens/authenticate.ts'
import { lockAccount } from '#lib/webhooks/owner.ts'

/** Effective from the next request in every process. Returns null if already revoked. */
export async function revokeToken(
  identifier: string,
  reason: string,
  actor: Actor,
): Promise<{ id: string } | null> {
  return revokeOne(await findToken(identifier), reason, actor)
}

export async function revokeOwnToken(
  { accountId, mode, id }: { accountId: string; mode: Mode; id: string },
  reason: string | undefined,
  actor: Actor,
): Promise<{ id: string } | null> {
  const where = { accountId, mode, id, ...(actor.type === 'token' && { parentId: actor.id }) }
  if (!isUuid(id) || (await db().token.count({ where })) === 0) throw refuse('token_not_found')
  return revokeOne({ accountId, id }, reason, actor)
}

type RevokedToken = Record<'id' | 'name' | 'prefix' | 'lastFour' | 'mode', string> & {
  parentId: string | null
}

async function revokeOne(
  { accountId, id: wanted }: { accountId: string; id: string },
  reason: string | undefined,
  actor: Actor,
): Promise<{ id: string } | null> {
  const which = withChildren(wanted)
  const revoked = await transaction(tx => revokeTokens(tx, accountId, which, reason, actor))
  return revoked.some(({ id }) => id === wanted) ? { id: wanted } : null
}

/**
 * Revokes the tokens `t` of an account that meet a condition. Returns those revoked. A child that is
 * being created waits, and then finds its parent revoked.
 */
export async function revokeTokens(
  tx: Tx,
  accountId: string,
  condition: Prisma.Sql,
  reason: string | undefined,
  actor: Actor,
) {
  await lockAccount(tx, accountId)
  const revoked = await tx.$queryRaw<RevokedToken[]>`
    UPDATE tokens t SET revoked_at = now(), revoked_reason = ${reason ?? null}::text,
      revoked_by = ${actor.type === 'token' ? actor.id : personOf(actor)}::uuid
    WHERE t.account_id = ${accountId}::uuid AND t.revoked_at IS NULL AND ${condition}
    RETURNING t.id, t.name, t.prefix, t.last_four AS "lastFour", t.mode, t.parent_id AS "parentId"`
  for (const { id: target, parentId } of revoked) {
    const after = parentId ? { parent_id: parentId } : undefined
    await recordAudit(tx, { actor, action: 'token.revoked', accountId, target, reason, after })
  }
  return revoked
}

async function findToken(identifier: string) {
  const where = tokenFilter(identifier)
  const select = { id: true, accountId: true }
  const found = where ? await db().token.findMany({ where, take: 2, select }) : []
  const [token] = found
  if (token && found.length === 1) return token
  // The input may be a whole token, so the message does not repeat it.
  const message =
    found.length === 0
      ? 'Token not found: pass its id, the token, or its first characters (troco_test_…)'
      : 'Several tokens begin with these characters: pass more of them, or the id'
  throw refuse('not_found', message)
}

/** Returns the filter for an id, for the full text of a leaked token or for its start. */
function tokenFilter(identifier: string) {
  if (isUuid(identifier)) return { id: identifier }
  if (isTokenText(identifier)) return { hash: tokenHashBytes(identifier) }
  return /^troco_(test|live)_[0-9A-Za-z]+$/.test(identifier)
    ? { prefix: { startsWith: identifier } }
    : null
}

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
