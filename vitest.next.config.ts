import { globSync, readFileSync } from 'node:fs'
import { defineConfig } from 'vitest/config'

const API_TESTS = 'e2e/api/*.test.ts'
/** They set the settings or use a database of their own process, which the server does not share. */
const IN_ONE_PROCESS = /\b(supplyEnv|inOwnDatabase)\(/

/**
 * Runs the tests of the API and the payer's page again, against the product in development: Next serves
 * the route files there, which proves that they are its canonical handlers.
 * Excludes tests of HTTP itself and those that start servers of their own or call no API.
 */
export default defineConfig({
  test: {
    globalSetup: ['lib/testing/setup.ts', 'lib/testing/next-server.ts'],
    include: [API_TESTS],
    exclude: [
      ...globSync(API_TESTS).filter(path => IN_ONE_PROCESS.test(readFileSync(path, 'utf8'))),
      'e2e/api/{rate-limit-redis,hang-up,several-processes,openapi,raw-http}.test.ts',
    ],
    maxWorkers: 2,
    isolate: false,
    testTimeout: 180_000,
    // Generous, because a busy machine is slow.
    expect: { poll: { timeout: 10_000 } },
    hookTimeout: 180_000,
  },
})
