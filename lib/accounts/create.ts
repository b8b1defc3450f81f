import { setTimeout as sleep } from 'node:timers/promises'
import { acceptInvitation } from '#lib/accounts/invitations.ts'
import { addMember, admitPending } from '#lib/accounts/members.ts'
import type {
  Account,
  AccountRequest,
  SignUpConfirmation,
  SignUpRequest,
} from '#lib/accounts/schema.ts'
import { type Actor, recordAudit } from '#lib/audit/record.ts'
import { invalidInput, refuse } from '#lib/core/errors.ts'
import { properName } from '#lib/core/fields.ts'
import { newId, TRIAL_ACCOUNT_ID } from '#lib/core/ids.ts'
import { env } from '#lib/core/settings.ts'
import { db, type Tx, transaction } from '#lib/db/client.ts'
import { openBooks } from '#lib/ledger/book.ts'
import { canSendMail, queueMail } from '#lib/mail/queue.ts'
import {
  attemptChallenge,
  closeChallenge,
  openChallenge,
  readChallenge,
} from '#lib/people/factors.ts'
import { hashPassword, requireGoodPassword } from '#lib/people/password.ts'
import { countAttempt } from '#lib/people/throttle.ts'
import { addUser, findOrRegister, proveEmail } from '#lib/people/users.ts'
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

async function addAccount(
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

/** Minimum response time, longer than the work: time must not reveal a registered e-mail. */
const RESPONSE_MIN_MS = 300

/** Mails a link that opens the account, or that the e-mail can sign in already. Stores no user. */
export async function requestSignUp(request: SignUpRequest): Promise<void> {
  requireSignUpAllowed({})
  if (!canSendMail()) {
    throw refuse('sign_up_closed', 'Sign-up requires a mail server: the operator must set SMTP_URL')
  }
  const [mailing] = await Promise.allSettled([mailSignUp(request), sleep(RESPONSE_MIN_MS)])
  if (mailing.status === 'rejected') throw mailing.reason
}

async function mailSignUp({ locale, ...request }: SignUpRequest): Promise<void> {
  const { email } = request
  if ((await countAttempt([['sign_up_mail', email]])) !== null) return
  const user = await db().user.findUnique({ where: { email } })
  // Also for a registered e-mail, with a link that opens nothing: the same statements, the same time.
  const secret = await openChallenge('sign_up', { value: user ? null : JSON.stringify(request) })
  if (user?.disabledAt) return
  const to = { email, locale: user ? user.locale : (locale ?? null) }
  const message = user
    ? ({ kind: 'alreadyRegistered' } as const)
    : ({ kind: 'signUp', path: `/signup/${secret}` } as const)
  await transaction(tx => queueMail(tx, to, message))
}

/** Returns what was requested; null if the link was used or has expired. */
export async function findSignUp(secret: string): Promise<SignUpRequest | null> {
  const { value } = (await readChallenge('sign_up', secret)) ?? {}
  return value ? (JSON.parse(value) as SignUpRequest) : null
}

/** Creates the user and the account, or neither. The password is chosen here, by who got the mail. */
export async function confirmSignUp({
  secret,
  password,
}: SignUpConfirmation): Promise<Account & { email: string }> {
  requireSignUpAllowed({})
  const { value } = (await attemptChallenge('sign_up', secret)) ?? {}
  if (!value) throw refuse('link_expired')
  const { email, full_name: name, account_name } = JSON.parse(value) as SignUpRequest
  await requireGoodPassword(password, { email, name })
  const person = { id: newId(), email }
  const user = { ...person, name, passwordHash: await hashPassword(password), isAdmin: false }
  return transaction(async tx => {
    if (!(await closeChallenge(secret, tx))) throw refuse('link_expired')
    await addUser(tx, { ...user, verifiedBy: 'sign_up' }, { type: 'user', id: person.id })
    return { ...(await openAccountFor(tx, person, { account_name })), email }
  })
}
