import type { Actor } from '#lib/audit/record.ts'
import { refuse } from '#lib/core/errors.ts'
import type { Mode } from '#lib/core/mode.ts'
import { transaction } from '#lib/db/client.ts'
import { assignIssuer, canAdopt, requireAuthority } from '#lib/tokens/authority.ts'
import { lockActiveToken } from '#lib/tokens/lock.ts'
import { lockAccount } from '#lib/webhooks/owner.ts'

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
