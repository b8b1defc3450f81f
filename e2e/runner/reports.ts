import { readFileSync } from 'node:fs'

/** Results of one kind of check. */
export interface Tally {
  passed: number
  failed: number
  /** Titles of browser tests that passed only when retried. They count as failed. */
  retried?: string[]
}

export function readReport(reportFile: string, count: (report: string) => Tally): Tally {
  try {
    return count(readFileSync(reportFile, 'utf8'))
  } catch {
    return { passed: 0, failed: 0 }
  }
}

export function countVitest(report: string): Tally {
  const { numPassedTests, numFailedTests, numFailedTestSuites } = JSON.parse(report)
  return { passed: numPassedTests, failed: numFailedTests || numFailedTestSuites }
}

interface Suite {
  title: string
  suites?: Suite[]
  specs?: { title: string; tests: { status: string }[] }[]
}

export function countPlaywright(report: string): Tally {
  const { stats, suites = [] } = JSON.parse(report) as {
    stats: { expected: number; unexpected: number; flaky: number }
    suites?: Suite[]
  }
  return {
    passed: stats.expected,
    failed: stats.unexpected + stats.flaky,
    retried: suites.flatMap(suite => listRetried(suite, [])),
  }
}

function listRetried({ title, suites = [], specs = [] }: Suite, parents: string[]): string[] {
  const path = [...parents, title]
  const flaky = specs.filter(({ tests }) => tests.some(({ status }) => status === 'flaky'))
  return [
    ...flaky.map(spec => [...path, spec.title].join(' › ')),
    ...suites.flatMap(suite => listRetried(suite, path)),
  ]
}
