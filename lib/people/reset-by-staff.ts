import { type Actor, recordAudit } from '#lib/audit/record.ts'
import { refuse } from '#lib/core/errors.ts'
import { isUuid } from '#lib/core/ids.ts'
import type { Tx } from '#lib/db/client.ts'
import { transaction } from '#lib/db/client.ts'
import { canSendMail, queueMail } from '#lib/mail/queue.ts'
import { noteReset } from '#lib/people/admins.ts'
import { listFactors } from '#lib/people/factors.ts'
import { createResetPath } from '#lib/people/reset.ts'
import { endSessionsOf } from '#lib/people/sessions.ts'

/**
 * Mails the user a link for a new password, which staff never sees. The password changes only when
 * the user opens it: docs/decisions/022.
 */
export async function mailResetLink(userId: string, reason: string, actor: Actor): Promise<void> {
  if (!canSendMail())
    throw refuse('not_supported', 'There is no mail server: `user reset` prints a link')
  await transaction(async tx => {
    const user = await lockResettable(tx, userId)
    const path = await createResetPath(user.id, undefined, tx)
    await noteReset(tx, user.id, actor)
    const action = 'user.reset_link_mailed'
    await recordAudit(tx, { actor, action, target: user.id, reason })
    await queueMail(tx, user, { kind: 'passwordResetByStaff', path, reason })
  })
}

/**
 * Removes every second factor, ends all sessions and pending sign-ins, and mails the user. The
 * password stays required. Returns false if there is no second factor, as in a second call.
 */
export function resetSecondFactor(userId: string, reason: string, actor: Actor): Promise<boolean> {
  return transaction(async tx => {
    const user = await lockResettable(tx, userId)
    const factors = await listFactors(user.id, tx)
    if (factors.length === 0) return false
    await tx.authenticator.deleteMany({ where: { userId } })
    await tx.passkey.deleteMany({ where: { userId } })
    await tx.recoveryCode.deleteMany({ where: { userId } })
    await endSessionsOf(tx, userId)
    // A link for a new password stays valid: a person who lost both needs both.
    await tx.challenge.deleteMany({ where: { userId, kind: { not: 'password_reset' } } })
    await tx.user.update({ where: { id: userId }, data: { devicesEndedAt: new Date() } })
    await noteReset(tx, userId, actor)
    const action = 'user.second_factor_reset'
    await recordAudit(tx, { actor, action, target: userId, reason, before: { factors } })
    await queueMail(tx, user, { kind: 'secondFactorReset', at: new Date(), reason })
    return true
  })
}

/** Locks the user against sign-ins. Admins are refused: one of them alone must not open another's way in. */
async function lockResettable(tx: Tx, userId: string) {
  if (!isUuid(userId)) throw refuse('user_not_found')
  await tx.$queryRaw`SELECT FROM users WHERE id = ${userId}::uuid FOR UPDATE`
  const user = await tx.user.findUnique({ where: { id: userId } })
  if (!user) throw refuse('user_not_found')
  if (user.isAdmin) throw refuse('admin_reset_refused')
  if (user.disabledAt) throw refuse('not_supported', 'This user is disabled')
  return user
}
