import { recordAudit } from '#lib/base/audit/record.ts'
import { db, type Tx } from '#lib/base/db/client.ts'
import { transaction } from '#lib/base/db/transaction.ts'
import { newId } from '#lib/base/ids.ts'
import { mailNewApprover } from '#lib/rooms/accounts/approval-rule.ts'
import { acceptInvitation, invitationEnded } from '#lib/rooms/accounts/invitations.ts'
import type { NewcomerRequest } from '#lib/rooms/accounts/schema.ts'
import { findVoucher } from '#lib/services/people/approvers.ts'
import { requireGoodPassword } from '#lib/services/people/common-passwords.ts'
import { hashPassword } from '#lib/services/people/password.ts'
import { addUser } from '#lib/services/people/register.ts'
import { hashSecret } from '#lib/services/people/secret.ts'

interface Person {
  id: string
  email: string
}

interface JoinedAccount {
  id: string
  role: string
}

export function joinAccount(secret: string, person: Person): Promise<JoinedAccount> {
  return transaction(tx => addMember(tx, secret, person))
}

/** Registers a user with the invitation's e-mail and adds them as a member, or does neither. */
export async function joinAsNewUser({ secret, full_name: name, password }: NewcomerRequest) {
  const invitation = await db().invitation.findUnique({ where: { hash: hashSecret(secret) } })
  if (!invitation?.accountId) throw invitationEnded()
  const { email } = invitation
  await requireGoodPassword(password, { email, name })
  const passwordHash = await hashPassword(password)
  const person = { id: newId(), email }
  const joined = await transaction(async tx => {
    const newUser = { ...person, name, passwordHash, isAdmin: false }
    await addUser(tx, newUser, { type: 'user', id: person.id })
    return addMember(tx, secret, person)
  })
  return { ...joined, email }
}

async function addMember(
  tx: Tx,
  secret: string,
  { id: userId, email }: Person,
): Promise<JoinedAccount> {
  const { accountId, role, invitedBy } = await acceptInvitation(tx, secret, email)
  if (accountId === null) throw invitationEnded()
  const roleBy = invitedBy && (await findVoucher(tx, accountId, invitedBy))
  const member = { accountId, userId, role, roleAt: new Date(), roleBy }
  // An existing member's role does not change.
  const added = await tx.membership.createMany({ data: member, skipDuplicates: true })
  if (added.count > 0) await mailNewApprover(tx, accountId, { userId, role })
  const entry = { accountId, target: userId, after: { role } }
  await recordAudit(tx, { actor: { type: 'user', id: userId }, action: 'member.joined', ...entry })
  return { id: accountId, role }
}
