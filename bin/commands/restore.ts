import { parseArgs } from 'node:util'
import { requireOption, withRuntime } from '#bin/command-line.ts'
import { refuse } from '#lib/base/errors.ts'
import { beginRestore } from '#lib/rooms/restore/begin.ts'
import { openAlone } from '#lib/rooms/restore/open.ts'
import { findConnection } from '#lib/services/gateway/connections.ts'

const ACTOR = { type: 'command_line' } as const
const TIME = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?$/

/** Called again for the same restore point, it changes nothing and says so. */
export async function begin(args: string[]): Promise<void> {
  const { values } = parseArgs({ args, options: { to: { type: 'string' } } })
  const restoredTo = readTime(requireOption(values.to, '--to'))
  await withRuntime(async () => {
    const { isNew, begunAt, feeds, connections } = await beginRestore(restoredTo, ACTOR)
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

/** A time without a zone is of UTC. */
function readTime(text: string): Date {
  const [, , , zone] = TIME.exec(text) ?? []
  const time = new Date(`${text.replace(' ', 'T')}${zone ? '' : 'Z'}`)
  if (TIME.test(text) && !Number.isNaN(time.getTime())) return time
  throw refuse('invalid_input', { message: '--to must be a time, such as 2026-11-20T14:05Z' })
}
