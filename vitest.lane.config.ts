import { defineConfig } from 'vitest/config'

/**
 * The tests of the API and of the payer's page once more, asked of the built product whose front
 * hands both on to Next. What needs a process with settings or a database of its own, or asks no
 * API, is left out.
 */
export default defineConfig({
  test: {
    globalSetup: ['e2e/setup.ts', 'e2e/lane.ts'],
    include: ['lib/http/*.test.ts', 'lib/payer/payer.test.ts'],
    exclude: [
      'lib/http/{rate-limit,redis,limits,client-ip}.test.ts',
      'lib/http/{empty-tables,hang-up,processes,secrets,step-up,doors-strict,passwords,sign-up}.test.ts',
      'lib/http/{openapi*,conformity}.test.ts',
    ],
    env: { MODEL_RUNS: '15' },
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
})
