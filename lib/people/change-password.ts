import { recordAudit } from '#lib/audit/record.ts'
import { invalidInput } from '#lib/core/errors.ts'
import { currentLogContext } from '#lib/core/log.ts'
import { db, type Tx, transaction } from '#lib/db/client.ts'
import { queueMail } from '#lib/mail/queue.ts'
import { closeChallengesOf } from '#lib/people/challenge.ts'
import { requireGoodPassword } from '#lib/people/common-passwords.ts'
import { endFactorDelay } from '#lib/people/factor-attempts.ts'
import { hashPassword, isHashOutdated, knownCaller, verifyPassword } from '#lib/people/password.ts'
import type { PasswordChange } from '#lib/people/schema.ts'
import { endSessionsOf, requireActiveSession } from '#lib/people/sessions.ts'
import { requireWithinLimit, uncountAttempt } from '#lib/people/throttle.ts'

interface PasswordOwner {
  id: string
  email: string
  name: string
  sessionId: string
}

/** Verifies the current password, and ends the user's other sessions. */
export async function changePassword(user: PasswordOwner, change: PasswordChange): Promise<void> {
  // Throttle first: estimating the strength of a password blocks the event loop.
  await requireWithinLimit([['person', user.id]])
  await requireGoodPassword(change.password, user)
  const { passwordHash: currentHash } = await db().user.findUniqueOrThrow({
    where: { id: user.id },
  })
  const caller = knownCaller(user.id)
  if (currentHash !== null && !(await verifyPassword(change.current ?? '', currentHash, caller))) {
    throw invalidInput('current', 'does not match your password: enter it again')
  }
  await uncountAttempt([['person', user.id]])
  const hash = await hashPassword(change.password, caller)
  await transaction(async tx => {
    // Of two concurrent changes only the first matches the old hash.
    const { count } = await tx.user.updateMany({
      where: { id: user.id, passwordHash: currentHash },
      data: { passwordHash: hash, passwordChangedAt: new Date() },
    })
    if (count === 0) throw invalidInput('current', 'has just been changed: enter the new password')
    await requireActiveSession(tx, user.sessionId)
    await endSessionsOf(tx, user.id, user.sessionId)
    await finishPasswordChange(tx, user.id, 'user.password_changed')
  })
}

/** Ends pending sign-ins and resets, audits the change and mails the user. */
export async function finishPasswordChange(tx: Tx, userId: string, action: string): Promise<void> {
  await closeChallengesOf(tx, userId)
  await endFactorDelay(tx, userId)
  await recordAudit(tx, { actor: { type: 'user', id: userId }, action, target: userId })
  const user = await tx.user.findUniqueOrThrow({ where: { id: userId } })
  const ip = currentLogContext().ip ?? null
  await queueMail(tx, user, { kind: 'passwordChanged', at: new Date(), ip })
}

/** Rehashes a password whose hash has outdated costs, unless the password changed meanwhile. */
export async function rehashIfOutdated(
  { id, passwordHash }: { id: string; passwordHash: string | null },
  password: string,
): Promise<void> {
  if (passwordHash === null || !isHashOutdated(passwordHash)) return
  const data = { passwordHash: await hashPassword(password, knownCaller(id)) }
  await db().user.updateMany({ where: { id, passwordHash }, data })
}

export async function hasPassword(userId: string): Promise<boolean> {
  const user = await db().user.findUniqueOrThrow({ where: { id: userId } })
  return user.passwordHash !== null
}
