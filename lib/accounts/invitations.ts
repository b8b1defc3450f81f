import { lockMembers, lockStatus, requireMemberPermission } from '#lib/accounts/members.ts'
import {
  INVITATION_DAYS,
  INVITATIONS_MAX,
  type InvitationRequest,
  type Role,
} from '#lib/accounts/schema.ts'
import { type Actor, recordAudit } from '#lib/audit/record.ts'
import { refuse, type TrocoError } from '#lib/core/errors.ts'
import { isUuid, newId } from '#lib/core/ids.ts'
import { hashSecret, isEqual, newSecret } from '#lib/core/keys.ts'
import { env } from '#lib/core/settings.ts'
import { db, type Tx, transaction } from '#lib/db/client.ts'
import type { IdempotentRequest } from '#lib/db/idempotency.ts'
import { queueMail } from '#lib/mail/queue.ts'
import { countAttempt } from '#lib/people/throttle.ts'
import { storeIdempotencyKey } from '#lib/webhooks/owner.ts'

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
  /** Only mailed to the invited user: opening it proves the mailbox. */
  mailedPath: string
}

/** Revokes open invitations for the same e-mail. Returns the paths of the new links. */
async function replaceInvitation(tx: Tx, row: NewInvitation): Promise<InvitationPaths> {
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
async function recipientOf(tx: Tx, email: string, locale: string | null) {
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

function isInvitationOpen(invitation: {
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

/** Maximum invitations per account and day: prevents using Troco to send mail in bulk. */
const INVITATIONS_PER_DAY_MAX = 200

type Inviter = { type: 'user'; id: string }
/** `path` is returned only once, because only a hash of its secret is stored. */
type CreatedInvitation = { id: string; path: string }

/**
 * Invites a user to an account. Invalidates an earlier invitation for the same e-mail. Above the limit of
 * mails to one address, whatever the account, the inviter still gets the link, and no mail is sent.
 */
export async function inviteMember(
  accountId: string,
  { email, role }: InvitationRequest,
  actor: Inviter,
  once?: IdempotentRequest,
): Promise<CreatedInvitation> {
  const mayMail = (await countAttempt([['invitation_mail', email]])) === null
  return transaction(async tx => {
    const account = await lockMembers(tx, accountId)
    await storeIdempotencyKey(tx, once)
    await requireMemberPermission(tx, { accountId, userId: actor.id }, 'members:write')
    await refuseTooMany(tx, accountId, email)
    const row = { id: once?.id ?? newId(), accountId, email, role, invitedBy: actor.id }
    const { path, mailedPath } = await replaceInvitation(tx, row)
    // Checked after `replaceInvitation`, which waits for a concurrent acceptance.
    if ((await tx.membership.count({ where: { accountId, user: { email } } })) > 0) {
      throw refuse('member_already')
    }
    const { id: target } = row
    await recordAudit(tx, { actor, action: 'member.invited', accountId, target, after: { role } })
    const { name: inviter, locale } = await tx.user.findUniqueOrThrow({ where: { id: actor.id } })
    if (mayMail) {
      const to = await recipientOf(tx, email, locale)
      await queueMail(tx, to, { kind: 'invitation', account, inviter, role, path: mailedPath })
    }
    return { id: target, path }
  })
}

export async function inviteMerchant(email: string, actor: Inviter): Promise<CreatedInvitation> {
  if (env().SIGNUPS === 'closed') {
    throw refuse('sign_up_closed', 'New accounts are disabled: SIGNUPS is closed')
  }
  const mayMail = (await countAttempt([['invitation_mail', email]])) === null
  return transaction(async tx => {
    // An advisory lock, because operator invitations have no account row to lock.
    await tx.$queryRaw`SELECT pg_advisory_xact_lock(hashtextextended('operator invites', 0))::text`
    const row = { id: newId(), accountId: null, email, role: 'owner', invitedBy: actor.id }
    const { path, mailedPath } = await replaceInvitation(tx, row)
    await recordAudit(tx, { actor, action: 'merchant.invited', target: row.id })
    const { locale } = await tx.user.findUniqueOrThrow({ where: { id: actor.id } })
    const to = await recipientOf(tx, email, locale)
    if (mayMail) await queueMail(tx, to, { kind: 'opening', path: mailedPath })
    return { id: row.id, path }
  })
}

/** Does not count an open invitation for the same e-mail, because it is replaced. */
async function refuseTooMany(tx: Tx, accountId: string, email: string): Promise<void> {
  const open = { accountId, acceptedAt: null, revokedAt: null, email: { not: email } }
  const recent = { accountId, createdAt: { gt: new Date(Date.now() - DAY_MS) } }
  const hasMaxOpen = (await tx.invitation.count({ where: open })) >= INVITATIONS_MAX
  const hasMaxToday = (await tx.invitation.count({ where: recent })) >= INVITATIONS_PER_DAY_MAX
  if (!hasMaxOpen && !hasMaxToday) return
  const message = hasMaxOpen
    ? `The limit of ${INVITATIONS_MAX} open invitations is reached: revoke one first`
    : `The limit of ${INVITATIONS_PER_DAY_MAX} invitations in 24 hours is reached: try again later`
  throw refuse('limit_reached', message)
}

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

/** Invalidates an invitation's link. A null account means an invitation by the operator. */
export function revokeInvitation(
  accountId: string | null,
  id: string,
  actor: Actor,
): Promise<void> {
  return transaction(async tx => {
    const where = { id, accountId, acceptedAt: null, revokedAt: null }
    const { count } = isUuid(id)
      ? await tx.invitation.updateMany({ where, data: { revokedAt: new Date() } })
      : { count: 0 }
    if (count === 0) throw refuse('invitation_not_found')
    const ofAccount = accountId === null ? {} : { accountId }
    await recordAudit(tx, { actor, action: 'invitation.revoked', ...ofAccount, target: id })
  })
}
