import { afterAll, vi } from 'vitest'
import { inheritedEnv, supplyEnv } from '#lib/base/env.ts'
import { closeRateLimits } from '#lib/edge/http/rate-limit.ts'

/** Undoes what a test file changed in its process, because the next file may share it. */
const before = inheritedEnv()
afterAll(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
  for (const name of Object.keys(process.env)) {
    if (before[name] === undefined) delete process.env[name]
  }
  supplyEnv(before as Record<string, string>)
  closeRateLimits()
})
