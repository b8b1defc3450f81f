import { globSync, readFileSync } from 'node:fs'
import { defineConfig } from 'vitest/config'

/** Every test file except the browser tests. */
export const TESTS = [
  '{lib,bin,prisma,app,components}/**/*.test.ts',
  'packages/*/*.test.ts',
  'e2e/{api,banks,client,cluster,day,psp,runner,torture}/*.test.ts',
]
/**
 * They repeat at length what other files check, or start programs of their own for minutes: days of
 * merchants and a bank, kills, full disks, standbys, poolers, proxies, upgrades, hostile requests,
 * generated clients, bugs put in. `npm test` leaves them to `npm run torture`.
 */
const REPEATS = ['e2e/{day,torture}/*.test.ts']
/** They start the product with its pages, which `npm test` builds while other files run. */
const BUILT = [
  'bin/start.test.ts',
  'e2e/torture/start-refused.test.ts',
  'e2e/torture/documented-commands.test.ts',
  'e2e/torture/request-size.test.ts',
  'e2e/day/day.test.ts',
]
const left = process.env.WITHOUT_REPEATS ? REPEATS : []
/** Matches code that changes the process as `lib/testing/restore-process.ts` cannot undo, or measures it. */
const PROCESS_CHANGE_PATTERN =
  /supplyEnv\([^)]*(DATABASE_|PG_NAMED|LOG_LEVEL|METRICS_|OTEL_)|open(Own|Notice)Stage|process\.env\.?\[?\w+\]? ?=|\bvi\.(mock|useFakeTimers)|--expose-gc|memoryUsage|process\.(on|emit)\(/
const SHARED_FOLDERS =
  /^(lib|prisma|app|components|bin\/commands|packages|e2e\/(api|banks|client|cluster|psp|runner))\//

/** Files that share one module cache: a process of its own takes 1 to 2 CPU seconds of a file. */
const sharedFiles = globSync(TESTS).filter(
  file =>
    SHARED_FOLDERS.test(file) &&
    !BUILT.includes(file) &&
    !PROCESS_CHANGE_PATTERN.test(readFileSync(file, 'utf8')),
)

export default defineConfig({
  test: {
    globalSetup: ['lib/testing/setup.ts'],
    setupFiles: ['lib/testing/restore-process.ts'],
    // `npm run torture` shuffles the files: one that leaves something behind fails another.
    sequence: {
      shuffle: { files: Boolean(process.env.TORTURE_FIGURES), tests: false },
      seed: Number(process.env.TEST_SEED ?? 0),
    },
    // Beside the browser tests, they keep two cores busy: more would only make each slower.
    maxWorkers: 3,
    testTimeout: 180_000,
    // Generous, because a busy machine is slow.
    expect: { poll: { timeout: 60_000 } },
    hookTimeout: 180_000,
    // They run in the order of their names, so that many short files end the run.
    projects: [
      {
        extends: true,
        test: { name: 'alone', include: TESTS, exclude: [...sharedFiles, ...left, ...BUILT] },
      },
      {
        extends: true,
        test: {
          name: 'built',
          include: BUILT,
          exclude: left,
          setupFiles: ['lib/testing/built-pages.ts'],
        },
      },
      { extends: true, test: { name: 'shared', include: sharedFiles, isolate: false } },
    ],
  },
})
