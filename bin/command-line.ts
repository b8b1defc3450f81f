import { openRuntime, type Runtime } from '#bin/runtime.ts'
import { TrocoError } from '#lib/base/errors.ts'
import { MODES, type Mode } from '#lib/base/mode.ts'

/** Runs a command with a database under it, and leaves everything as it was found. */
export async function withRuntime(
  work: (runtime: Runtime) => Promise<void>,
  options: { staysUp?: boolean } = {},
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
  throw new TrocoError('invalid_input', `${name} is missing: see \`npm run -s troco -- help\``)
}

export function readMode(value: string | undefined): Mode {
  const mode = MODES.find(known => known === (value ?? 'test'))
  if (mode) return mode
  throw new TrocoError('invalid_input', '--mode must be test or live')
}
