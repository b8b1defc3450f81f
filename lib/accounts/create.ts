import { type Account, normalizeEmail } from '#lib/accounts/schema.ts'
import { type Actor, recordAudit } from '#lib/audit/record.ts'
import type { Tx } from '#lib/db/client.ts'
import { transaction } from '#lib/db/transaction.ts'
import { databaseFault, TrocoError } from '#lib/errors.ts'
import { newId } from '#lib/ids.ts'
import { openLedger } from '#lib/ledger/accounts.ts'
import { openWebhooks } from '#lib/webhooks/secrets.ts'

interface NewAccount {
  name: string
  ownerEmail: string
}

/**
 * Opens an account with its books, its event numbering and its owner, all or nothing. The owner is
 * the user with that e-mail, or a new one without a password.
 */
export function createAccount(wanted: NewAccount, actor: Actor): Promise<Account> {
  const name = wanted.name.trim()
  if (name.length < 1 || name.length > 255) throw invalid('name', 'must have 1 to 255 characters')
  return transaction(async tx => {
    const user = await findOrCreateUser(tx, wanted.ownerEmail)
    const account = await tx.account.create({ data: { id: newId(), name } })
    await tx.membership.create({ data: { accountId: account.id, userId: user.id, role: 'owner' } })
    await openLedger(tx, account.id)
    await openWebhooks(tx, account.id)
    const after = { name, owner: user.id }
    await recordAudit(tx, { actor, action: 'account.created', accountId: account.id, after })
    return account as Account
  })
}

interface NewUser {
  email: string
  name?: string
  passwordHash: string
  isAdmin: boolean
}

/** Adds a person who may sign in. An e-mail that is taken is refused. */
export function createUser(wanted: NewUser, actor: Actor): Promise<{ id: string }> {
  const email = requireEmail(wanted.email)
  return transaction(async tx => {
    const name = wanted.name?.trim() || email
    const data = {
      id: newId(),
      email,
      name,
      passwordHash: wanted.passwordHash,
      isAdmin: wanted.isAdmin,
    }
    const user = await tx.user.create({ data })
    const after = { admin: wanted.isAdmin }
    await recordAudit(tx, { actor, action: 'user.created', target: user.id, after })
    return { id: user.id }
  }).catch(error => {
    const isTaken = databaseFault(error).constraint === 'users_email_key'
    throw isTaken ? invalid('email', 'belongs to another user already') : error
  })
}

async function findOrCreateUser(tx: Tx, ownerEmail: string): Promise<{ id: string }> {
  const email = requireEmail(ownerEmail)
  // Not upsert: it looks first, so two at once would both insert.
  await tx.user.createMany({ data: { id: newId(), email, name: email }, skipDuplicates: true })
  return tx.user.findUniqueOrThrow({ where: { email } })
}

function requireEmail(text: string): string {
  const email = normalizeEmail(text)
  if (!email) throw invalid('email', 'must be an e-mail address such as ana@example.com')
  return email
}

function invalid(field: string, rule: string): TrocoError {
  return new TrocoError('invalid_input', `${field} ${rule}`, {
    fields: { [field]: [`${field} ${rule}`] },
  })
}
