/** A plausible bug, and the test that notices it. */
export interface Mutant {
  /** What the bug does; the title of its run. */
  bug: string
  file: string
  /** Occurs exactly once in the file. */
  text: string
  replacement: string
  testFile: string
  /** A test with this text in its title fails with the bug in. */
  testTitle: string
}

/**
 * Bugs that `npm run torture` puts in, one at a time: `npm test -- e2e/torture/mutants -t "<bug>"` does one.
 * An entry that a change makes outdated fails `npm run verify`.
 */
export const MUTANTS: readonly Mutant[] = [
  {
    bug: 'a quote in a cell of a CSV file ends the cell',
    file: 'lib/base/csv.ts',
    text: `text.replaceAll('"', '""')`,
    replacement: 'text',
    testFile: 'lib/base/csv.test.ts',
    testTitle: 'a cell with a separator, quote, line break or leading space is quoted',
  },
  {
    bug: 'a dead process counts as living, so that its idempotency keys wait for a minute',
    file: 'lib/base/db/presence.ts',
    text: 'AND NOT ${isSeenSql(column)}',
    replacement: 'AND FALSE',
    testFile: 'lib/base/db/presence.test.ts',
    testTitle: 'another process is gone when its connection ends',
  },
]
