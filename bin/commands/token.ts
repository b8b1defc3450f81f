import { parseArgs } from 'node:util'
import { readMode, requireOption, withRuntime } from '#bin/command-line.ts'
import { findAccount } from '#lib/accounts/queries.ts'
import { refuse } from '#lib/core/errors.ts'
import { issueToken } from '#lib/tokens/issue.ts'
import { revokeToken } from '#lib/tokens/revoke.ts'
import {
  ADDRESSES_MAX,
  addressesRequest,
  DEFAULT_PERMISSIONS,
  isPermission,
  PERMISSIONS,
  type Permission,
} from '#lib/tokens/schema.ts'

const ACTOR = { type: 'command_line' } as const

/** Prints only the token, for use in scripts. */
export async function create(args: string[]): Promise<void> {
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
