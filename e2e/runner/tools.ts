import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { chromium } from 'playwright'
import { prepare } from '#bin/prepare.mjs'
import { findProgram, isExecutable } from '#lib/testing/debian.ts'
import { runProgram } from '#lib/testing/run.ts'
import { withServer } from '#lib/testing/server.ts'

export const SERVER_LOG = '.cache/e2e-server.log'
/** Output of the browser tests, which run beside the others: lines of two tools do not mix. */
export const BROWSER_OUTPUT = '.cache/browser-output.txt'

/** Runs the checks that need no database and take seconds. */
export async function verify(): Promise<Tally[]> {
  const colorFlags = process.stdout.isTTY ? [] : ['--colors=off']
  return [
    await check('lint', 'biome', ['ci', '--error-on-warnings', ...colorFlags]),
    // Each checker checks shared types again: four, the default, take 35 s of CPU, one takes 25.
    await check('types', 'tsc', ['-p', '.', '--checkers', '1']),
    await check('dead code', 'knip', []),
  ]
}

/** Tests of the layout rules, the mutants and the messages. */
const LAYOUT_TESTS = [
  'lib/testing/layout.test.ts',
  'e2e/runner/mutants.test.ts',
  'components/format/messages.test.ts',
]

export function checkArchitecture(): Promise<Tally> {
  return check('layout', 'vitest', ['run', ...LAYOUT_TESTS], { TEST_DATABASE: 'none' })
}

export function runTests(filters: string[], settings: Record<string, string> = {}): Promise<Tally> {
  return runAndCount('tests', VITEST_REPORT, countVitest, () =>
    runProgram('vitest', ['run', ...reporterFlags(VITEST_REPORT), ...filters], settings),
  )
}

export function runSpecs(
  files: string[],
  title: string | null = null,
  outputFile: string | null = null,
): Promise<Tally> {
  const filters = [...(title === null ? [] : ['-g', title]), ...files]
  return runAndCount('browser', PLAYWRIGHT_REPORT, countPlaywright, async () => {
    const executable = await findBrowser()
    await prepare({ pages: true })
    return withServer(SERVER_LOG, settings => {
      const reports = { E2E_BROWSER: executable, PLAYWRIGHT_JSON_OUTPUT_FILE: PLAYWRIGHT_REPORT }
      return runProgram('playwright', ['test', ...filters], { ...settings, ...reports }, outputFile)
    })
  })
}

function reporterFlags(report: string): string[] {
  return ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
}

export async function check(
  title: string,
  program: string,
  args: readonly string[],
  settings: Record<string, string> = {},
): Promise<Tally> {
  process.stdout.write(`\n${title}\n`)
  const hasPassed = (await runProgram(program, [...args], settings)) === 0
  if (!hasPassed) process.stdout.write(`${title} failed\n`)
  return { passed: hasPassed ? 1 : 0, failed: hasPassed ? 0 : 1 }
}

/** Runs a test tool and counts its tests. A tool that fails without a failed test is a failure. */
async function runAndCount(
  title: string,
  report: string,
  count: (report: string) => Tally,
  runTool: () => Promise<number>,
): Promise<Tally> {
  process.stdout.write(`\n${title}\n`)
  const code = await runTool().catch(error => {
    process.stdout.write(`${error instanceof Error ? error.message : error}\n`)
    return 1
  })
  const tally = readReport(report, count)
  return code !== 0 && tally.failed === 0 ? { ...tally, failed: 1 } : tally
}

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

/** Debian's package of Chromium without windows, which takes a third less CPU time in the tests. */
const HEADLESS = 'chromium-headless-shell'
const OTHERS = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

/** Finds or installs Chromium without windows; otherwise any other one, or Playwright's download. */
export async function findBrowser(): Promise<string> {
  const executable =
    (await findProgram(HEADLESS, [HEADLESS])) ??
    (await findProgram('chromium', OTHERS)) ??
    (await installFromPlaywright())
  if (executable) return executable
  throw new Error('There is no Chromium: install the package chromium, then run the tests again')
}

async function installFromPlaywright(): Promise<string | null> {
  if (isExecutable(chromium.executablePath())) return chromium.executablePath()
  await runProgram('playwright', ['install', 'chromium'])
  return isExecutable(chromium.executablePath()) ? chromium.executablePath() : null
}
