import { parseArgs } from 'node:util'
import { requireOption, withRuntime } from '#bin/command-line.ts'
import { assignConnections } from '#lib/accounts/connections.ts'
import { findAccount, readAssignedConnections } from '#lib/accounts/queries.ts'
import { findConnection } from '#lib/banks/connections.ts'
import { isTrocoError, refuse } from '#lib/core/errors.ts'

const ACTOR = { type: 'command_line' } as const

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
