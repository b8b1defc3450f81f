import { type Actor, recordAudit } from '#lib/audit/record.ts'
import { containsRange } from '#lib/core/address-range.ts'
import type { Mode } from '#lib/core/mode.ts'
import { transaction } from '#lib/db/client.ts'
import { requireAuthority } from '#lib/tokens/authority.ts'
import { lockParent, requireConfirmed, restrictAddresses } from '#lib/tokens/child.ts'
import { lockActiveToken } from '#lib/tokens/lock.ts'
import { lockAccount } from '#lib/webhooks/owner.ts'

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
