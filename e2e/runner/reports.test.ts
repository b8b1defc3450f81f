import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { countPlaywright, countVitest, readReport } from '#e2e/runner/tools.ts'

const spec = (title: string, status: string) => ({ title, tests: [{ status }] })

test('a browser test that failed, or passed only when retried, is listed', () => {
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
    failures: [
      'retried: webhooks.spec.ts › resends',
      'failed: webhooks.spec.ts › fails',
      'retried: webhooks.spec.ts › on a phone › filters',
    ],
  })
})

test('a failed test is listed with its file and the first line of its error', () => {
  const passed = { status: 'passed', fullName: 'holds', failureMessages: [] }
  const failed = {
    status: 'failed',
    fullName: 'adds up',
    failureMessages: ['AssertionError: expected 3 to be 4\n    at sum.test.ts:5:3'],
  }
  const report = {
    numPassedTests: 1,
    testResults: [
      { name: resolve('sum.test.ts'), status: 'failed', assertionResults: [passed, failed] },
    ],
  }
  expect(countVitest(JSON.stringify(report))).toEqual({
    passed: 1,
    failed: 1,
    failures: ['failed: sum.test.ts › adds up: AssertionError: expected 3 to be 4'],
  })
})

test('a file that could not be loaded counts as failed, beside failed tests of others', () => {
  const failed = { status: 'failed', fullName: 'divides', failureMessages: ['by zero'] }
  const report = {
    numPassedTests: 3,
    testResults: [
      {
        name: resolve('sum.test.ts'),
        status: 'failed',
        message: 'Cannot find module',
        assertionResults: [],
      },
      { name: resolve('ratio.test.ts'), status: 'failed', assertionResults: [failed] },
    ],
  }
  expect(countVitest(JSON.stringify(report))).toEqual({
    passed: 3,
    failed: 2,
    failures: [
      'failed: sum.test.ts: Cannot find module',
      'failed: ratio.test.ts › divides: by zero',
    ],
  })
})

test('a missing report counts as no tests', () => {
  expect(readReport('.cache/no-such-report.json', countVitest)).toEqual({ passed: 0, failed: 0 })
})
