import { afterAll, vi } from 'vitest'
import { unregisterAdapters } from '#lib/banks/served.ts'
import { processWide } from '#lib/core/process-wide.ts'
import { inheritedEnv, supplyEnv } from '#lib/core/settings.ts'
import { closeRateLimits } from '#lib/http/rate-limit.ts'

const before = processWide('settings before the tests', inheritedEnv)

/** Undoes what a test file changed in its process, because the next file may share it. */
function restore(): void {
  vi.useRealTimers()
  vi.restoreAllMocks()
  vi.unstubAllEnvs()
  vi.unstubAllGlobals()
  for (const name of Object.keys(process.env)) {
    if (before[name] === undefined) delete process.env[name]
  }
  supplyEnv(before as Record<string, string>)
  closeRateLimits()
  unregisterAdapters()
}

// Also before a file: the hooks of one that fails do not all run.
restore()
afterAll(restore)
