import { parseArgs } from 'node:util'
import { readConnectionRef, requireOption, withRuntime } from '#bin/command-line.ts'
import { findConnection } from '#lib/banks/connections.ts'
import { restrictNotices, rotateNoticeSecret } from '#lib/banks/notice-address.ts'
import { type KeyNotices, registerNoticeAddress } from '#lib/banks/register-notices.ts'
import { refuse } from '#lib/core/errors.ts'
import { maskDictKey } from '#lib/core/pix/pix-key.ts'

const ACTOR = { type: 'command_line' } as const

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
