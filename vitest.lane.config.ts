import { defineConfig } from 'vitest/config'

/**
 * The tests of the API and of the payer's page once more, asked of the built product whose front
 * hands both on to Next. What needs a process with settings or a database of its own, or asks no
 * API, is left out.
 */
export default defineConfig({
  test: {
    globalSetup: ['lib/testing/setup.ts', 'lib/testing/lane.ts'],
    include: ['e2e/api/*.test.ts'],
    exclude: [
      'e2e/api/{rate-limit,rate-limit-redis,limits,client-ip}.test.ts',
      'e2e/api/{empty-tables,hang-up,several-processes,person-proof,admin-person-visitor-strict,person-password,visitor-signup}.test.ts',
      'e2e/api/openapi.test.ts',
    ],
    env: { MODEL_RUNS: process.env.MODEL_RUNS || '5' },
    maxWorkers: 2,
    isolate: false,
    testTimeout: 60_000,
    // A busy machine is late; what never comes fails a little later.
    expect: { poll: { timeout: 10_000 } },
    hookTimeout: 60_000,
  },
})
