import { afterAll, vi } from 'vitest'
import { inheritedEnv, supplyEnv } from '#lib/base/env.ts'
import { processWide } from '#lib/base/process-wide.ts'
import { closeRateLimits } from '#lib/edge/http/rate-limit.ts'
import { unregisterAdapters } from '#lib/services/gateway/adapters.ts'

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
