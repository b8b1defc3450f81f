import { recordAudit } from '#lib/base/audit/record.ts'
import { transaction } from '#lib/base/db/transaction.ts'
import type { CodeKind } from '#lib/services/people/second-factor.ts'

/** By what somebody signed in: the last thing that they were asked for. */
type SignedInBy = 'password' | 'passkey' | 'oidc' | CodeKind

/** The last look at who it is: a person who was disabled meanwhile does not come in. */
export function letIn(id: string, by: SignedInBy) {
  return transaction(async tx => {
    const user = await tx.user.findFirst({ where: { id, disabledAt: null } })
    if (!user) return null
    const actor = { type: 'user', id } as const
    await recordAudit(tx, { actor, action: 'user.signed_in', target: id, after: { by } })
    return { id, email: user.email, name: user.name }
  })
}
