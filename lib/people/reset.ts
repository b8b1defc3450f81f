import { setTimeout as sleep } from 'node:timers/promises'
import { type Actor, recordAudit } from '#lib/audit/record.ts'
import { invalidInput, refuse, type TrocoError } from '#lib/core/errors.ts'
import { db, type Tx, transaction } from '#lib/db/client.ts'
import { canSendMail, queueMail } from '#lib/mail/queue.ts'
import { noteReset } from '#lib/people/admins.ts'
import {
  attemptChallenge,
  closeChallenge,
  openChallenge,
  readChallenge,
} from '#lib/people/challenge.ts'
import { finishPasswordChange } from '#lib/people/change-password.ts'
import { requireGoodPassword } from '#lib/people/common-passwords.ts'
import { hashPassword, knownCaller } from '#lib/people/password.ts'
import { type AdmitPending, proveFromOutside } from '#lib/people/prove-email.ts'
import { type ResetConfirmation, requireEmail } from '#lib/people/schema.ts'
import { endSessionsOf } from '#lib/people/sessions.ts'
import { countAttempt, requireWithinLimit } from '#lib/people/throttle.ts'

/** Minimum response time, longer than the work: time must not reveal a registered e-mail. */
const RESPONSE_MIN_MS = 300
/** Value of the challenge of a link that the operator passes on; a mailed link has none. */
const OPERATOR_LINK = 'operator'

/** An unknown e-mail gets the same response and time; only too many requests from one IP fail. */
export async function requestReset(text: string, address: string): Promise<void> {
  const email = requireEmail(text)
  await requireWithinLimit([['reset_address', address]])
  const [mailing] = await Promise.allSettled([sendResetLink(email), sleep(RESPONSE_MIN_MS)])
  if (mailing.status === 'rejected') throw mailing.reason
}

async function sendResetLink(email: string): Promise<void> {
  if ((await countAttempt([['reset', email]])) !== null || !canSendMail()) return
  const user = await db().user.findUnique({ where: { email } })
  if (!user || user.disabledAt) return
  const path = await createResetPath(user.id)
  await transaction(tx => queueMail(tx, user, { kind: 'passwordReset', path }))
}

/** Returns the path of a link for the operator to pass on. The audit log records the creator. */
export async function createResetLink(text: string, actor: Actor): Promise<string> {
  const user = await db().user.findUnique({ where: { email: requireEmail(text) } })
  if (!user) throw invalidInput('email', 'does not belong to a user')
  if (user.disabledAt) throw invalidInput('email', 'belongs to a disabled user')
  const path = await createResetPath(user.id, OPERATOR_LINK)
  const action = 'user.reset_link_made'
  await transaction(async tx => {
    await noteReset(tx, user.id, actor)
    await recordAudit(tx, { actor, action, target: user.id })
  })
  return path
}

/** Returns the path of a reset page that works once, within an hour. */
export async function createResetPath(userId: string, value?: string, tx?: Tx): Promise<string> {
  return `/reset/${await openChallenge('password_reset', { userId, value }, tx)}`
}

/** Returns the e-mail of the user of a reset link; null if the link was used or has expired. */
export async function findResetEmail(secret: string): Promise<string | null> {
  const { userId } = (await readChallenge('password_reset', secret)) ?? {}
  const user = userId ? await db().user.findUnique({ where: { id: userId } }) : null
  return user && !user.disabledAt ? user.email : null
}

/**
 * Stores the new password and ends every session. Second factors remain required, unless the link is
 * the first proof of the address of a user who is no admin. Returns the user.
 */
export async function confirmReset(
  { secret, password }: ResetConfirmation,
  admitPending: AdmitPending,
): Promise<string> {
  const { userId, value } = (await attemptChallenge('password_reset', secret)) ?? {}
  const user = userId ? await db().user.findUnique({ where: { id: userId } }) : null
  if (!user || user.disabledAt) throw linkExpired()
  await requireGoodPassword(password, user)
  const passwordHash = await hashPassword(password, knownCaller(user.id))
  await transaction(async tx => {
    if (!(await closeChallenge(secret, tx))) throw linkExpired()
    const by = value === OPERATOR_LINK ? 'operator' : 'reset'
    await proveFromOutside(tx, user.id, by, admitPending)
    const isByOperator = value === OPERATOR_LINK
    const data = {
      ...{ passwordHash, passwordChangedAt: new Date() },
      ...(isByOperator && { resetAt: new Date() }),
    }
    await tx.user.update({ where: { id: user.id }, data })
    await endSessionsOf(tx, user.id)
    await finishPasswordChange(tx, user.id, 'user.password_reset')
  })
  return user.id
}

function linkExpired(): TrocoError {
  return refuse('link_expired')
}
