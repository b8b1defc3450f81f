import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { readConnectionRef, requireOption, withRuntime } from '#bin/command-line.ts'
import { formatFinding } from '#bin/commands/bank-findings.ts'
import { closeConnection } from '#lib/accounts/connections.ts'
import { addConnection } from '#lib/banks/add-connection.ts'
import { checkConnection, correctSettings, renewCredentials } from '#lib/banks/check-connection.ts'
import {
  CHECK_PASSED,
  findConnection,
  limitConnection,
  listConnections,
} from '#lib/banks/connections.ts'
import type { BankFinding } from '#lib/banks/gateway.ts'
import type { NewConnection } from '#lib/banks/schema.ts'
import { findFlaw } from '#lib/banks/served.ts'
import { isTrocoError, refuse } from '#lib/core/errors.ts'
import { countOpenWork, type OpenWork } from '#lib/operator/banks/list.ts'

const ACTOR = { type: 'command_line' } as const
const STDIN = 0

export async function list(): Promise<void> {
  await withRuntime(async () => {
    for (const connection of await listConnections()) {
      const { id, name, kind, environment, state, accounts } = connection
      process.stdout.write(`${[id, kind, environment, state, accounts, name].join('\t')}\n`)
    }
  })
}

/** Reads settings and credentials from files: arguments are visible to other users of the machine. */
export async function add(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      name: { type: 'string' },
      kind: { type: 'string' },
      environment: { type: 'string' },
      profile: { type: 'string' },
      settings: { type: 'string' },
      credentials: { type: 'string' },
      'receiving-key': { type: 'string', multiple: true },
      'paying-key': { type: 'string' },
    },
  })
  const request = {
    name: requireOption(values.name, '--name'),
    kind: requireOption(values.kind, '--kind'),
    environment: requireOption(values.environment, '--environment'),
    profile: values.profile,
    settings: values.settings === undefined ? undefined : readSettings(values.settings),
    credentials: values.credentials === undefined ? undefined : readText(values.credentials),
    receiving_keys: values['receiving-key'],
    paying_key: values['paying-key'],
  }
  await withRuntime(async () => {
    // `addConnection` validates each field.
    const id = await addConnection(request as NewConnection, ACTOR)
    process.stdout.write(`${id}\n`)
  })
}

/** Prints what was found, and what to do about it. Exit code 0 only if all that live mode needs works. */
export async function check(args: string[]): Promise<void> {
  const connectionRef = readConnectionRef(args)
  await withRuntime(async () => {
    const { id, name } = await findConnection(connectionRef)
    const flaw = await findFlaw(id)
    if (flaw !== null) throw refuse('not_found', `${name} was not checked: ${flaw}`)
    const { code, findings } = await checkConnection(id, ACTOR)
    printFindings(findings, `${name} ${describeCheck(code)}`, code === CHECK_PASSED)
  })
}

function describeCheck(code: string | null): string {
  if (code === null) return 'gave no answer: the result of the check before stays'
  return code === CHECK_PASSED ? 'passed its check' : 'failed its check: it serves no account'
}

/** Prints a line for each setting of the account at the bank that was changed. */
export async function correct(args: string[]): Promise<void> {
  const connectionRef = readConnectionRef(args)
  await withRuntime(async () => {
    const { id, name } = await findConnection(connectionRef)
    const result = await correctSettings(id, ACTOR)
    if (result === null) throw refuse('not_found', `The bank of ${name} has no such settings`)
    if (result.outcome !== 'ok') {
      const reason = 'reason' in result ? result.reason : result.bankText
      throw refuse('not_found', `${name} keeps its settings: ${reason}. See \`bank check\``)
    }
    for (const setting of result.value) process.stdout.write(`${setting}\n`)
  })
}

/** Checks the new credentials as `check` does, and replaces the old ones only if they pass. */
export async function renew(args: string[]): Promise<void> {
  const options = { credentials: { type: 'string' } } as const
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true })
  const connectionRef = requireOption(positionals[0], '<name|id>')
  const credentials = readText(requireOption(values.credentials, '--credentials'))
  await withRuntime(async () => {
    const { id, name } = await findConnection(connectionRef)
    const { code, findings } = await renewCredentials(id, credentials, ACTOR)
    const isRenewed = code === CHECK_PASSED
    printFindings(
      findings,
      isRenewed ? `${name} has new credentials` : `${name} keeps its credentials`,
      isRenewed,
    )
  })
}

function printFindings(findings: BankFinding[], conclusion: string, isGood: boolean): void {
  for (const finding of findings) process.stdout.write(formatFinding(finding))
  process.stdout.write(`${conclusion}\n`)
  if (!isGood) process.exitCode = 1
}

/** Without an option, only prints the limits: per payout and per day, in cents. */
export async function limit(args: string[]): Promise<void> {
  const options = { 'per-payout': { type: 'string' }, 'per-day': { type: 'string' } } as const
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true })
  const connectionRef = requireOption(positionals[0], '<name|id>')
  const { 'per-payout': perPayout, 'per-day': perDay } = values
  const change = {
    ...(perPayout !== undefined && { payout_max: readCents(perPayout) }),
    ...(perDay !== undefined && { payout_day_max: readCents(perDay) }),
  }
  await withRuntime(async () => {
    const { id } = await findConnection(connectionRef)
    const { payout_max, payout_day_max } = await limitConnection(id, change, ACTOR)
    process.stdout.write(`${[payout_max, payout_day_max].map(max => max ?? 'none').join('\t')}\n`)
  })
}

/** An amount that is not a number of cents becomes NaN, which `limitConnection` refuses. */
function readCents(text: string): number | null {
  if (text === 'none') return null
  return /^\d+$/.test(text) ? Number(text) : Number.NaN
}

/** Nothing new begins at a closed connection. Closing it again prints what has not ended there yet. */
export async function close(args: string[]): Promise<void> {
  const connectionRef = readConnectionRef(args)
  await withRuntime(async () => {
    const { id } = await findConnection(connectionRef)
    process.stderr.write(`${await closeOnce(id)}\n`)
    process.stderr.write(`Still open there: ${describeWork(await countOpenWork(id))}\n`)
    process.stdout.write(`${id}\n`)
  })
}

function describeWork({ charges, withdrawals, unapproved, refunds }: OpenWork): string {
  if (charges + withdrawals + refunds === 0) return 'nothing'
  const waiting = unapproved > 0 ? ` (${unapproved} wait for approval)` : ''
  const counts = `charges ${charges}, withdrawals ${withdrawals}${waiting}, refunds ${refunds}`
  return `${counts}. They end as usual: leave the contract at the bank active`
}

async function closeOnce(id: string): Promise<string> {
  try {
    return `Accounts that it was taken from: ${await closeConnection(id, ACTOR)}`
  } catch (error) {
    if (isTrocoError(error) && error.code === 'already_final') return error.message
    throw error
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path === '-' ? STDIN : path, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw refuse('not_found', `${path} cannot be read (${code})`)
  }
}

function readSettings(path: string): NewConnection['settings'] {
  try {
    return JSON.parse(readText(path))
  } catch (error) {
    if (error instanceof SyntaxError) {
      throw refuse('invalid_input', { message: `${path} contains no valid JSON` })
    }
    throw error
  }
}
