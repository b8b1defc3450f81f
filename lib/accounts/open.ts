import { admitPending } from '#lib/accounts/admit.ts'
import { addAccount } from '#lib/accounts/create.ts'
import { acceptInvitation } from '#lib/accounts/invitations.ts'
import type { Account, AccountRequest } from '#lib/accounts/schema.ts'
import { refuse } from '#lib/core/errors.ts'
import { env } from '#lib/core/settings.ts'
import type { Tx } from '#lib/db/client.ts'
import { transaction } from '#lib/db/client.ts'
import { proveEmail } from '#lib/people/users.ts'

interface Person {
  id: string
  email: string
}

export async function openAccount(request: AccountRequest, person: Person): Promise<Account> {
  requireSignUpAllowed(request)
  return transaction(tx => openAccountFor(tx, person, request))
}

/** The account is active at once with an operator's invitation, else as NEW_ACCOUNTS says. */
export async function openAccountFor(
  tx: Tx,
  { id, email }: Person,
  { account_name: name, secret }: AccountRequest,
): Promise<Account> {
  if (secret !== undefined) {
    const { accountId, isMailed } = await acceptInvitation(tx, secret, email)
    if (accountId !== null) {
      throw refuse('invitation_ended', 'This invitation is for joining an existing account')
    }
    if (isMailed) await proveEmail(tx, id, 'invitation', admitPending)
  }
  const status = secret === undefined ? env().NEW_ACCOUNTS : 'active'
  const account = await addAccount(tx, { name, status }, id, { type: 'user', id })
  if (account.isOwnerPending) throw refuse('email_unverified')
  return account
}

export function requireSignUpAllowed({ secret }: Pick<AccountRequest, 'secret'>): void {
  const { SIGNUPS } = env()
  if (SIGNUPS === 'open' || (SIGNUPS === 'invite' && secret !== undefined)) return
  throw refuse('sign_up_closed', 'Sign-up is closed or requires an invitation')
}
