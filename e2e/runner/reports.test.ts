import { expect, test } from 'vitest'
import { countPlaywright, countVitest, readReport } from '#e2e/runner/reports.ts'

const spec = (title: string, status: string) => ({ title, tests: [{ status }] })

test('a browser test that passed only when retried counts as failed, and its title is listed', () => {
  const report = JSON.stringify({
    stats: { expected: 2, unexpected: 1, flaky: 2 },
    suites: [
      {
        title: 'webhooks.spec.ts',
        specs: [spec('resends', 'flaky'), spec('lists', 'expected'), spec('fails', 'unexpected')],
        suites: [{ title: 'on a phone', specs: [spec('filters', 'flaky')] }],
      },
      { title: 'docs.spec.ts', specs: [spec('opens', 'expected')] },
    ],
  })
  expect(countPlaywright(report)).toEqual({
    passed: 2,
    failed: 3,
    retried: ['webhooks.spec.ts › resends', 'webhooks.spec.ts › on a phone › filters'],
  })
})

test('a file that could not be loaded counts as failed', () => {
  const report = { numPassedTests: 3, numFailedTests: 0, numFailedTestSuites: 1 }
  expect(countVitest(JSON.stringify(report))).toEqual({ passed: 3, failed: 1 })
})

test('a missing report counts as no tests', () => {
  expect(readReport('.cache/no-such-report.json', countVitest)).toEqual({ passed: 0, failed: 0 })
})
