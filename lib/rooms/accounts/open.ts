import type { Tx } from '#lib/base/db/client.ts'
import { transaction } from '#lib/base/db/transaction.ts'
import { env } from '#lib/base/env.ts'
import { refuse } from '#lib/base/errors.ts'
import { newId } from '#lib/base/ids.ts'
import { addAccount } from '#lib/rooms/accounts/create.ts'
import { acceptInvitation, requireRecipient } from '#lib/rooms/accounts/invitations.ts'
import type { Account, AccountRequest, SignUpRequest } from '#lib/rooms/accounts/schema.ts'
import { requireGoodPassword } from '#lib/services/people/common-passwords.ts'
import { hashPassword } from '#lib/services/people/password.ts'
import { addUser } from '#lib/services/people/register.ts'

interface Person {
  id: string
  email: string
}

export async function signUp(request: SignUpRequest): Promise<Account> {
  requireSignUpAllowed(request)
  const { full_name: name, email, password, secret } = request
  if (secret !== undefined) await requireRecipient(secret, email)
  await requireGoodPassword(password, { email, name })
  const passwordHash = await hashPassword(password)
  const person = { id: newId(), email }
  return transaction(async tx => {
    const user = { ...person, name, passwordHash, isAdmin: false }
    await addUser(tx, user, { type: 'user', id: person.id })
    return openAccountFor(tx, person, request)
  })
}

export async function openAccount(request: AccountRequest, person: Person): Promise<Account> {
  requireSignUpAllowed(request)
  return transaction(tx => openAccountFor(tx, person, request))
}

/** The account is active at once with an operator's invitation, else as NEW_ACCOUNTS says. */
async function openAccountFor(
  tx: Tx,
  { id, email }: Person,
  { account_name: name, secret }: AccountRequest,
): Promise<Account> {
  if (secret !== undefined) {
    const { accountId } = await acceptInvitation(tx, secret, email)
    if (accountId !== null) {
      throw refuse('invitation_ended', 'This invitation is for joining an existing account')
    }
  }
  const status = secret === undefined ? env().NEW_ACCOUNTS : 'active'
  return addAccount(tx, { name, status }, id, { type: 'user', id })
}

function requireSignUpAllowed({ secret }: Pick<AccountRequest, 'secret'>): void {
  const { SIGNUPS } = env()
  if (SIGNUPS === 'open' || (SIGNUPS === 'invite' && secret !== undefined)) return
  throw refuse('sign_up_closed', 'Sign-up is closed or requires an invitation')
}
