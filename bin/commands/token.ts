import { parseArgs } from 'node:util'
import { readMode, requireOption, withRuntime } from '#bin/command-line.ts'
import { refuse } from '#lib/base/errors.ts'
import { findAccount } from '#lib/rooms/accounts/queries.ts'
import { issueToken } from '#lib/rooms/tokens/issue.ts'
import { revokeToken } from '#lib/rooms/tokens/revoke.ts'
import {
  DEFAULT_PERMISSIONS,
  isPermission,
  PERMISSIONS,
  type Permission,
} from '#lib/rooms/tokens/schema.ts'

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
    },
  })
  const accountRef = requireOption(values.account, '--account')
  const name = requireOption(values.name, '--name')
  const mode = readMode(values.mode)
  const permissions = readPermissions(values.permissions)
  await withRuntime(async () => {
    const { id: accountId } = await findAccount(accountRef)
    const { token } = await issueToken({ accountId, name, mode, permissions }, ACTOR)
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
