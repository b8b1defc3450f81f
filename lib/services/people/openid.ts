import { recordAudit } from '#lib/base/audit/record.ts'
import { db } from '#lib/base/db/client.ts'
import { transaction } from '#lib/base/db/transaction.ts'
import { normalizeEmail } from '#lib/base/email.ts'
import { closeChallengesOf } from '#lib/services/people/challenge.ts'
import { endSessionsOf } from '#lib/services/people/sessions.ts'

/** Claims of an OpenID provider about a user; their types are unchecked. */
export interface Claims {
  iss?: unknown
  sub?: unknown
  email?: unknown
  email_verified?: unknown
}

export type OpenidOutcome = { userId: string } | { refusal: 'unknown' | 'unverified' }

const UNKNOWN_USER = { refusal: 'unknown' } as const

/**
 * Finds the user linked to this subject, or links the user with the verified e-mail; creates none.
 * Linking removes the password and all sessions: someone else may have registered the e-mail.
 */
export async function findByOpenid({ iss, sub, ...claims }: Claims): Promise<OpenidOutcome> {
  if (typeof iss !== 'string' || typeof sub !== 'string' || sub === '') return UNKNOWN_USER
  const oidcSubject = `${iss}|${sub}`
  const linked = await findLinkedUser(oidcSubject)
  if (linked) return linked
  if (claims.email_verified !== true) return { refusal: 'unverified' }
  const email = normalizeEmail(String(claims.email ?? ''))
  if (!email) return UNKNOWN_USER
  return transaction(async tx => {
    const { count } = await tx.user.updateMany({
      where: { email, disabledAt: null, oidcSubject: null },
      data: { oidcSubject, passwordHash: null },
    })
    // A concurrent sign-in may have linked the user just before.
    if (count === 0) return (await findLinkedUser(oidcSubject)) ?? UNKNOWN_USER
    const { id } = await tx.user.findUniqueOrThrow({ where: { email } })
    await endSessionsOf(tx, id)
    await closeChallengesOf(tx, id)
    const actor = { type: 'user', id } as const
    await recordAudit(tx, { actor, action: 'user.openid_linked', target: id, after: { by: iss } })
    return { userId: id }
  })
}

async function findLinkedUser(oidcSubject: string): Promise<OpenidOutcome | null> {
  const user = await db().user.findUnique({ where: { oidcSubject } })
  if (!user) return null
  return user.disabledAt ? UNKNOWN_USER : { userId: user.id }
}
