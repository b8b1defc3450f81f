import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { counted, readConnectionRef, requireOption, withRuntime } from '#bin/command-line.ts'
import { assignConnections, closeConnection } from '#lib/accounts/connections.ts'
import { findAccount, readAssignedConnections } from '#lib/accounts/queries.ts'
import {
  addConnection,
  CHECK_PASSED,
  checkConnection,
  correctSettings,
  findConnection,
  limitConnection,
  listConnections,
  renewCredentials,
} from '#lib/banks/connections.ts'
import {
  type BankFinding,
  type FindingCode,
  type FindingLevel,
  type FindingParams,
  findingLevelOf,
} from '#lib/banks/gateway.ts'
import { restrictNotices, rotateNoticeSecret } from '#lib/banks/notice-address.ts'
import { type KeyNotices, registerNoticeAddress } from '#lib/banks/notices.ts'
import type { NewConnection } from '#lib/banks/schema.ts'
import { findFlaw } from '#lib/banks/served.ts'
import { isTrocoError, refuse } from '#lib/core/errors.ts'
import { maskDictKey } from '#lib/core/pix/pix-key.ts'
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

export function assign(args: string[]): Promise<void> {
  const options = { receiving: { type: 'string' }, paying: { type: 'string' } } as const
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true })
  const { receiving, paying } = values
  if (!receiving && !paying) requireOption(undefined, '--receiving or --paying')
  return change(positionals[0], async () => ({
    ...(receiving && { receiving_id: (await findConnection(receiving)).id }),
    ...(paying && { paying_id: (await findConnection(paying)).id }),
  }))
}

/** Without an option, takes both connections from the account, which closes its live mode. */
export function unassign(args: string[]): Promise<void> {
  const options = { receiving: { type: 'boolean' }, paying: { type: 'boolean' } } as const
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true })
  const isBoth = !values.receiving && !values.paying
  return change(positionals[0], async () => ({
    ...((isBoth || values.receiving) && { receiving_id: null }),
    ...((isBoth || values.paying) && { paying_id: null }),
  }))
}

async function change(
  reference: string | undefined,
  readChange: () => Promise<{ receiving_id?: string | null; paying_id?: string | null }>,
): Promise<void> {
  const accountRef = requireOption(reference, '<e-mail|id>')
  await withRuntime(async () => {
    const { id } = await findAccount(accountRef)
    const assigned = { ...(await readAssignedConnections(id)), ...(await readChange()) }
    await assignConnections(id, assigned, ACTOR).catch(refuseOption)
    const [receiving, paying] = await Promise.all([
      nameOf(assigned.receiving_id),
      nameOf(assigned.paying_id),
    ])
    process.stderr.write(`Receives through: ${receiving}. Pays out through: ${paying}\n`)
    process.stdout.write(`${id}\n`)
  })
}

const OPTIONS = { receiving_id: '--receiving', paying_id: '--paying' }

/** Names the option of a refused field. */
function refuseOption(error: unknown): never {
  if (!isTrocoError(error) || error.code !== 'invalid_input') throw error
  for (const [field, option] of Object.entries(OPTIONS))
    if (error.fields?.[field])
      throw refuse('invalid_input', { message: error.message.replace(field, option) })
  throw error
}

async function nameOf(connectionId: string | null): Promise<string> {
  return connectionId === null ? 'none' : (await findConnection(connectionId)).name
}

const LABELS: Record<FindingLevel, string> = {
  ok: 'ok   ',
  warning: 'NOTE ',
  problem: 'WRONG',
  unanswered: 'DOWN ',
  untried: 'SKIP ',
}

/** Builds the sentence about a finding and, if the operator must act, the advice. */
type Sentences = (params: FindingParams) => [string, ...string[]]

const NEW_CERTIFICATE = 'Get a certificate from the bank, and replace this one with `bank renew`'
const OWN_CERTIFICATE =
  'With `bank renew`, give the certificate that the bank issued for this client_id and environment. If it is that one, ask the bank whether it is active'
const ASK_AGAIN = 'Repeat the check later. If it goes on, ask the bank'
const ADD_SCOPE = 'Ask the bank to add it to the application, or add it on the pages of the bank'

const SENTENCES: Record<FindingCode, Sentences> = {
  certificate_valid: ({ until, days }) => [
    `the certificate fits its key and is valid until ${day(until)}, ${counted(Number(days), 'day')}`,
  ],
  certificate_expires_soon: ({ until, days }) => [
    `the certificate expires on ${day(until)}, in ${counted(Number(days), 'day')}`,
    NEW_CERTIFICATE,
  ],
  certificate_expired: ({ until }) => [`the certificate expired on ${day(until)}`, NEW_CERTIFICATE],
  certificate_not_yet_valid: ({ from }) => [
    `the certificate is valid from ${from} on`,
    'Wait until then. If that is past, correct the clock of this machine',
  ],
  certificate_refused: ({ reason }) => [
    `the bank refuses the certificate (${reason})`,
    OWN_CERTIFICATE,
  ],
  certificate_dropped: ({ reason }) => [
    `the bank closes the connection without a response (${reason}), as for a certificate that it does not know`,
    OWN_CERTIFICATE,
  ],
  server_trusted: ({ host, until }) => [
    `the certificate of ${host} is trusted and valid until ${day(until)}`,
  ],
  server_untrusted: ({ host, issuer, reason }) => [
    `the certificate of ${host} is not trusted (${reason}); its issuer is ${issuer}`,
    'Compare api_url and token_url with the documents of the bank. If they are right, ask the bank for its authority, and give it as trusted_certificates to a new connection',
  ],
  server_private: ({ host }) => [
    `${host} leads to a private address`,
    'Correct api_url and token_url, or allow the range in BANK_ALLOW_CIDRS',
  ],
  server_unreachable: ({ host, reason }) => [
    `no connection to ${host} (${reason})`,
    'Allow outgoing connections to it in your firewall, and repeat the check. If it goes on, ask the bank',
  ],
  token_untried: () => [
    'not tried: the token, the scopes, the list of payments, the balance and the notices',
  ],
  token_issued: () => ['the bank accepts client_id and client_secret'],
  token_refused: ({ reason }) => [
    `the bank issues no token (${reason})`,
    'Compare client_id, client_secret and the certificate with those of the bank for this environment, and give the right ones with `bank renew`',
  ],
  token_unanswered: ({ reason }) => [`no answer to the request for a token (${reason})`, ASK_AGAIN],
  calls_untried: () => ['not tried: the scopes, the list of payments, the balance and the notices'],
  clock_agrees: ({ seconds }) => [`the clock of the bank differs by ${seconds} s`],
  clock_differs: ({ seconds }) => [
    `the clock of the bank differs by ${seconds} s`,
    'Synchronize the clock of this machine. If it is right, tell the bank',
  ],
  scope_used: ({ scope }) => [`the scope ${scope} works`],
  scope_missing: ({ scope, reason }) => [
    `the application lacks the scope ${scope} (${reason})`,
    ADD_SCOPE,
  ],
  scope_missing_for_notices: ({ scope }) => [
    `the application lacks the scope ${scope}, which is for notices`,
    ADD_SCOPE,
  ],
  scope_missing_for_disputes: ({ scope }) => [
    `the application lacks the scope ${scope}, without which Troco learns of no dispute and holds no amount for one`,
    ADD_SCOPE,
  ],
  scope_missing_for_statements: ({ scope }) => [
    `the application lacks the scope ${scope}, which \`bank statement\` needs`,
    ADD_SCOPE,
  ],
  scope_unproven: ({ scope, reason }) => [
    `the scope ${scope} could not be tried (${reason})`,
    'Repeat the check later. If it goes on, make a small charge and refund it',
  ],
  scope_unanswered: ({ scope, reason }) => [
    `no answer while the scope ${scope} was tried (${reason})`,
    ASK_AGAIN,
  ],
  payments_listed: () => ['the bank lists payments'],
  payments_refused: ({ reason }) => [
    `the bank refuses to list payments (${reason})`,
    'Ask the bank: without the list, payments are not found',
  ],
  payments_unanswered: ({ reason }) => [`no list of payments (${reason})`, ASK_AGAIN],
  balance_read: ({ amount }) => [`the bank reports the balance: R$ ${amount}`],
  balance_refused: ({ reason }) => [
    `the bank refuses to report the balance (${reason})`,
    'Ask the bank: without the balance, nothing is paid out',
  ],
  balance_unanswered: ({ reason }) => [`no balance (${reason})`, ASK_AGAIN],
  settings_open: ({ settings }) => [
    `the account accepts payments that belong to no charge: ${settings}`,
    'Change them with `bank correct-settings`, so that such payments do not wait among the differences',
  ],
  payer_notices_missing: ({ key }) => [
    `no address for notices about the key ${key}, from which the bank therefore pays nothing out`,
    'Register this installation with `bank register-notices`',
  ],
  notices_ours: ({ key }) => [`notices about the key ${key} come to this installation`],
  notices_outdated: ({ key }) => [
    `notices about the key ${key} go to an older address of this connection`,
    'Register the current one with `bank register-notices`: the older one is refused 24 hours after it was rotated',
  ],
  notices_missing: ({ key }) => [
    `no address for notices about the key ${key}`,
    'Register this installation with `bank register-notices`: without notices, payments are found a little later',
  ],
  notices_foreign: ({ key, host }) => [
    `notices about the key ${key} go to ${host}, not to this installation`,
    'If another system uses this key, give Troco a key of its own. If none does, replace the address with `bank register-notices --replace`',
  ],
  bank_answers: () => ['the bank answers'],
  bank_refuses: ({ reason }) => [`the bank refuses (${reason})`, 'Ask the bank'],
  bank_silent: ({ reason }) => [`the bank does not answer (${reason})`, ASK_AGAIN],
}

/** Formats a finding as a line and, unless all is well, a second one with what to do. */
export function formatFinding({ code, params }: BankFinding): string {
  const [found, advice] = SENTENCES[code](params)
  const line = `${LABELS[findingLevelOf({ code, params })]} ${code}: ${found}\n`
  return advice === undefined ? line : `${line}      ${advice}.\n`
}

function day(time: string | number | undefined): string {
  return String(time).slice(0, 10)
}

const STATES: Record<KeyNotices['state'], (host: string | null) => string> = {
  registered: () => 'registered now',
  foreign: host => `goes to ${host}; --replace replaces it`,
}

/** Registers the address for notices at the bank. It contains a secret, and is never printed. */
export async function register(args: string[]): Promise<void> {
  const options = { replace: { type: 'boolean' } } as const
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true })
  const connectionRef = requireOption(positionals[0], '<name|id>')
  await withRuntime(async () => {
    const { id, name } = await findConnection(connectionRef)
    await registerAt(id, name, values.replace)
  })
}

/** The address of before is accepted for 24 hours, or until the next rotation. */
export async function rotate(args: string[]): Promise<void> {
  const connectionRef = readConnectionRef(args)
  await withRuntime(async () => {
    const { id, name } = await findConnection(connectionRef)
    await rotateNoticeSecret(id, ACTOR)
    await registerAt(id, name)
  })
}

/** Prints a line for each key. Fails if the notices about one go elsewhere. */
async function registerAt(id: string, name: string, replacesForeign = false): Promise<void> {
  const result = await registerNoticeAddress(id, ACTOR, { replacesForeign })
  if (result === null) throw refuse('not_found', `The bank of ${name} sends no notices`)
  if (result.outcome !== 'ok') {
    const reason = 'reason' in result ? result.reason : result.bankText
    throw refuse('not_found', `${name} was not registered: ${reason}. See \`bank check\``)
  }
  for (const { key, state, host } of result.value) {
    process.stdout.write(`${maskDictKey(key)}\t${STATES[state](host)}\n`)
    if (state === 'foreign') process.exitCode = 1
  }
}

/** Processes learn of the rule within 5 s, and banks such as Efí verify it while they register. */
function registerAgain(connectionRef: string): string {
  return `Some banks verify this rule when they register the address. In 5 seconds, run \`bank register-notices ${connectionRef}\``
}

/** Sets from where, and with what proof, notices are accepted; what is not given stays. */
export async function restrict(args: string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      from: { type: 'string', multiple: true },
      certificate: { type: 'string' },
    },
  })
  const connectionRef = requireOption(positionals[0], '<name|id>')
  const { from, certificate } = values
  if (!from && !certificate) requireOption(undefined, '--from or --certificate')
  if (certificate && !['required', 'optional'].includes(certificate))
    throw refuse('invalid_input', { message: '--certificate must be required or optional' })
  await withRuntime(async () => {
    const { id } = await findConnection(connectionRef)
    const restrictions = {
      ...(from && { cidrs: from.filter(range => range !== 'all') }),
      ...(certificate && { isCertificateRequired: certificate === 'required' }),
    }
    await restrictNotices(id, restrictions, ACTOR)
    if (certificate) process.stderr.write(`${registerAgain(connectionRef)}\n`)
    process.stdout.write(`${id}\n`)
  })
}
