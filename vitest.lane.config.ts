import { defineConfig } from 'vitest/config'

/**
 * Runs the tests of the API and the payer's page again, against the built product with API_LANE=next.
 * Excludes tests that need a process with its own settings or database, or that call no API.
 */
export default defineConfig({
  test: {
    globalSetup: ['lib/testing/setup.ts', 'lib/testing/lane.ts'],
    include: ['e2e/api/*.test.ts'],
    exclude: [
      'e2e/api/{rate-limit,rate-limit-redis,limits,in-flight,pool-wait,client-ip}.test.ts',
      'e2e/api/{empty-tables,hang-up,several-processes,person-proof,proof-declarations,admin-person-visitor-strict,person-password,visitor-signup}.test.ts',
      'e2e/api/openapi.test.ts',
    ],
    env: { MODEL_RUNS: process.env.MODEL_RUNS || '5' },
    maxWorkers: 2,
    isolate: false,
    testTimeout: 60_000,
    // Generous, because a busy machine is slow.
    expect: { poll: { timeout: 10_000 } },
    hookTimeout: 60_000,
  },
})
