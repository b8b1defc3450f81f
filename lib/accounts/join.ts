import { openAccountFor, requireSignUpAllowed } from '#lib/accounts/create.ts'
import { acceptInvitation, findBySecret, invitationEnded } from '#lib/accounts/invitations.ts'
import { addMember, admitPending, findVouchers, lockMembers } from '#lib/accounts/members.ts'
import type { Account, NewcomerRequest } from '#lib/accounts/schema.ts'
import { recordAudit } from '#lib/audit/record.ts'
import { invalidInput, refuse } from '#lib/core/errors.ts'
import { newId } from '#lib/core/ids.ts'
import type { Tx } from '#lib/db/client.ts'
import { transaction } from '#lib/db/client.ts'
import { hashPassword, requireGoodPassword } from '#lib/people/password.ts'
import { addUser, proveEmail } from '#lib/people/users.ts'

interface Person {
  id: string
  email: string
}

interface JoinedAccount {
  id: string
  role: string
}

export function joinAccount(secret: string, person: Person): Promise<JoinedAccount> {
  return transaction(tx => acceptAsMember(tx, secret, person))
}

/**
 * Registers a user with the invitation's e-mail and adds them as a member, or does neither. Requires
 * the mailed link, which proves the e-mail. An operator's invitation opens an account, `opened`.
 */
export async function joinAsNewUser({
  secret,
  full_name,
  password,
  account_name,
}: NewcomerRequest) {
  const invitation = await findBySecret(secret)
  if (!invitation) throw invitationEnded()
  const { email, isMailed } = invitation
  if (!isMailed) throw refuse('email_unverified')
  const isOpening = invitation.accountId === null
  if (isOpening) requireSignUpAllowed({ secret })
  if (isOpening && account_name === undefined) throw invalidInput('account_name', 'is required')
  await requireGoodPassword(password, { email, name: full_name })
  const passwordHash = await hashPassword(password)
  const person = { id: newId(), email }
  return transaction(async tx => {
    const newUser = { ...person, name: full_name, passwordHash, isAdmin: false }
    const actor = { type: 'user', id: person.id } as const
    await addUser(tx, { ...newUser, verifiedBy: 'invitation' }, actor)
    if (!isOpening) return { ...(await acceptAsMember(tx, secret, person)), email, opened: null }
    const opened: Account = await openAccountFor(tx, person, {
      account_name: account_name ?? '',
      secret,
    })
    return { id: opened.id, role: 'owner', email, opened }
  })
}

async function acceptAsMember(
  tx: Tx,
  secret: string,
  { id: userId, email }: Person,
): Promise<JoinedAccount> {
  // The account before the invitation, as in each change of the members: otherwise they deadlock.
  const lockedId = (await findBySecret(secret, tx))?.accountId
  if (lockedId) await lockMembers(tx, lockedId)
  const { accountId, role, invitedBy, isMailed } = await acceptInvitation(tx, secret, email)
  if (accountId === null) throw invitationEnded()
  if (isMailed) await proveEmail(tx, userId, 'invitation', admitPending)
  const vouchers =
    invitedBy === null ? null : await findVouchers(tx, { accountId, giver: invitedBy, userId })
  if (!(await addMember(tx, { accountId, userId, role, vouchers })))
    throw refuse('email_unverified')
  const entry = { accountId, target: userId, after: { role } }
  await recordAudit(tx, { actor: { type: 'user', id: userId }, action: 'member.joined', ...entry })
  return { id: accountId, role }
}
