import { type Actor, personOf, recordAudit } from '#lib/audit/record.ts'
import { refuse, type TrocoError } from '#lib/core/errors.ts'
import { Invariant } from '#lib/core/invariant.ts'
import type { Tx } from '#lib/db/client.ts'
import { hasPermission, type Role } from '#lib/people/roles.ts'
import type { Permission } from '#lib/tokens/schema.ts'

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
