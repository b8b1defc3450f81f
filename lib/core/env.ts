import { lstatSync, readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { describeVariables, type Env, EnvError, readEnv } from '#lib/core/settings.ts'

let cachedEnv: Env | undefined

/** Returns the settings of the process. Read on first use, so that a build needs no environment. */
export function env(): Env {
  cachedEnv ??= readEnv(process.env)
  return cachedEnv
}

/** Adds settings. Writes `process.env`, because Next's bundle has its own copy of this module. */
export function supplyEnv(values: Record<string, string>): void {
  Object.assign(process.env, values)
  cachedEnv = undefined
}

/** Loads a `.env` file if it exists; throws if it exists and cannot be read. Variables that are already set take precedence. */
export function loadEnvFile(file: string): void {
  // A blank variable counts as unset, but process.loadEnvFile would not overwrite it.
  for (const { name } of describeVariables()) {
    if (process.env[name]?.trim() === '') delete process.env[name]
  }
  for (const [name, value] of Object.entries(parseEnv(readEnvFile(file))))
    if (value !== undefined) process.env[name] ??= value
}

/** Returns the text of the file, or none if it does not exist; a link that leads nowhere exists. */
function readEnvFile(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const isAbsent = code === 'ENOENT' && !lstatSync(file, { throwIfNoEntry: false })
    if (isAbsent) return ''
    throw new EnvError([
      `${file} cannot be read (${code}): let this user read it, or remove it and set the variables yourself`,
    ])
  }
}

export function inheritedEnv(): NodeJS.ProcessEnv {
  return { ...process.env }
}
