import { type Actor, personOf, recordAudit } from '#lib/audit/record.ts'
import { invalidInput, refuse } from '#lib/core/errors.ts'
import { newId } from '#lib/core/ids.ts'
import { db, type Tx, transaction } from '#lib/db/client.ts'
import { queueMail } from '#lib/mail/queue.ts'
import {
  attemptChallenge,
  closeChallenge,
  closeChallengesOf,
  openChallenge,
} from '#lib/people/factors.ts'
import { type ProfileChange, requireEmail, type User } from '#lib/people/schema.ts'
import { endSessionsOf } from '#lib/people/sessions.ts'
import { requireWithinLimit } from '#lib/people/throttle.ts'

interface NewUser {
  id?: string
  email: string
  name?: string
  passwordHash: string
  isAdmin: boolean
  /** How the address was proven; absent if it is not. */
  verifiedBy?: EmailProof
}

export function registerUser(newUser: NewUser, actor: Actor): Promise<User> {
  return transaction(tx => addUser(tx, newUser, actor))
}

/** Registers a user within the caller's transaction. Fails if the e-mail is taken. */
export async function addUser(tx: Tx, newUser: NewUser, actor: Actor): Promise<User> {
  const email = requireEmail(newUser.email)
  const { id = newId(), name = '', verifiedBy, ...columns } = newUser
  const proof = verifiedBy && verifiedColumns(verifiedBy)
  const data = {
    ...columns,
    ...proof,
    id,
    email,
    name: name.trim() || email,
    ...(newUser.isAdmin && { adminSince: new Date(), adminBy: personOf(actor) }),
  }
  const { count } = await tx.user.createMany({ data, skipDuplicates: true })
  if (count === 0) throw invalidInput('email', 'already belongs to another user')
  const after = { admin: newUser.isAdmin }
  await recordAudit(tx, { actor, action: 'user.created', target: id, after })
  return { id }
}

/** Registers a user if the e-mail is unknown. Changes no existing user. */
export async function findOrRegister(
  tx: Tx,
  newUser: { email: string; passwordHash?: string },
): Promise<User & { isNew: boolean }> {
  const email = requireEmail(newUser.email)
  const data = { id: newId(), email, name: email, passwordHash: newUser.passwordHash }
  // Not upsert, which reads first: two concurrent calls would both insert.
  const { count } = await tx.user.createMany({ data, skipDuplicates: true })
  const user = await tx.user.findUniqueOrThrow({ where: { email } })
  return { id: user.id, isNew: count === 1 }
}

/** How an address was proven. `operator`: by a link of the command line. */
type EmailProof = 'sign_up' | 'invitation' | 'reset' | 'link' | 'openid' | 'operator'

/** Turns the user's pending memberships into memberships, in the transaction of the proof. */
export type AdmitPending = (tx: Tx, userId: string) => Promise<void>

/** Returns the columns of a user whose address is proven. */
export function verifiedColumns(by: EmailProof) {
  return { emailVerifiedAt: new Date(), emailVerifiedBy: by, isEmailVerified: true }
}

/** Stores the first proof. Returns false if the address was proven before. */
export async function proveEmail(
  tx: Tx,
  userId: string,
  by: EmailProof,
  admitPending: AdmitPending,
): Promise<boolean> {
  const where = { id: userId, isEmailVerified: false }
  const { count } = await tx.user.updateMany({ where, data: verifiedColumns(by) })
  if (count === 0) return false
  const entry = { action: 'user.email_verified', target: userId, after: { by } }
  await recordAudit(tx, { actor: { type: 'user', id: userId }, ...entry })
  await admitPending(tx, userId)
  return true
}

/**
 * Stores a proof that comes with no session of the user. The first one removes every credential,
 * because a stranger may have registered the address. Only the operator registers admins, with a
 * password that only the operator knows: no credential of theirs is a stranger's, all remain.
 */
export async function proveFromOutside(
  tx: Tx,
  userId: string,
  by: EmailProof,
  admitPending: AdmitPending,
): Promise<boolean> {
  if (!(await proveEmail(tx, userId, by, admitPending))) return false
  const { isAdmin } = await tx.user.findUniqueOrThrow({ where: { id: userId } })
  if (!isAdmin) await removeCredentials(tx, userId)
  return true
}

async function removeCredentials(tx: Tx, userId: string): Promise<void> {
  const data = { passwordHash: null, passwordChangedAt: new Date() }
  await tx.user.update({ where: { id: userId }, data })
  await tx.authenticator.deleteMany({ where: { userId } })
  await tx.passkey.deleteMany({ where: { userId } })
  await tx.recoveryCode.deleteMany({ where: { userId } })
  await endSessionsOf(tx, userId)
  await closeChallengesOf(tx, userId)
}

/** Mails a link that proves the address of a signed-in user. */
export async function requestEmailLink({ id }: { id: string }): Promise<void> {
  const user = await db().user.findUniqueOrThrow({ where: { id } })
  if (user.isEmailVerified) return
  await requireWithinLimit([['email_link', user.email]])
  const path = `/verify/${await openChallenge('email', { userId: id })}`
  await transaction(tx => queueMail(tx, user, { kind: 'emailLink', path }))
}

/**
 * Only the signed-in user of the link proves the address. Otherwise a stranger who set the password
 * would gain from a click in the mailbox; its owner takes the sign-in over with a reset link instead.
 */
export async function confirmEmail(
  { id }: { id: string },
  secret: string,
  admitPending: AdmitPending,
): Promise<void> {
  const challenge = await attemptChallenge('email', secret)
  if (challenge?.userId !== id) throw refuse('link_expired')
  await transaction(async tx => {
    if (!(await closeChallenge(secret, tx))) throw refuse('link_expired')
    await proveEmail(tx, id, 'link', admitPending)
  })
}

export function updateProfile(
  actor: Actor & { type: 'user' },
  { full_name, locale, theme }: ProfileChange,
) {
  const { id } = actor
  return transaction(async tx => {
    const { name: before } = await tx.user.findUniqueOrThrow({ where: { id } })
    const row = await tx.user.update({ where: { id }, data: { name: full_name, locale, theme } })
    if (row.name !== before) {
      const names = { before: { name: before }, after: { name: row.name } }
      await recordAudit(tx, { actor, action: 'user.updated', target: id, ...names })
    }
    return { id, email: row.email, full_name: row.name, locale: row.locale, theme: row.theme }
  })
}
