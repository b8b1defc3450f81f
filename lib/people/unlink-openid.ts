import { type Actor, recordAudit } from '#lib/audit/record.ts'
import { invalidInput } from '#lib/core/errors.ts'
import { env } from '#lib/core/settings.ts'
import { transaction } from '#lib/db/client.ts'
import { queueMail } from '#lib/mail/queue.ts'
import { noteReset } from '#lib/people/admins.ts'
import { closeChallengesOf } from '#lib/people/challenge.ts'
import { issuerOf } from '#lib/people/openid.ts'
import { requireEmail } from '#lib/people/schema.ts'
import { endSessionsOf } from '#lib/people/sessions.ts'

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
