import { lockStatus } from '#lib/accounts/owners.ts'
import { INVITATION_DAYS } from '#lib/accounts/schema.ts'
import { refuse, type TrocoError } from '#lib/core/errors.ts'
import { hashSecret, isEqual, newSecret } from '#lib/core/keys.ts'
import { db, type Tx } from '#lib/db/client.ts'

const DAY_MS = 86_400_000

interface NewInvitation {
  id: string
  accountId: string | null
  email: string
  role: string
  invitedBy: string
}

interface InvitationPaths {
  /** Shown to the inviter. It does not prove the mailbox of the invited user. */
  path: string
  /** Sent to the invited user, and shown to nobody else: opening it proves the mailbox. */
  mailedPath: string
}

/** Revokes open invitations for the same e-mail. Returns the paths of the new links. */
export async function replaceInvitation(tx: Tx, row: NewInvitation): Promise<InvitationPaths> {
  const { accountId, email } = row
  await tx.invitation.updateMany({
    where: { accountId, email, acceptedAt: null, revokedAt: null },
    data: { revokedAt: new Date() },
  })
  const [secret, mailedSecret] = [newSecret(), newSecret()]
  const hashes = { hash: hashSecret(secret), mailedHash: hashSecret(mailedSecret) }
  const expiresAt = new Date(Date.now() + INVITATION_DAYS * DAY_MS)
  await tx.invitation.create({ data: { ...row, ...hashes, expiresAt } })
  return { path: `/join/${secret}`, mailedPath: `/join/${mailedSecret}` }
}

/** Returns the recipient of a mail, in the user's own language, else in `locale`. */
export async function recipientOf(tx: Tx, email: string, locale: string | null) {
  const user = await tx.user.findUnique({ where: { email }, select: { locale: true } })
  return { email, locale: user?.locale ?? locale }
}

/** Finds an invitation by the secret of either link; `isMailed` says by which. */
export async function findBySecret(secret: string, tx: Tx = db()) {
  const hash = hashSecret(secret)
  const where = { OR: [{ hash }, { mailedHash: hash }] }
  const invitation = await tx.invitation.findFirst({ where })
  if (!invitation) return null
  const { mailedHash } = invitation
  return { ...invitation, isMailed: mailedHash !== null && isEqual(mailedHash, hash) }
}

interface AcceptedInvitation {
  accountId: string | null
  role: string
  invitedBy: string | null
  isMailed: boolean
}

/** Accepts an open invitation for this e-mail. Of concurrent calls, only one succeeds. */
export async function acceptInvitation(
  tx: Tx,
  secret: string,
  email: string,
): Promise<AcceptedInvitation> {
  const hash = hashSecret(secret)
  const found = await findBySecret(secret, tx)
  const isAccepting = !found?.accountId || (await lockStatus(tx, found.accountId)) === 'active'
  const [accepted] = await tx.$queryRaw<AcceptedInvitation[]>`
    UPDATE invitations i SET accepted_at = now()
    WHERE (i.hash = ${hash} OR i.mailed_hash = ${hash}) AND i.email = ${email}
      AND i.accepted_at IS NULL
      AND i.revoked_at IS NULL AND i.expires_at > now() AND ${isAccepting}
    RETURNING i.account_id AS "accountId", i.role, i.invited_by AS "invitedBy",
      i.hash <> ${hash} AS "isMailed"`
  if (accepted) return accepted
  const invitation = await findBySecret(secret, tx)
  const isOpen = invitation && isInvitationOpen(invitation)
  if (!isOpen) throw invitationEnded()
  if (invitation.email !== email) throw refuse('other_person')
  throw refuse('account_not_active')
}

export function isInvitationOpen(invitation: {
  acceptedAt: Date | null
  revokedAt: Date | null
  expiresAt: Date
}): boolean {
  const { acceptedAt, revokedAt, expiresAt } = invitation
  return !acceptedAt && !revokedAt && expiresAt > new Date()
}

export function invitationEnded(): TrocoError {
  return refuse('invitation_ended', 'This invitation is no longer valid: ask for a new one')
}
