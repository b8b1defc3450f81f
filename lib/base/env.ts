import { describeVariables, type Env, readEnv } from '#lib/base/settings.ts'

let current: Env | undefined

/** The process's settings. Read at the first use, so that a build needs none. */
export function env(): Env {
  current ??= readEnv(process.env)
  return current
}

/**
 * What the data folder knows and the environment did not say. It goes through `process.env`
 * because Next's bundle holds this module a second time.
 */
export function supplyEnv(values: Record<string, string>): void {
  Object.assign(process.env, values)
  current = undefined
}

/** Reads `.env` where there is one; what the environment says already wins. */
export function loadEnvFile(file: string): void {
  // Blank counts as unset, so it must not stand in the file's way.
  for (const { name } of describeVariables()) {
    if (process.env[name]?.trim() === '') delete process.env[name]
  }
  try {
    process.loadEnvFile(file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}

/** For children that are other programs: everything we were given. */
export function inheritedEnv(): NodeJS.ProcessEnv {
  return { ...process.env }
}
