import { type Actor, personOf, recordAudit } from '#lib/audit/record.ts'
import { refuse, type TrocoError } from '#lib/core/errors.ts'
import { isUuid } from '#lib/core/ids.ts'
import type { Mode } from '#lib/core/mode.ts'
import { db, Prisma, type Tx, transaction } from '#lib/db/client.ts'
import type { IdempotentRequest } from '#lib/db/idempotency.ts'
import { queueMailToOwners } from '#lib/mail/queue.ts'
import type { TokenDecision } from '#lib/people/schema.ts'
import {
  activeTokenCondition,
  isTokenText,
  rootCondition,
  tokenHashBytes,
  withChildren,
} from '#lib/tokens/authenticate.ts'
import {
  assignIssuer,
  canAdopt,
  exceedsIssuer,
  insertToken,
  lockParent,
  readRole,
  refuseTooMany,
  requireAuthority,
  requireConfirmed,
  restrictAddresses,
} from '#lib/tokens/issue.ts'
import { readTokens, tokenAsJson } from '#lib/tokens/queries.ts'
import { containsRange, type IssuedTokenRow, type Permission } from '#lib/tokens/schema.ts'
import { lockAccount, storeIdempotencyKey } from '#lib/webhooks/owner.ts'

/**
 * Replaces the addresses from which a token may be used. Effective from the next request in every
 * process. Refuses a member who may not grant the token's permissions: who got hold of its value
 * could otherwise open it. Narrowing the list opens nothing, so it needs no more than a revocation.
 * A child stays within its parent's addresses. Idempotent.
 */
export function changeAddresses(
  token: { accountId: string; mode: Mode; id: string },
  addresses: string[],
  actor: Actor,
): Promise<void> {
  return transaction(async tx => {
    const { accountId, id } = token
    await lockAccount(tx, accountId)
    const { permissions, parentId, allowedAddresses: old } = await lockActiveToken(tx, token, actor)
    const parent = parentId && (await lockParent(tx, { accountId, id: parentId }))
    const allowedAddresses = parent ? restrictAddresses(addresses, parent) : addresses
    const granted = isNarrower(allowedAddresses, old) ? [] : permissions
    if (parent && granted.length > 0) requireConfirmed(parent)
    if (actor.type !== 'token') await requireAuthority(tx, { accountId, actor }, granted, 'change')
    if (JSON.stringify(old) === JSON.stringify(allowedAddresses)) return
    const where = { accountId_id: { accountId, id } }
    await tx.token.update({ where, data: { allowedAddresses } })
    const change = {
      before: { allowed_addresses: old },
      after: { allowed_addresses: allowedAddresses },
    }
    const action = 'token.addresses_changed'
    await recordAudit(tx, { actor, action, accountId, target: id, ...change })
  })
}

/** Returns whether each address of a list is within another one, of which an empty one means any. */
function isNarrower(addresses: string[], old: string[]): boolean {
  if (old.length === 0) return true
  return (
    addresses.length > 0 && addresses.every(one => old.some(range => containsRange(range, one)))
  )
}

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

interface LockedToken {
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
async function lockActiveToken(
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

/** Makes an owner the issuer of a token, which may then be rotated again. Idempotent. */
export function adoptToken(
  token: { accountId: string; mode: Mode; id: string },
  actor: Actor,
): Promise<void> {
  return transaction(async tx => {
    const { accountId } = token
    await lockAccount(tx, accountId)
    const { permissions, parentId } = await lockActiveToken(tx, token, actor)
    if (parentId !== null) throw refuse('child_token')
    if (!(await canAdopt(tx, accountId, actor)))
      throw refuse('permission_denied', { permission: 'tokens:adopt' })
    await requireAuthority(tx, { accountId, actor }, permissions, 'adopt')
    await assignIssuer(tx, token, actor)
  })
}

interface Issuer {
  accountId: string
  userId: string
}

type UserActor = { type: 'user'; id: string }

/** Lists the active tokens of both modes that a member issued, newest first. Their children follow them. */
export async function listIssuedTokens({ accountId, userId }: Issuer): Promise<IssuedTokenRow[]> {
  const isMember =
    isUuid(userId) && (await db().membership.count({ where: { accountId, userId } })) > 0
  if (!isMember) throw refuse('member_not_found')
  const tokens = await readTokens(Prisma.sql`
    SELECT ${tokenAsJson}::text AS json FROM tokens t
    WHERE t.account_id = ${accountId}::uuid AND t.issued_by = ${userId}::uuid
      AND t.parent_id IS NULL AND ${activeTokenCondition}
    ORDER BY t.id DESC`)
  return tokens.map(({ token, mode }) => ({ ...token, mode }))
}

/**
 * Returns a function that adopts or revokes the tokens that exceed the issuer's new role. Refuses
 * unless `decisions` name exactly these, or if the actor lacks a permission of an adopted one. Call
 * it in the transaction that changes the role, under the account's lock.
 */
export function createTokenAdoption(
  issuer: Issuer,
  decisions: readonly TokenDecision[] | undefined,
  actor: UserActor,
) {
  return (tx: Tx) => settleTokens(tx, issuer, decisions ?? [], actor)
}

async function settleTokens(
  tx: Tx,
  { accountId, userId }: Issuer,
  decisions: readonly TokenDecision[],
  actor: UserActor,
): Promise<void> {
  const role = await readRole(tx, accountId, userId)
  const issued = await tx.$queryRaw<{ id: string; permissions: Permission[] }[]>`
    SELECT t.id, t.permissions FROM tokens t
    WHERE t.account_id = ${accountId}::uuid AND t.issued_by = ${userId}::uuid
      AND t.parent_id IS NULL AND ${activeTokenCondition}
    ORDER BY t.id FOR UPDATE`
  const rows = issued.filter(token => exceedsIssuer({ ...token, issuedBy: userId }, role))
  const actions = new Map(decisions.map(({ id, action }) => [id, action]))
  if (decisions.length !== rows.length || !rows.every(({ id }) => actions.has(id)))
    throw refuse('tokens_undecided', { ids: rows.map(({ id }) => id) })
  for (const { id, permissions } of rows) {
    if (actions.get(id) === 'revoke')
      await revokeTokens(tx, accountId, withChildren(id), undefined, actor)
    else {
      await requireAuthority(tx, { accountId, actor }, permissions, 'keep')
      await assignIssuer(tx, { accountId, id }, actor)
    }
  }
}

/**
 * Revokes what the tokens of a member who leaves have created. Those tokens keep working until an
 * owner decides about them. Call it under the account's lock.
 */
export async function revokeChildren(tx: Tx, accountId: string, actor: UserActor): Promise<void> {
  const isChild = Prisma.sql`t.issued_by = ${actor.id}::uuid AND t.parent_id IS NOT NULL
    AND ${activeTokenCondition}`
  await revokeTokens(tx, accountId, isChild, undefined, actor)
}

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
async function revokeTokens(
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
