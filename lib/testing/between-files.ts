import { afterAll } from 'vitest'
import { disconnect } from '#lib/base/db/client.ts'
import { supplyEnv } from '#lib/base/env.ts'

/** Of files that share a process, each begins with the settings of the run and without connections. */
const settings = { ...process.env }

afterAll(async () => {
  await disconnect()
  for (const name of Object.keys(process.env)) if (!(name in settings)) delete process.env[name]
  supplyEnv(settings as Record<string, string>)
})
