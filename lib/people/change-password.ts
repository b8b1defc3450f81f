import { setTimeout as sleep } from 'node:timers/promises'
import { type Actor, recordAudit } from '#lib/audit/record.ts'
import { invalidInput, refuse, type TrocoError } from '#lib/core/errors.ts'
import { isUuid } from '#lib/core/ids.ts'
import { currentLogContext } from '#lib/core/log.ts'
import { db, type Tx, transaction } from '#lib/db/client.ts'
import { canSendMail, queueMail } from '#lib/mail/queue.ts'
import { noteReset } from '#lib/people/approvers.ts'
import {
  attemptChallenge,
  closeChallenge,
  closeChallengesOf,
  openChallenge,
  readChallenge,
} from '#lib/people/challenge.ts'
import { listFactors } from '#lib/people/factors.ts'
import {
  hashPassword,
  isHashOutdated,
  knownCaller,
  requireGoodPassword,
  verifyPassword,
} from '#lib/people/password.ts'
import { type PasswordChange, type ResetConfirmation, requireEmail } from '#lib/people/schema.ts'
import { endSessionsOf, requireActiveSession } from '#lib/people/sessions.ts'
import {
  countAttempt,
  endFactorDelay,
  requireWithinLimit,
  uncountAttempt,
} from '#lib/people/throttle.ts'
import { type AdmitPending, proveFromOutside } from '#lib/people/users.ts'

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
async function finishPasswordChange(tx: Tx, userId: string, action: string): Promise<void> {
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
      passwordHash,
      passwordChangedAt: new Date(),
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
