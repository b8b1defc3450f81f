import { db, type Tx } from '#lib/base/db/client.ts'
import { refuse, type TrocoError } from '#lib/base/errors.ts'
import { INVITATION_DAYS } from '#lib/rooms/accounts/schema.ts'
import { hashSecret, newSecret } from '#lib/services/people/secret.ts'

const DAY_MS = 86_400_000

interface NewInvitation {
  id: string
  accountId: string | null
  email: string
  role: string
  invitedBy: string
}

/** Revokes open invitations for the same e-mail. Returns the path of the new link. */
export async function replaceInvitation(tx: Tx, row: NewInvitation): Promise<string> {
  const { accountId, email } = row
  await tx.invitation.updateMany({
    where: { accountId, email, acceptedAt: null, revokedAt: null },
    data: { revokedAt: new Date() },
  })
  const secret = newSecret()
  const expiresAt = new Date(Date.now() + INVITATION_DAYS * DAY_MS)
  await tx.invitation.create({ data: { ...row, hash: hashSecret(secret), expiresAt } })
  return `/join/${secret}`
}

/** Returns the recipient of a mail, in the user's own language, else in `locale`. */
export async function recipientOf(tx: Tx, email: string, locale: string | null) {
  const user = await tx.user.findUnique({ where: { email }, select: { locale: true } })
  return { email, locale: user?.locale ?? locale }
}

interface AcceptedInvitation {
  accountId: string | null
  role: string
  invitedBy: string | null
}

/** Accepts an open invitation for this e-mail. Of concurrent calls, only one succeeds. */
export async function acceptInvitation(tx: Tx, secret: string, email: string) {
  const [accepted] = await tx.$queryRaw<AcceptedInvitation[]>`
    UPDATE invitations i SET accepted_at = now()
    WHERE i.hash = ${hashSecret(secret)} AND i.email = ${email} AND i.accepted_at IS NULL
      AND i.revoked_at IS NULL AND i.expires_at > now() AND (i.account_id IS NULL
        OR EXISTS (SELECT FROM accounts a WHERE a.id = i.account_id AND a.status = 'active'))
    RETURNING i.account_id AS "accountId", i.role, i.invited_by AS "invitedBy"`
  if (accepted) return accepted
  const hash = hashSecret(secret)
  const invitation = await tx.invitation.findUnique({ where: { hash }, include: { account: true } })
  const isOpen =
    invitation &&
    !invitation.acceptedAt &&
    !invitation.revokedAt &&
    invitation.expiresAt > new Date()
  if (!isOpen) throw invitationEnded()
  if (invitation.email !== email) throw wrongRecipient()
  throw refuse('account_not_active')
}

/** Comes before other checks: a caller without invitation must learn nothing about the e-mail. */
export async function requireRecipient(secret: string, email: string): Promise<void> {
  const invitation = await db().invitation.findUnique({ where: { hash: hashSecret(secret) } })
  if (!invitation) throw invitationEnded()
  if (invitation.email !== email) throw wrongRecipient()
}

function wrongRecipient(): TrocoError {
  return refuse('other_person')
}

export function invitationEnded(): TrocoError {
  return refuse('invitation_ended', 'This invitation is no longer valid: ask for a new one')
}
