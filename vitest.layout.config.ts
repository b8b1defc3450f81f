import { defineConfig } from 'vitest/config'

/** Runs the tests of the layout rules and of the messages, which need no database. */
export default defineConfig({
  // It starts the linter, which takes half a minute on a busy machine.
  test: {
    include: [
      'lib/testing/layout.test.ts',
      'e2e/runner/mutants.test.ts',
      'components/format/messages.test.ts',
    ],
    testTimeout: 180_000,
  },
})
