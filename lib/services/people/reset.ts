import { setTimeout as sleep } from 'node:timers/promises'
import { type Actor, recordAudit } from '#lib/base/audit/record.ts'
import { db } from '#lib/base/db/client.ts'
import { transaction } from '#lib/base/db/transaction.ts'
import { invalidInput, refuse, type TrocoError } from '#lib/base/errors.ts'
import { canMail, queueMail } from '#lib/services/mail/queue.ts'
import {
  closeChallenge,
  openChallenge,
  readChallenge,
  tryChallenge,
} from '#lib/services/people/challenge.ts'
import { tellOfPassword } from '#lib/services/people/change-password.ts'
import { requireGoodPassword } from '#lib/services/people/common-passwords.ts'
import { hashPassword } from '#lib/services/people/password.ts'
import { type ResetAnswer, requireEmail } from '#lib/services/people/schema.ts'
import { endSessionsOf } from '#lib/services/people/sessions.ts'
import { count, requireFew } from '#lib/services/people/throttle.ts'

/** Minimum response time: longer than the work, so that it does not reveal a registered e-mail. */
const ANSWERS_AFTER_MS = 300

/**
 * Mails a reset link to the user with this e-mail. Without such a user, response and time are the
 * same; only too many requests from one IP address fail.
 */
export async function askReset(text: string, address: string): Promise<void> {
  const email = requireEmail(text)
  await requireFew([['reset_address', address]])
  const [done] = await Promise.allSettled([sendLink(email), sleep(ANSWERS_AFTER_MS)])
  if (done.status === 'rejected') throw done.reason
}

async function sendLink(email: string): Promise<void> {
  if ((await count([['reset', email]])) !== null || !canMail()) return
  const person = await db().user.findUnique({ where: { email } })
  if (!person || person.disabledAt) return
  const path = await openReset(person.id)
  await transaction(tx => queueMail(tx, person, { kind: 'passwordReset', path }))
}

/** Returns a reset link for the operator to pass on. The audit records who made it. */
export async function openResetFor(text: string, actor: Actor): Promise<string> {
  const person = await db().user.findUnique({ where: { email: requireEmail(text) } })
  if (!person) throw invalidInput('email', 'does not belong to a user')
  if (person.disabledAt) throw invalidInput('email', 'belongs to a disabled user')
  const path = await openReset(person.id)
  const action = 'user.reset_link_made'
  await transaction(tx => recordAudit(tx, { actor, action, target: person.id }))
  return path
}

/** Returns the path of a reset page that works once, within an hour. */
async function openReset(userId: string): Promise<string> {
  return `/reset/${await openChallenge('password_reset', { userId })}`
}

/** Returns the e-mail of the user a link is for; null if it was used or has expired. */
export async function findReset(secret: string): Promise<string | null> {
  const { userId } = (await readChallenge('password_reset', secret)) ?? {}
  const person = userId ? await db().user.findUnique({ where: { id: userId } }) : null
  return person && !person.disabledAt ? person.email : null
}

/** Stores the new password and ends every session. Second factors remain required. */
export async function confirmReset({ secret, password }: ResetAnswer): Promise<void> {
  const { userId } = (await tryChallenge('password_reset', secret)) ?? {}
  const person = userId ? await db().user.findUnique({ where: { id: userId } }) : null
  if (!person || person.disabledAt) throw ended()
  await requireGoodPassword(password, person)
  const passwordHash = await hashPassword(password)
  await transaction(async tx => {
    if (!(await closeChallenge(secret, tx))) throw ended()
    const data = { passwordHash, passwordChangedAt: new Date() }
    await tx.user.update({ where: { id: person.id }, data })
    await endSessionsOf(tx, person.id)
    await tellOfPassword(tx, person.id, 'user.password_reset')
  })
}

function ended(): TrocoError {
  return refuse('link_expired')
}
