import { prepare } from '#bin/prepare.mjs'
import { findBrowser } from '#e2e/runner/browser.ts'
import {
  countPlaywright,
  countVitest,
  PLAYWRIGHT_REPORT,
  readReport,
  type Tally,
  VITEST_REPORT,
} from '#e2e/runner/reports.ts'
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

export function checkArchitecture(): Promise<Tally> {
  return check('layout', 'vitest', ['run', '--config', 'vitest.layout.config.ts'])
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
): Promise<Tally> {
  process.stdout.write(`\n${title}\n`)
  const hasPassed = (await runProgram(program, [...args])) === 0
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
