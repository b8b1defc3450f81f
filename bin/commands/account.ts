import { parseArgs } from 'node:util'
import { readMode, requireOption, withRuntime } from '#bin/command-line.ts'
import { createAccount } from '#lib/accounts/create.ts'
import { findAccount, listAccounts } from '#lib/accounts/queries.ts'
import { activateAccount, suspendAccount } from '#lib/accounts/settings.ts'
import { writeOffClaim } from '#lib/accounts/write-off.ts'
import { payWelcomeCharge } from '#lib/charges/welcome.ts'
import { refuse } from '#lib/core/errors.ts'
import { hashPassword, makePassword } from '#lib/people/password.ts'

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
