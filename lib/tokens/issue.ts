import { type Actor, personOf, recordAudit } from '#lib/audit/record.ts'
import { invalidInput, refuse, type TrocoError } from '#lib/core/errors.ts'
import { newId } from '#lib/core/ids.ts'
import { Invariant } from '#lib/core/invariant.ts'
import type { Mode } from '#lib/core/mode.ts'
import { type Tx, transaction } from '#lib/db/client.ts'
import type { IdempotentRequest } from '#lib/db/idempotency.ts'
import { hasPermission, type Role } from '#lib/people/roles.ts'
import { activeTokenCondition, makeToken, tokenHashBytes } from '#lib/tokens/authenticate.ts'
import { containsRange, type ExpiryField, type Permission, TOKENS_MAX } from '#lib/tokens/schema.ts'
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
interface Origin {
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
      hash: tokenHashBytes(token),
      prefix: token.slice(0, PREFIX_LENGTH),
      lastFour: token.slice(-4),
    },
  })
  const after = {
    name,
    mode,
    permissions,
    ...(origin.parentId && { parent_id: origin.parentId }),
    ...(allowedAddresses.length > 0 && { allowed_addresses: allowedAddresses }),
    ...(expiresAt && { expires_at: expiresAt.toISOString() }),
  }
  await recordAudit(tx, { actor, action: 'token.issued', accountId, target: id, after })
  return { id, token }
}

interface Parent {
  permissions: Permission[]
  allowedAddresses: string[]
  expiresAt: Date | null
  issuedBy: string | null
  formerIssuers: string[]
  /** Whether it has a permission that the present role of its issuer lacks. */
  exceedsIssuer: boolean
}

/**
 * Returns a token as its parent may create it: without addresses or an expiry of its own, it has those
 * of its parent. Refuses whatever exceeds the parent. Both have the same issuers. Call it under
 * `lockAccount`; it locks the parent until commit.
 */
async function restrictToParent(
  tx: Tx,
  newToken: NewToken,
  { parentId, expiryField }: { parentId: string; expiryField: ExpiryField },
): Promise<{ token: NewToken; origin: Origin }> {
  const { accountId, permissions, expiresAt } = newToken
  const parent = await lockParent(tx, { accountId, id: parentId })
  requireConfirmed(parent)
  const grantable: string[] = parent.permissions.filter(name => name !== 'tokens:write')
  if (!permissions.every(name => grantable.includes(name)))
    throw invalidInput(
      'permissions',
      `must be among those that this token may grant: ${grantable.join(', ')}`,
    )
  const { issuedBy, formerIssuers } = parent
  const end = parent.expiresAt ?? undefined
  if (expiresAt && end && expiresAt > end)
    throw invalidInput(expiryField, `must end before this token does: ${end.toISOString()}`)
  const allowedAddresses = restrictAddresses(newToken.allowedAddresses ?? [], parent)
  const token = { ...newToken, allowedAddresses, expiresAt: expiresAt ?? end }
  return { token, origin: { parentId, issuedBy, formerIssuers } }
}

/** Returns addresses of a child: those of its parent if it has none. Refuses others. */
export function restrictAddresses(
  addresses: string[],
  parent: Pick<Parent, 'allowedAddresses'>,
): string[] {
  const allowed = parent.allowedAddresses
  if (allowed.length === 0) return addresses
  const outside = addresses.find(one => !allowed.some(range => containsRange(range, one)))
  if (outside !== undefined)
    throw invalidInput('allowed_addresses', `must be within those of its parent: ${outside} is not`)
  return addresses.length > 0 ? addresses : allowed
}

/** Locks the token that acts as a parent. Refuses it if it has ended. */
export async function lockParent(
  tx: Tx,
  { accountId, id }: { accountId: string; id: string },
): Promise<Parent> {
  const [parent] = await tx.$queryRaw<Omit<Parent, 'exceedsIssuer'>[]>`
    SELECT t.permissions, t.allowed_addresses AS "allowedAddresses", t.expires_at AS "expiresAt",
      t.issued_by AS "issuedBy", t.former_issuers AS "formerIssuers"
    FROM tokens t
    WHERE t.account_id = ${accountId}::uuid AND t.id = ${id}::uuid AND ${activeTokenCondition}
    FOR UPDATE`
  if (!parent) throw refuse('unauthenticated')
  if (!parent.permissions.includes('tokens:write'))
    throw refuse('permission_denied', { permission: 'tokens:write' })
  const role = parent.issuedBy && (await readRole(tx, accountId, parent.issuedBy))
  return { ...parent, exceedsIssuer: exceedsIssuer(parent, role) }
}

/** Until an owner confirms it, a parent makes no token that works and opens none. */
export function requireConfirmed(parent: Parent): void {
  if (parent.exceedsIssuer) throw refuse('token_unconfirmed')
}

/**
 * Returns whether a token has a permission that the present role of its issuer lacks: a former member
 * has none. False for the operator's tokens, without an issuer, which may have any.
 */
export function exceedsIssuer(
  { issuedBy, permissions }: { issuedBy: string | null; permissions: readonly Permission[] },
  role: string | null | undefined,
): boolean {
  if (issuedBy === null) return false
  return permissions.some(name => !role || !hasPermission(role as Role, name))
}

/** What to do instead of granting a permission that one does not hold. */
const GRANT_ADVICE = {
  create: 'leave it out of permissions or ask an owner to create this token',
  change: 'ask an owner to change this token',
  rotate: 'ask an owner to rotate this token',
  adopt: 'ask another owner',
  keep: 'revoke this token instead',
}
type Grant = keyof typeof GRANT_ADVICE

export function permissionNotHeld(grant: Grant, permission: string): TrocoError {
  return refuse('permission_not_held', { permission, advice: GRANT_ADVICE[grant] })
}

/**
 * Refuses a member whose present role lacks a permission; the operator lacks none. Call it under
 * `lockAccount`, which keeps the role until commit.
 */
export async function requireAuthority(
  tx: Tx,
  { accountId, actor }: { accountId: string; actor: Actor },
  permissions: readonly Permission[],
  grant: Grant,
): Promise<void> {
  if (actor.type === 'token') throw new Invariant('a token has its own permissions, not a role')
  if (actor.type !== 'user') return
  const role = await readRole(tx, accountId, actor.id)
  if (role === null || !hasPermission(role, 'tokens:write'))
    throw refuse('permission_denied', { permission: 'tokens:write' })
  const lacking = permissions.filter(name => !hasPermission(role, name))
  if (lacking.length > 0) throw permissionNotHeld(grant, lacking.join(', '))
}

/** Returns whether the actor may confirm tokens that exceed the role of their issuer. */
export async function canAdopt(tx: Tx, accountId: string, actor: Actor): Promise<boolean> {
  if (actor.type === 'token') return false
  if (actor.type !== 'user') return true
  const role = await readRole(tx, accountId, actor.id)
  return role !== null && hasPermission(role, 'tokens:adopt')
}

export async function readRole(tx: Tx, accountId: string, userId: string): Promise<Role | null> {
  const where = { accountId_userId: { accountId, userId } }
  const member = await tx.membership.findUnique({ where, select: { role: true } })
  return member ? (member.role as Role) : null
}

/**
 * Makes the actor the issuer of a token and of those that it created. Does nothing if the actor is
 * already. The issuer until then may know its value and never approves what it requests.
 */
export async function assignIssuer(
  tx: Tx,
  { accountId, id }: { accountId: string; id: string },
  actor: Actor,
): Promise<void> {
  const issuedBy = personOf(actor)
  const old = await tx.token.findUniqueOrThrow({ where: { accountId_id: { accountId, id } } })
  if (old.issuedBy === issuedBy) return
  const formerIssuers = [
    ...new Set([...old.formerIssuers, ...(old.issuedBy ? [old.issuedBy] : [])]),
  ]
  const those = { accountId, OR: [{ id }, { parentId: id }] }
  await tx.token.updateMany({ where: those, data: { issuedBy, formerIssuers } })
  const before = { issued_by: old.issuedBy }
  const after = { issued_by: issuedBy, permissions: old.permissions }
  await recordAudit(tx, { actor, action: 'token.adopted', accountId, target: id, before, after })
}
