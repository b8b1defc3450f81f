import { defineConfig } from 'vitest/config'

/** Runs only the test of the layout rules, which needs no database. */
export default defineConfig({
  // It starts the linter, which takes half a minute on a busy machine.
  test: {
    include: ['lib/testing/house.test.ts', 'e2e/runner/mutants.test.ts'],
    testTimeout: 180_000,
  },
})
