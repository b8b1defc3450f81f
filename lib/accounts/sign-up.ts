import { setTimeout as sleep } from 'node:timers/promises'
import { openAccountFor, requireSignUpAllowed } from '#lib/accounts/open.ts'
import type { Account, SignUpConfirmation, SignUpRequest } from '#lib/accounts/schema.ts'
import { refuse } from '#lib/core/errors.ts'
import { newId } from '#lib/core/ids.ts'
import { db, transaction } from '#lib/db/client.ts'
import { canSendMail, queueMail } from '#lib/mail/queue.ts'
import {
  attemptChallenge,
  closeChallenge,
  openChallenge,
  readChallenge,
} from '#lib/people/challenge.ts'
import { hashPassword, requireGoodPassword } from '#lib/people/password.ts'
import { countAttempt } from '#lib/people/throttle.ts'
import { addUser } from '#lib/people/users.ts'

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
