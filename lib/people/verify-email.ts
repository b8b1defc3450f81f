import { refuse } from '#lib/core/errors.ts'
import { db, transaction } from '#lib/db/client.ts'
import { queueMail } from '#lib/mail/queue.ts'
import { attemptChallenge, closeChallenge, openChallenge } from '#lib/people/challenge.ts'
import { type AdmitPending, proveEmail } from '#lib/people/prove-email.ts'
import { requireWithinLimit } from '#lib/people/throttle.ts'

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
