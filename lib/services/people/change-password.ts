import { recordAudit } from '#lib/base/audit/record.ts'
import { db, type Tx } from '#lib/base/db/client.ts'
import { transaction } from '#lib/base/db/transaction.ts'
import { invalidInput } from '#lib/base/errors.ts'
import { contextNow } from '#lib/base/log.ts'
import { queueMail } from '#lib/services/mail/queue.ts'
import { closeChallengesOf } from '#lib/services/people/challenge.ts'
import { requireGoodPassword } from '#lib/services/people/common-passwords.ts'
import { hashPassword, isOutdated, isPassword } from '#lib/services/people/password.ts'
import type { PasswordChange } from '#lib/services/people/schema.ts'
import { endSessionsOf } from '#lib/services/people/sessions.ts'
import { forgive, requireFew } from '#lib/services/people/throttle.ts'

interface Changer {
  id: string
  email: string
  name: string
  sessionId: string
}

/** Replaces the password of a user who gives the current one. Ends their other sessions. */
export async function changePassword(user: Changer, wanted: PasswordChange): Promise<void> {
  // Throttle first: estimating the strength of a password blocks the event loop.
  await requireFew([['person', user.id]])
  await requireGoodPassword(wanted.password, user)
  const { passwordHash: before } = await db().user.findUniqueOrThrow({ where: { id: user.id } })
  if (before !== null && !(await isPassword(wanted.current ?? '', before))) {
    throw invalidInput('current', 'does not match your password: enter it again')
  }
  await forgive([['person', user.id]])
  const hash = await hashPassword(wanted.password)
  await transaction(async tx => {
    // Of two concurrent changes only the first matches the old hash.
    const { count } = await tx.user.updateMany({
      where: { id: user.id, passwordHash: before },
      data: { passwordHash: hash, passwordChangedAt: new Date() },
    })
    if (count === 0) throw invalidInput('current', 'has just been changed: enter the new password')
    await endSessionsOf(tx, user.id, user.sessionId)
    await tellOfPassword(tx, user.id, 'user.password_changed')
  })
}

/** Ends pending sign-ins and resets after a password change, audits it and mails the user. */
export async function tellOfPassword(tx: Tx, userId: string, action: string): Promise<void> {
  await closeChallengesOf(tx, userId)
  await recordAudit(tx, { actor: { type: 'user', id: userId }, action, target: userId })
  const person = await tx.user.findUniqueOrThrow({ where: { id: userId } })
  const ip = contextNow().ip ?? null
  await queueMail(tx, person, { kind: 'passwordChanged', at: new Date(), ip })
}

/** Rehashes a password whose hash has outdated costs, unless the password changed meanwhile. */
export async function renewHash(
  { id, passwordHash }: { id: string; passwordHash: string | null },
  password: string,
): Promise<void> {
  if (passwordHash === null || !isOutdated(passwordHash)) return
  const data = { passwordHash: await hashPassword(password) }
  await db().user.updateMany({ where: { id, passwordHash }, data })
}

export async function hasPassword(userId: string): Promise<boolean> {
  const found = await db().user.findUniqueOrThrow({ where: { id: userId } })
  return found.passwordHash !== null
}
