import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    globalSetup: ['lib/testing/setup.ts'],
    include: [
      'lib/**/*.test.ts',
      'bin/**/*.test.ts',
      'prisma/**/*.test.ts',
      '{app,components}/**/*.test.ts',
      'e2e/{api,client,fuzz,runner,torture}/*.test.ts',
    ],
    // Money tests keep a whole connection pool busy; more files at once only wait for each other.
    maxWorkers: 3,
    testTimeout: 60_000,
    // A busy machine is late; what never comes fails a little later.
    expect: { poll: { timeout: 10_000 } },
    hookTimeout: 60_000,
  },
})
