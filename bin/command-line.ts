import { parseArgs } from 'node:util'
import { openRuntime, type Runtime, type RuntimeOptions } from '#bin/runtime.ts'
import { refuse } from '#lib/base/errors.ts'
import { MODES, type Mode } from '#lib/base/mode.ts'

export async function withRuntime(
  work: (runtime: Runtime) => Promise<void>,
  options: RuntimeOptions = {},
): Promise<void> {
  const runtime = await openRuntime(options)
  try {
    await work(runtime)
  } finally {
    await runtime.close()
  }
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
