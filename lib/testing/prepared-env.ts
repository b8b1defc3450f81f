import { afterAll } from 'vitest'
import { inheritedEnv, supplyEnv } from '#lib/base/env.ts'

/** Test files share a process: each leaves the settings as the run prepared them. */
const prepared = inheritedEnv()
afterAll(() => {
  for (const name of Object.keys(process.env)) if (!(name in prepared)) delete process.env[name]
  Object.assign(process.env, prepared)
  // Reads the settings again.
  supplyEnv({})
})
