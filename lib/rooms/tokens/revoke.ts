import { type Actor, recordAudit } from '#lib/base/audit/record.ts'
import { db, Prisma, type Tx } from '#lib/base/db/client.ts'
import { transaction } from '#lib/base/db/transaction.ts'
import { refuse } from '#lib/base/errors.ts'
import { isUuid } from '#lib/base/ids.ts'
import type { Mode } from '#lib/base/mode.ts'
import { hashToken } from '#lib/rooms/tokens/issue.ts'
import { isTokenActive } from '#lib/rooms/tokens/status.ts'
import { isTokenText } from '#lib/rooms/tokens/token-text.ts'

/** Revokes from the next request on, in every process. Returns null if already revoked. */
export async function revokeToken(
  named: string,
  reason: string,
  actor: Actor,
): Promise<{ id: string } | null> {
  return endToken(await findToken(named), reason, actor)
}

export async function revokeOwnToken(
  { accountId, mode, id }: { accountId: string; mode: Mode; id: string },
  reason: string | undefined,
  actor: Actor,
): Promise<{ id: string } | null> {
  const where = { accountId, mode, id }
  const isThere = isUuid(id) && (await db().token.count({ where })) > 0
  if (!isThere) throw refuse('token_not_found')
  return endToken(where, reason, actor)
}

type EndedToken = Record<'id' | 'name' | 'prefix' | 'lastFour' | 'mode', string>

async function endToken(
  token: { accountId: string; id: string },
  reason: string | undefined,
  actor: Actor,
): Promise<{ id: string } | null> {
  const [ended] = await transaction(tx => endTokens(tx, token, reason, actor))
  return ended ? { id: ended.id } : null
}

/** Revokes one token, expired or not, or all active ones. Returns those not revoked before. */
export async function endTokens(
  tx: Tx,
  which: { accountId: string; id?: string },
  reason: string | undefined,
  actor: Actor,
) {
  const { accountId, id } = which
  const revokedBy = actor.type === 'user' ? actor.id : null
  const ended = await tx.$queryRaw<EndedToken[]>`
    UPDATE tokens t SET revoked_at = now(), revoked_reason = ${reason ?? null}::text,
      revoked_by = ${revokedBy}::uuid
    WHERE t.account_id = ${accountId}::uuid AND t.revoked_at IS NULL
      AND ${id ? Prisma.sql`t.id = ${id}::uuid` : isTokenActive}
    RETURNING t.id, t.name, t.prefix, t.last_four AS "lastFour", t.mode`
  for (const { id: target } of ended) {
    await recordAudit(tx, { actor, action: 'token.revoked', accountId, target, reason })
  }
  return ended
}

async function findToken(named: string) {
  const where = conditionOf(named)
  const select = { id: true, accountId: true }
  const found = where ? await db().token.findMany({ where, take: 2, select }) : []
  const [only] = found
  if (only && found.length === 1) return only
  // The input may be a whole token, so the message does not repeat it.
  const message =
    found.length === 0
      ? 'Token not found: pass its id, the token, or its first characters (troco_test_…)'
      : 'Several tokens begin with these characters: pass more of them, or the id'
  throw refuse('not_found', message)
}

/** Returns the filter for an id, for the full text of a leaked token or for its start. */
function conditionOf(named: string) {
  if (isUuid(named)) return { id: named }
  if (isTokenText(named)) return { hash: hashToken(named) }
  return /^troco_(test|live)_[0-9A-Za-z]+$/.test(named) ? { prefix: { startsWith: named } } : null
}
