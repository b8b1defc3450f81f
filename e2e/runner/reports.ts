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
  /** Skipped tests whose reason is known, by reason. */
  skipped?: Record<string, number>
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
    assertionResults: {
      status: string
      fullName: string
      failureMessages: string[]
      meta?: { skipReason?: string }
    }[]
  }[]
}

/** Counts tests. `explain` gives the reason of skipped tests that name none themselves. */
export function countVitest(report: string, explain?: (file: string) => string): Tally {
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
  const skipped = countByText(
    testResults.flatMap(({ name, assertionResults }) =>
      assertionResults
        .filter(({ status }) => status === 'skipped')
        .map(({ meta }) => meta?.skipReason ?? explain?.(relative(process.cwd(), name))),
    ),
  )
  return { passed: numPassedTests, failed: failures.length, failures, skipped }
}

const firstLine = (text: string) => text.split('\n', 1)[0]

/** Says how many tests did not run, and why. */
export function listSkipped(tallies: Tally[]): string[] {
  const skipped = tallies.flatMap(tally => Object.entries(tally.skipped ?? {}))
  const counts = new Map<string, number>()
  for (const [reason, count] of skipped) counts.set(reason, (counts.get(reason) ?? 0) + count)
  return [...counts].map(([reason, count]) => `${count} skipped: ${reason}`)
}

function countByText(texts: (string | undefined)[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const text of texts) if (text) counts[text] = (counts[text] ?? 0) + 1
  return counts
}

interface Suite {
  title: string
  suites?: Suite[]
  specs?: {
    title: string
    tests: { status: string; annotations?: { type: string; description?: string }[] }[]
  }[]
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
    skipped: countByText(suites.flatMap(listSkipReasons)),
  }
}

function listSkipReasons({ suites = [], specs = [] }: Suite): (string | undefined)[] {
  const annotations = specs.flatMap(({ tests }) =>
    tests.flatMap(test => (test.status === 'skipped' ? (test.annotations ?? []) : [])),
  )
  const reasons = annotations.flatMap(({ type, description }) =>
    type === 'skip' ? [description] : [],
  )
  return [...reasons, ...suites.flatMap(listSkipReasons)]
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
