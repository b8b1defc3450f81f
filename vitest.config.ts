import { globSync, readFileSync } from 'node:fs'
import { defineConfig } from 'vitest/config'

/** Every test file but the browser's stories. */
export const TESTS = [
  '{lib,bin,prisma,app,components}/**/*.test.ts',
  'e2e/{api,client,fuzz,runner,torture}/*.test.ts',
]
/** What changes a process for every test that runs in it, or needs one that nothing else used. */
const CHANGES_ITS_PROCESS =
  /supplyEnv|inOwnDatabase|openOwnStage|process\.env\.?\[?\w+\]? ?=|Object\.assign\(process\.env|\bvi\.|--expose-gc|memoryUsage|process\.(on|emit)\(/
const MAY_SHARE = /^(lib\/(services|rooms|views)|prisma|components|e2e\/api)\//

/** Loading the API takes each file a second: these files share one process's modules. */
const shared = globSync(TESTS).filter(
  file => MAY_SHARE.test(file) && !CHANGES_ITS_PROCESS.test(readFileSync(file, 'utf8')),
)

export default defineConfig({
  test: {
    globalSetup: ['lib/testing/setup.ts'],
    // Money tests keep a whole connection pool busy; more files at once only wait for each other.
    maxWorkers: 3,
    testTimeout: 60_000,
    // A busy machine is late; what never comes fails a little later.
    expect: { poll: { timeout: 10_000 } },
    hookTimeout: 60_000,
    projects: [
      { extends: true, test: { name: 'shared', include: shared, isolate: false } },
      { extends: true, test: { name: 'alone', include: TESTS, exclude: shared } },
    ],
  },
})
