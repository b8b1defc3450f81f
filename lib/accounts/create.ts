import { addMember } from '#lib/accounts/admit.ts'
import type { Account } from '#lib/accounts/schema.ts'
import { type Actor, recordAudit } from '#lib/audit/record.ts'
import { invalidInput } from '#lib/core/errors.ts'
import { properName } from '#lib/core/fields.ts'
import { newId, TRIAL_ACCOUNT_ID } from '#lib/core/ids.ts'
import type { Tx } from '#lib/db/client.ts'
import { transaction } from '#lib/db/client.ts'
import { openBooks } from '#lib/ledger/accounts.ts'
import { findOrRegister } from '#lib/people/users.ts'
import { openWebhooks } from '#lib/webhooks/secrets.ts'

interface NewAccount {
  name: string
  ownerEmail: string
  /** Password of an owner who is not a user yet; without it, a new owner cannot sign in. */
  ownerPasswordHash?: string
}

export type OpenedAccount = Account & { isOwnerNew: boolean; isOwnerPending: boolean }

/**
 * Opens an account in one transaction. An existing user becomes owner and keeps their password; one
 * who has not proven the e-mail address becomes owner at the proof. The account works at once.
 */
export function createAccount(newAccount: NewAccount, actor: Actor): Promise<OpenedAccount> {
  const { data: name, error } = properName(255).safeParse(newAccount.name)
  if (name === undefined) throw invalidInput('name', error.issues[0]?.message ?? 'is invalid')
  const owner = { email: newAccount.ownerEmail, passwordHash: newAccount.ownerPasswordHash }
  return transaction(async tx => {
    const user = await findOrRegister(tx, owner)
    const account = await addAccount(tx, { name, status: 'active' }, user.id, actor)
    return { ...account, isOwnerNew: user.isNew }
  })
}

export async function addAccount(
  tx: Tx,
  { name, status }: Pick<Account, 'name' | 'status'>,
  ownerId: string,
  actor: Actor,
): Promise<Account & { isOwnerPending: boolean }> {
  const account = await tx.account.create({
    data: { id: newId(), name, status, approvalNewKeys: true },
  })
  const owner = { accountId: account.id, userId: ownerId, role: 'owner', vouchers: null }
  const isOwnerPending = !(await addMember(tx, owner))
  await openBooks(tx, account.id)
  await openWebhooks(tx, account.id)
  const after = { name, owner: ownerId, status }
  await recordAudit(tx, { actor, action: 'account.created', accountId: account.id, after })
  return { ...(account as Account), isOwnerPending }
}

/** Opens the account for trials of connections, unless it is open. Of two at once, the second waits for the first. */
export async function openTrialAccount(tx: Tx): Promise<void> {
  const opened = await tx.$executeRaw`
    INSERT INTO accounts (id, name) VALUES (${TRIAL_ACCOUNT_ID}::uuid, 'Teste de conexões')
    ON CONFLICT (id) DO NOTHING`
  if (opened === 0) return
  await openBooks(tx, TRIAL_ACCOUNT_ID)
  await openWebhooks(tx, TRIAL_ACCOUNT_ID)
}
