import { recipientOf, replaceInvitation } from '#lib/accounts/invitations.ts'
import { lockMembers, requirePermission } from '#lib/accounts/owners.ts'
import { INVITATIONS_MAX, type InvitationRequest } from '#lib/accounts/schema.ts'
import { recordAudit } from '#lib/audit/record.ts'
import { refuse } from '#lib/core/errors.ts'
import { newId } from '#lib/core/ids.ts'
import { env } from '#lib/core/settings.ts'
import type { Tx } from '#lib/db/client.ts'
import { transaction } from '#lib/db/client.ts'
import type { IdempotentRequest } from '#lib/db/idempotency.ts'
import { queueMail } from '#lib/mail/queue.ts'
import { countAttempt } from '#lib/people/throttle.ts'
import { storeIdempotencyKey } from '#lib/webhooks/owner.ts'

/** Maximum invitations per account and day: prevents using Troco to send mail in bulk. */
const INVITATIONS_PER_DAY_MAX = 200
const DAY_MS = 86_400_000

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
    await requirePermission(tx, { accountId, userId: actor.id }, 'members:write')
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
