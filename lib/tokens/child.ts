import { containsRange } from '#lib/core/address-range.ts'
import { invalidInput, refuse } from '#lib/core/errors.ts'
import type { Tx } from '#lib/db/client.ts'
import { exceedsIssuer, readRole } from '#lib/tokens/authority.ts'
import type { NewToken, Origin } from '#lib/tokens/insert.ts'
import type { ExpiryField, Permission } from '#lib/tokens/schema.ts'
import { activeTokenCondition } from '#lib/tokens/status.ts'

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
export async function restrictToParent(
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
