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

/** Writes one that holds in place of what was open, and answers the path of its link. */
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

/** In their own language where they are known, else in that of whoever asks them. */
export async function recipientOf(tx: Tx, email: string, locale: string | null) {
  const known = await tx.user.findUnique({ where: { email }, select: { locale: true } })
  return { email, locale: known?.locale ?? locale }
}

/** Whoever comes second finds it taken: an invitation is used once, by the one whom it is for. */
export async function takeInvitation(tx: Tx, secret: string, email: string) {
  const [taken] = await tx.$queryRaw<{ accountId: string | null; role: string }[]>`
    UPDATE invitations i SET accepted_at = now()
    WHERE i.hash = ${hashSecret(secret)} AND i.email = ${email} AND i.accepted_at IS NULL
      AND i.revoked_at IS NULL AND i.expires_at > now() AND (i.account_id IS NULL
        OR EXISTS (SELECT FROM accounts a WHERE a.id = i.account_id AND a.status = 'active'))
    RETURNING i.account_id AS "accountId", i.role`
  if (taken) return taken
  const hash = hashSecret(secret)
  const found = await tx.invitation.findUnique({ where: { hash }, include: { account: true } })
  const isOpen = found && !found.acceptedAt && !found.revokedAt && found.expiresAt > new Date()
  if (!isOpen) throw invitationEnded()
  if (found.email !== email) throw otherPerson()
  throw refuse('account_not_active')
}

/** Before anything is said about this e-mail: who was sent none learns nothing of it. */
export async function requireRecipient(secret: string, email: string): Promise<void> {
  const found = await db().invitation.findUnique({ where: { hash: hashSecret(secret) } })
  if (!found) throw invitationEnded()
  if (found.email !== email) throw otherPerson()
}

function otherPerson(): TrocoError {
  return refuse('other_person')
}

export function invitationEnded(): TrocoError {
  return refuse('invitation_ended', 'This invitation holds no more: ask for a new one')
}
