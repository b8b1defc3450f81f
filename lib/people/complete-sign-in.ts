import { recordAudit } from '#lib/audit/record.ts'
import { transaction } from '#lib/db/client.ts'
import type { CodeKind } from '#lib/people/second-factor.ts'
import { requireWithinLimit } from '#lib/people/throttle.ts'

type SignInMethod = 'password' | 'passkey' | 'oidc' | CodeKind

/**
 * Completes and audits a sign-in. Returns null if the user was disabled meanwhile. Limited only
 * now, so that whoever lacks the password or the second factor cannot use up the limit.
 */
export async function completeSignIn(id: string, method: SignInMethod) {
  await requireWithinLimit([['sign_in', id]])
  return transaction(async tx => {
    const user = await tx.user.findFirst({ where: { id, disabledAt: null } })
    if (!user) return null
    const actor = { type: 'user', id } as const
    await recordAudit(tx, { actor, action: 'user.signed_in', target: id, after: { by: method } })
    return { id, email: user.email, name: user.name }
  })
}
