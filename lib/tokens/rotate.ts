import { type Actor, personOf, recordAudit } from '#lib/audit/record.ts'
import { refuse } from '#lib/core/errors.ts'
import type { Mode } from '#lib/core/mode.ts'
import { Prisma, type Tx, transaction } from '#lib/db/client.ts'
import type { IdempotentRequest } from '#lib/db/idempotency.ts'
import {
  assignIssuer,
  canAdopt,
  exceedsIssuer,
  readRole,
  requireAuthority,
} from '#lib/tokens/authority.ts'
import { lockParent, requireConfirmed } from '#lib/tokens/child.ts'
import { insertToken } from '#lib/tokens/insert.ts'
import { refuseTooMany } from '#lib/tokens/issue.ts'
import { type LockedToken, lockActiveToken, tokenEnded } from '#lib/tokens/lock.ts'
import { rootCondition } from '#lib/tokens/status.ts'
import { lockAccount, storeIdempotencyKey } from '#lib/webhooks/owner.ts'

interface Rotation {
  accountId: string
  mode: Mode
  id: string
  overlapHours: number
}

/**
 * Issues a successor with the same permissions and addresses, to which the tokens that the old one created
 * move. The old one expires after the overlap or at its own time, whichever is sooner. The first rotation
 * wins. An owner who rotates a token that exceeds its issuer's role confirms it; others are refused, as is
 * a member who lacks a permission. A token rotates itself, without a later expiry, and those that it
 * created, which only it does.
 */
export function rotateToken(
  { accountId, mode, id, overlapHours }: Rotation,
  actor: Actor,
  once?: IdempotentRequest,
): Promise<{ id: string; token: string }> {
  return transaction(async tx => {
    await lockAccount(tx, accountId)
    const token = await lockActiveToken(tx, { accountId, mode, id }, actor, 'rotate')
    const { name, permissions, allowedAddresses, nextExpiry } = token
    if (token.replacedBy) throw tokenEnded()
    if (actor.type === 'token') requireConfirmed(await lockParent(tx, { accountId, id: actor.id }))
    else await requireRotator(tx, { accountId, id }, token, actor)
    await storeIdempotencyKey(tx, once)
    await refuseTooMany(tx, { accountId, mode }, true)
    const isItself = actor.type === 'token' && actor.id === id
    // A stolen token must not extend its own life.
    const expiresAt = (isItself ? token.expiresAt : nextExpiry) ?? undefined
    const restrictions = { permissions, allowedAddresses, expiresAt }
    const newToken = { accountId, mode, name, ...restrictions }
    const { parentId, issuedBy, formerIssuers } = token
    const origin =
      actor.type === 'token'
        ? { parentId: parentId ?? undefined, issuedBy, formerIssuers }
        : { issuedBy: personOf(actor) }
    const successor = await insertToken(tx, newToken, origin, actor, once?.id)
    const replaced = Prisma.sql`t.id = ${id}::uuid`
    const changed = await tx.$queryRaw<{ id: string; expiresAt: Date }[]>`
      UPDATE tokens t SET
        replaced_by = CASE WHEN ${replaced} THEN ${successor.id}::uuid ELSE t.replaced_by END,
        parent_id = CASE WHEN ${replaced} THEN t.parent_id ELSE ${successor.id}::uuid END,
        expires_at = CASE WHEN ${replaced}
          THEN LEAST(t.expires_at, now() + make_interval(hours => ${overlapHours}::int))
          ELSE t.expires_at END
      WHERE t.account_id = ${accountId}::uuid AND ${rootCondition}
        AND (${replaced} OR t.parent_id = ${id}::uuid)
      RETURNING t.id, t.expires_at AS "expiresAt"`
    const end = changed.find(one => one.id === id)?.expiresAt.toISOString() ?? null
    const after = { replaced_by: successor.id, expires_at: end }
    await recordAudit(tx, { actor, action: 'token.rotated', accountId, target: id, after })
    return successor
  })
}

async function requireRotator(
  tx: Tx,
  { accountId, id }: { accountId: string; id: string },
  token: LockedToken,
  actor: Actor,
): Promise<void> {
  if (token.parentId !== null) throw refuse('child_token')
  await requireAuthority(tx, { accountId, actor }, token.permissions, 'rotate')
  const role = token.issuedBy && (await readRole(tx, accountId, token.issuedBy))
  if (!exceedsIssuer(token, role)) return
  if (!(await canAdopt(tx, accountId, actor))) throw refuse('token_unconfirmed')
  await assignIssuer(tx, { accountId, id }, actor)
}
