import { parseArgs } from 'node:util'
import { type CommandOptions, openCommandRuntime, type Runtime } from '#bin/runtime.ts'
import { refuse } from '#lib/core/errors.ts'
import { MODES, type Mode } from '#lib/core/mode.ts'

const TIME = /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?) ?(Z|[+-]\d\d:?\d\d)?$/

export async function withRuntime(
  work: (runtime: Runtime) => Promise<void>,
  options: CommandOptions = {},
): Promise<void> {
  const runtime = await openCommandRuntime(options)
  try {
    await work(runtime)
  } finally {
    await runtime.close()
  }
}

/** Writes `1 row` and `2 rows`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}

export function requireOption(value: string | undefined, name: string): string {
  if (value?.trim()) return value.trim()
  throw refuse('invalid_input', {
    message: `${name} is missing: see \`npm run -s troco -- help\``,
  })
}

export function readMode(value: string | undefined): Mode {
  const mode = MODES.find(known => known === (value ?? 'test'))
  if (mode) return mode
  throw refuse('invalid_input', { message: '--mode must be test or live' })
}

/** Reads the only argument of a command about a connection. */
export function readConnectionRef(args: string[]): string {
  const { positionals } = parseArgs({ args, allowPositionals: true })
  return requireOption(positionals[0], '<name|id>')
}

/** Reads a time in the time zone of this machine, or with an offset. Null: as late as possible. */
export function readTime(text: string): Date | null {
  if (text === 'latest') return null
  const [, day, time, zone = ''] = TIME.exec(text) ?? []
  const at = new Date(`${day}T${time}${zone.replace(/^([+-]\d\d)(\d\d)$/, '$1:$2')}`)
  if (day && at.getTime() <= Date.now()) return at
  throw refuse('invalid_input', {
    message:
      "--to must be a time before now such as '2026-11-20 14:05' (here), '2026-11-20 14:05-03:00' or '2026-11-20 17:05Z', or latest",
  })
}

export function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
