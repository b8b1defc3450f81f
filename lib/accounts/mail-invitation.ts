import {
  findBySecret,
  invitationEnded,
  isInvitationOpen,
  recipientOf,
} from '#lib/accounts/invitations.ts'
import type { Role } from '#lib/accounts/schema.ts'
import { hashSecret, newSecret } from '#lib/core/keys.ts'
import { db, transaction } from '#lib/db/client.ts'
import { queueMail } from '#lib/mail/queue.ts'
import { countAttempt } from '#lib/people/throttle.ts'

/**
 * Mails a new link to the invited e-mail, for a visitor with the link that the inviter was shown. The
 * earlier mailed link ends. Too many mails to one address are dropped without a word.
 */
export async function mailInvitation(secret: string): Promise<void> {
  const invitation = await findBySecret(secret)
  if (!invitation || !isInvitationOpen(invitation)) throw invitationEnded()
  const { id, email, accountId } = invitation
  if ((await countAttempt([['invitation_mail', email]])) !== null) return
  const [account, inviter] = await Promise.all([
    accountId && db().account.findUniqueOrThrow({ where: { id: accountId } }),
    invitation.invitedBy && db().user.findUnique({ where: { id: invitation.invitedBy } }),
  ])
  const mailedSecret = newSecret()
  const path = `/join/${mailedSecret}`
  await transaction(async tx => {
    const where = { id, acceptedAt: null, revokedAt: null }
    const data = { mailedHash: hashSecret(mailedSecret) }
    if ((await tx.invitation.updateMany({ where, data })).count === 0) throw invitationEnded()
    const to = await recipientOf(tx, email, inviter ? inviter.locale : null)
    const role = invitation.role as Role
    const names = { account: account ? account.name : '', inviter: inviter ? inviter.name : '' }
    await queueMail(
      tx,
      to,
      account ? { kind: 'invitation', ...names, role, path } : { kind: 'opening', path },
    )
  })
}
