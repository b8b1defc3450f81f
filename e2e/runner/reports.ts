import { readFileSync } from 'node:fs'
import { relative } from 'node:path'

export const VITEST_REPORT = '.cache/vitest.json'
export const PLAYWRIGHT_REPORT = '.cache/playwright.json'

/** Results of one kind of check. */
export interface Tally {
  passed: number
  failed: number
  /** One line per failed test. A browser test that passed only when retried counts as failed. */
  failures?: string[]
}

export function readReport(reportFile: string, count: (report: string) => Tally): Tally {
  try {
    return count(readFileSync(reportFile, 'utf8'))
  } catch {
    return { passed: 0, failed: 0 }
  }
}

interface VitestReport {
  numPassedTests: number
  testResults: {
    name: string
    status: string
    message: string
    assertionResults: { status: string; fullName: string; failureMessages: string[] }[]
  }[]
}

export function countVitest(report: string): Tally {
  const { numPassedTests, testResults } = JSON.parse(report) as VitestReport
  const failures = testResults
    .filter(({ status }) => status === 'failed')
    .flatMap(({ name, message, assertionResults }) => {
      const file = relative(process.cwd(), name)
      const failedTests = assertionResults.filter(({ status }) => status === 'failed')
      if (failedTests.length === 0) return [`failed: ${file}: ${firstLine(message)}`]
      return failedTests.map(
        ({ fullName, failureMessages: [reason = ''] }) =>
          `failed: ${file} › ${fullName}: ${firstLine(reason)}`,
      )
    })
  return { passed: numPassedTests, failed: failures.length, failures }
}

const firstLine = (text: string) => text.split('\n', 1)[0]

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
    failures: suites.flatMap(suite => listFailures(suite, [])),
  }
}

const LABELS: Record<string, string> = { unexpected: 'failed', flaky: 'retried' }

function listFailures({ title, suites = [], specs = [] }: Suite, parents: string[]): string[] {
  const path = [...parents, title]
  const failures = specs.flatMap(spec => {
    const status = spec.tests.map(test => test.status).find(status => status in LABELS)
    return status ? [`${LABELS[status]}: ${[...path, spec.title].join(' › ')}`] : []
  })
  return [...failures, ...suites.flatMap(suite => listFailures(suite, path))]
}
