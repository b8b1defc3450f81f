import { type Actor, recordAudit } from '#lib/audit/record.ts'
import { invalidInput, parseDatabaseError, refuse } from '#lib/core/errors.ts'
import { normalizeEmail } from '#lib/core/fields.ts'
import { currentLogContext } from '#lib/core/log.ts'
import { env } from '#lib/core/settings.ts'
import { db, type Tx, transaction } from '#lib/db/client.ts'
import { queueMail } from '#lib/mail/queue.ts'
import { noteReset } from '#lib/people/approvers.ts'
import { closeChallengesOf, openChallenge } from '#lib/people/factors.ts'
import { requireEmail } from '#lib/people/schema.ts'
import { endSessionsOf } from '#lib/people/sessions.ts'
import { type AdmitPending, proveEmail, proveFromOutside } from '#lib/people/users.ts'

/** Claims of an OpenID provider about a user; their types are unchecked. */
export interface Claims {
  iss?: unknown
  sub?: unknown
  email?: unknown
  email_verified?: unknown
  /** When the user entered credentials at the provider. */
  auth_time?: unknown
}

export type OpenidOutcome = { userId: string } | { refusal: 'unknown' | 'unverified' | 'unlinked' }

const UNKNOWN_USER = { refusal: 'unknown' } as const

interface SignedInUser {
  id: string
  email: string
  isAdmin: boolean
  sessionId: string
}

/**
 * Finds the user linked to this subject; creates none. A user with this e-mail who never proved it is
 * linked, and loses every credential and session: a stranger may have set them. One who proved it,
 * and every admin, links the provider in the security settings.
 */
export async function findByOpenid(
  claims: Claims,
  admitPending: AdmitPending,
): Promise<OpenidOutcome> {
  const oidcSubject = subjectOf(claims)
  if (!oidcSubject) return UNKNOWN_USER
  const linked = await findLinkedUser(oidcSubject)
  if (linked) return linked
  if (claims.email_verified !== true) return { refusal: 'unverified' }
  const email = normalizeEmail(String(claims.email ?? ''))
  if (!email) return UNKNOWN_USER
  const where = { email, disabledAt: null, oidcSubject: null }
  const user = await db().user.findFirst({ where })
  if (!user) return (await findLinkedUser(oidcSubject)) ?? UNKNOWN_USER
  if (user.isAdmin) return { refusal: 'unlinked' }
  return transaction(async tx => {
    // A concurrent sign-in may have linked the user just before, or a link proved the address.
    if (!(await proveFromOutside(tx, user.id, 'openid', admitPending))) {
      return (await findLinkedUser(oidcSubject, tx)) ?? { refusal: 'unlinked' }
    }
    await link(tx, user.id, oidcSubject)
    return { userId: user.id }
  })
}

/** Allows this session to link the provider, for five minutes. */
export async function requestOpenidLink({ id, sessionId }: SignedInUser): Promise<void> {
  const { isEmailVerified, isAdmin } = await db().user.findUniqueOrThrow({ where: { id } })
  if (!isEmailVerified && !isAdmin) throw refuse('email_unverified')
  await openChallenge('openid', { userId: id, value: sessionId })
}

/**
 * Links the provider to a signed-in user who requested it, and mails them. Null: not requested. For
 * an admin this may be the first proof of the address: no stranger holds a session of an admin.
 */
export async function linkOpenid(
  user: SignedInUser,
  claims: Claims,
  admitPending: AdmitPending,
): Promise<'linked' | 'refused' | null> {
  const isRequested = await db().$executeRaw`
    DELETE FROM challenges WHERE kind = 'openid' AND user_id = ${user.id}::uuid
      AND value = ${user.sessionId} AND expires_at > now()`
  if (isRequested === 0) return null
  const oidcSubject = subjectOf(claims)
  const isOwn =
    claims.email_verified === true && normalizeEmail(String(claims.email ?? '')) === user.email
  if (!oidcSubject || !isOwn) return 'refused'
  return transaction(async tx => {
    if (user.isAdmin) await proveEmail(tx, user.id, 'openid', admitPending)
    await link(tx, user.id, oidcSubject)
    return 'linked' as const
  }).catch(error => {
    const isTaken = parseDatabaseError(error).constraint === 'users_oidc_subject_key'
    if (isTaken || error instanceof AlreadyLinked) return 'refused' as const
    throw error
  })
}

class AlreadyLinked extends Error {}

async function link(tx: Tx, id: string, oidcSubject: string): Promise<void> {
  const where = { id, oidcSubject: null, disabledAt: null, isEmailVerified: true }
  const { count } = await tx.user.updateMany({ where, data: { oidcSubject } })
  if (count === 0) throw new AlreadyLinked()
  const actor = { type: 'user', id } as const
  const after = { by: issuerOf(oidcSubject) }
  await recordAudit(tx, { actor, action: 'user.openid_linked', target: id, after })
  const user = await tx.user.findUniqueOrThrow({ where: { id } })
  const ip = currentLogContext().ip ?? null
  const provider = env().OIDC_NAME
  await queueMail(tx, user, { kind: 'openidLinked', at: new Date(), ip, provider })
}

export async function hasOpenid(id: string): Promise<boolean> {
  return (await db().user.findUniqueOrThrow({ where: { id } })).oidcSubject !== null
}

function subjectOf({ iss, sub }: Claims): string | null {
  return typeof iss === 'string' && typeof sub === 'string' && sub !== '' ? `${iss}|${sub}` : null
}

/** Returns the issuer of a stored subject, which subjectOf wrote. */
export function issuerOf(oidcSubject: string): string {
  return oidcSubject.slice(0, oidcSubject.indexOf('|'))
}

async function findLinkedUser(
  oidcSubject: string,
  database: Pick<Tx, 'user'> = db(),
): Promise<{ userId: string } | typeof UNKNOWN_USER | null> {
  const user = await database.user.findUnique({ where: { oidcSubject } })
  if (!user) return null
  return user.disabledAt ? UNKNOWN_USER : { userId: user.id }
}

/**
 * Disconnects the OpenID provider of a user, ends all sessions, pending sign-ins and links, and mails
 * the user. Other credentials stay; a user without a password gets one by a reset. A second call is
 * refused: no provider is connected.
 */
export function unlinkOpenid(
  text: string,
  actor: Actor,
): Promise<{ id: string; hasPassword: boolean }> {
  const email = requireEmail(text)
  return transaction(async tx => {
    // Locks the user: a concurrent sign-in opens its session before this, or is refused after it.
    await tx.$queryRaw`SELECT FROM users WHERE email = ${email} FOR UPDATE`
    const user = await tx.user.findUnique({ where: { email } })
    if (!user) throw invalidInput('email', 'does not belong to a user')
    const { id, oidcSubject } = user
    if (oidcSubject === null)
      throw invalidInput('email', 'belongs to a user who has connected no OpenID provider')
    const data = { oidcSubject: null, devicesEndedAt: new Date() }
    await tx.user.update({ where: { id }, data })
    await noteReset(tx, id, actor)
    await endSessionsOf(tx, id)
    await closeChallengesOf(tx, id)
    const before = { by: issuerOf(oidcSubject) }
    await recordAudit(tx, { actor, action: 'user.openid_unlinked', target: id, before })
    const provider = env().OIDC_NAME
    await queueMail(tx, user, { kind: 'openidUnlinked', at: new Date(), provider })
    return { id, hasPassword: user.passwordHash !== null }
  })
}
