import { parseArgs } from 'node:util'
import { readMode, requireOption, withRuntime } from '#bin/command-line.ts'
import { createAccount } from '#lib/accounts/create.ts'
import { findAccount, listAccounts } from '#lib/accounts/queries.ts'
import { activateAccount, suspendAccount } from '#lib/accounts/settings.ts'
import { writeOffClaim } from '#lib/accounts/write-off.ts'
import { recordAudit } from '#lib/audit/record.ts'
import { payWelcomeCharge } from '#lib/charges/simulate.ts'
import { refuse } from '#lib/core/errors.ts'
import { env } from '#lib/core/settings.ts'
import { transaction } from '#lib/db/client.ts'
import { unlinkOpenid } from '#lib/people/openid.ts'
import { createResetLink, hashPassword, makePassword } from '#lib/people/password.ts'
import { registerUser } from '#lib/people/users.ts'
import { revokeToken } from '#lib/tokens/change.ts'
import { issueToken } from '#lib/tokens/issue.ts'
import {
  ADDRESSES_MAX,
  addressesRequest,
  DEFAULT_PERMISSIONS,
  isPermission,
  PERMISSIONS,
  type Permission,
} from '#lib/tokens/schema.ts'
import { readResourceSecret } from '#lib/webhooks/secrets.ts'

const ACTOR = { type: 'command_line' } as const
/** The account works at once; only its pages wait for the owner. */
const PENDING_OWNER =
  'The owner confirms the e-mail address at the first sign-in. Without a mail server, print a link with `user reset`.\n'

export async function printAccounts(): Promise<void> {
  await withRuntime(async () => {
    for (const account of await listAccounts()) {
      const line = [account.id, account.ownerEmail ?? '', account.status, account.name]
      process.stdout.write(`${line.join('\t')}\n`)
    }
  })
}

export async function create(args: string[]): Promise<void> {
  const options = { name: { type: 'string' }, email: { type: 'string' } } as const
  const { values } = parseArgs({ args, options })
  const name = requireOption(values.name, '--name')
  const ownerEmail = requireOption(values.email, '--email')
  const password = makePassword()
  const ownerPasswordHash = await hashPassword(password)
  await withRuntime(async () => {
    const account = await createAccount({ name, ownerEmail, ownerPasswordHash }, ACTOR)
    await payWelcomeCharge(account)
    if (account.isOwnerNew) {
      process.stderr.write(`Owner's password, shown only once: ${password}\n`)
    }
    if (account.isOwnerPending) process.stderr.write(PENDING_OWNER)
    process.stdout.write(`${account.id}\n`)
  })
}

export function activate(args: string[]): Promise<void> {
  return applyStatus(args, activateAccount, 'active')
}

export function suspend(args: string[]): Promise<void> {
  return applyStatus(args, suspendAccount, 'suspended')
}

/** Gives up what an account owes for lost disputes; prints the amount in cents. */
export async function writeOff(args: string[]): Promise<void> {
  const text = { type: 'string' } as const
  const options = { reason: text, mode: text, amount: text }
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true })
  const accountRef = requireOption(positionals[0], '<e-mail|id>')
  const reason = requireOption(values.reason, '--reason')
  const mode = readMode(values.mode)
  const amount = values.amount === undefined ? undefined : Number(values.amount)
  if (amount !== undefined && !(Number.isSafeInteger(amount) && amount > 0))
    throw refuse('invalid_input', { message: '--amount must be a number of cents' })
  await withRuntime(async () => {
    const { id } = await findAccount(accountRef)
    process.stdout.write(`${await writeOffClaim(id, mode, { amount, reason }, ACTOR)}\n`)
  })
}

async function applyStatus(
  args: string[],
  changeStatus: typeof suspendAccount,
  state: string,
): Promise<void> {
  const options = { reason: { type: 'string' } } as const
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true })
  const accountRef = requireOption(positionals[0], '<e-mail|id>')
  const reason = requireOption(values.reason, '--reason')
  await withRuntime(async () => {
    const account = await findAccount(accountRef)
    const isChanged = await changeStatus(account.id, reason, ACTOR)
    if (!isChanged) throw refuse('already_final', { subject: account.name, status: state })
    process.stdout.write(`${account.id}\n`)
  })
}

/** Prints the id to standard output and the password, shown only once, to standard error. */
export async function createUser(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: { email: { type: 'string' }, name: { type: 'string' }, admin: { type: 'boolean' } },
  })
  const email = requireOption(values.email, '--email')
  const password = makePassword()
  const passwordHash = await hashPassword(password)
  await withRuntime(async () => {
    const registration = { email, name: values.name, passwordHash, isAdmin: values.admin ?? false }
    const user = await registerUser(registration, { type: 'command_line' })
    process.stderr.write(`Password, shown only once: ${password}\n`)
    process.stdout.write(`${user.id}\n`)
  })
}

/** Prints a password link, for users who cannot receive mail. Valid once, for one hour. */
export async function resetPassword(args: string[]): Promise<void> {
  const { values } = parseArgs({ args, options: { email: { type: 'string' } } })
  const email = requireOption(values.email, '--email')
  await withRuntime(async () => {
    const path = await createResetLink(email, { type: 'command_line' })
    process.stdout.write(`${env().PUBLIC_URL}${path}\n`)
  })
}

/** Disconnects the OpenID provider. Prints the user's id, and to standard error what follows. */
export async function disconnectOpenid(args: string[]): Promise<void> {
  const { values } = parseArgs({ args, options: { email: { type: 'string' } } })
  const email = requireOption(values.email, '--email')
  await withRuntime(async () => {
    const { id, hasPassword } = await unlinkOpenid(email, { type: 'command_line' })
    const next = hasPassword
      ? 'The user now signs in with the password.'
      : 'The user has no password: the sign-in page mails a link for one, `user reset` prints one.'
    process.stderr.write(`All sessions have ended. ${next}\n`)
    process.stdout.write(`${id}\n`)
  })
}

/** Prints only the token, for use in scripts. */
export async function createToken(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      account: { type: 'string' },
      name: { type: 'string' },
      mode: { type: 'string' },
      permissions: { type: 'string' },
      addresses: { type: 'string' },
    },
  })
  const accountRef = requireOption(values.account, '--account')
  const name = requireOption(values.name, '--name')
  const mode = readMode(values.mode)
  const permissions = readPermissions(values.permissions)
  const allowedAddresses = readAddresses(values.addresses)
  await withRuntime(async () => {
    const { id: accountId } = await findAccount(accountRef)
    const newToken = { accountId, name, mode, permissions, allowedAddresses }
    const { token } = await issueToken(newToken, ACTOR)
    process.stdout.write(`${token}\n`)
  })
}

export async function revoke(args: string[]): Promise<void> {
  const options = { reason: { type: 'string' } } as const
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true })
  const tokenRef = requireOption(positionals[0], '<id|prefix>')
  await withRuntime(async () => {
    const revoked = await revokeToken(
      tokenRef,
      values.reason ?? 'Revoked on the command line',
      ACTOR,
    )
    if (!revoked) throw refuse('token_ended', 'This token is already revoked')
    process.stdout.write(`${revoked.id}\n`)
  })
}

function readPermissions(text: string | undefined): Permission[] {
  if (text === undefined) return DEFAULT_PERMISSIONS
  const names = text.split(',').map(part => part.trim())
  const unknown = names.filter(part => !isPermission(part))
  if (unknown.length === 0) return names.filter(isPermission)
  const message = `--permissions contains unknown permissions (${unknown.join(', ')}): use ${PERMISSIONS.join(', ')}`
  throw refuse('invalid_input', { message })
}

function readAddresses(text: string | undefined): string[] {
  if (text === undefined) return []
  const read = addressesRequest.test.safeParse({ allowed_addresses: text.split(',') })
  if (read.success) return read.data.allowed_addresses
  const message = `--addresses must be at most ${ADDRESSES_MAX} IP addresses or CIDR ranges, separated by commas, such as 203.0.113.7,203.0.113.0/24`
  throw refuse('invalid_input', { message })
}

export async function printSecret(args: string[]): Promise<void> {
  const options = { account: { type: 'string' }, mode: { type: 'string' } } as const
  const { values } = parseArgs({ args, options })
  const accountRef = requireOption(values.account, '--account')
  const mode = readMode(values.mode)
  await withRuntime(async () => {
    const account = await findAccount(accountRef)
    const secret = await readResourceSecret(account.id, mode)
    if (!secret) throw refuse('not_found', `${account.name} has no webhook secret in ${mode} mode`)
    await transaction(tx =>
      recordAudit(tx, {
        actor: { type: 'command_line' },
        action: 'webhook_secret.shown',
        accountId: account.id,
        target: account.id,
        after: { mode },
      }),
    )
    process.stdout.write(`${secret}\n`)
  })
}
