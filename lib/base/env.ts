import { describeVariables, type Env, readEnv } from '#lib/base/settings.ts'

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

/** Loads a `.env` file if it exists. Variables that are already set take precedence. */
export function loadEnvFile(file: string): void {
  // A blank variable counts as unset, but process.loadEnvFile would not overwrite it.
  for (const { name } of describeVariables()) {
    if (process.env[name]?.trim() === '') delete process.env[name]
  }
  try {
    process.loadEnvFile(file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}

export function inheritedEnv(): NodeJS.ProcessEnv {
  return { ...process.env }
}
