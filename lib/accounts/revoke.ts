import { type Actor, recordAudit } from '#lib/audit/record.ts'
import { refuse } from '#lib/core/errors.ts'
import { isUuid } from '#lib/core/ids.ts'
import { transaction } from '#lib/db/client.ts'

/** Invalidates an invitation's link. A null account means an invitation by the operator. */
export function revokeInvitation(
  accountId: string | null,
  id: string,
  actor: Actor,
): Promise<void> {
  return transaction(async tx => {
    const where = { id, accountId, acceptedAt: null, revokedAt: null }
    const { count } = isUuid(id)
      ? await tx.invitation.updateMany({ where, data: { revokedAt: new Date() } })
      : { count: 0 }
    if (count === 0) throw refuse('invitation_not_found')
    const ofAccount = accountId === null ? {} : { accountId }
    await recordAudit(tx, { actor, action: 'invitation.revoked', ...ofAccount, target: id })
  })
}
