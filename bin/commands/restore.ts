import { parseArgs } from 'node:util'
import { readTime, requireOption, withRuntime } from '#bin/command-line.ts'
import { findConnection } from '#lib/banks/connections.ts'
import { invalidInput } from '#lib/core/errors.ts'
import { beginRestore, openAlone } from '#lib/operator/restore.ts'

const ACTOR = { type: 'command_line' } as const

/** Called again for the same restore point, it changes nothing and says so. */
export async function begin(args: string[]): Promise<void> {
  const { values } = parseArgs({ args, options: { to: { type: 'string' } } })
  const to = readTime(requireOption(values.to, '--to'))
  if (to === null) throw invalidInput('to', 'must be a time: the restore has printed it')
  await withRuntime(async () => {
    const { isNew, restoredTo, begunAt, feeds, connections } = await beginRestore(to, ACTOR)
    const point = restoredTo.toISOString()
    process.stdout.write(
      isNew
        ? `Restored to ${point}: ${feeds} event feeds begin another epoch, money out of ${connections} connections is closed\n`
        : `The restore to ${point} was begun at ${begunAt.toISOString()}: nothing was changed\n`,
    )
  })
}

/** For an installation with a single admin: two admins open a connection on its page. */
export async function open(args: string[]): Promise<void> {
  const options = { reason: { type: 'string' } } as const
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true })
  const connectionRef = requireOption(positionals[0], '<name|id>')
  const reason = requireOption(values.reason, '--reason')
  await withRuntime(async () => {
    const { id } = await findConnection(connectionRef)
    await openAlone(id, reason)
    process.stdout.write(`${id}\n`)
  })
}
