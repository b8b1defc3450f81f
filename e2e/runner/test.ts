import { readFileSync, rmSync } from 'node:fs'
import { findBrowser } from '#e2e/runner/browser.ts'
import { searchLogs } from '#lib/testing/log-search.ts'
import { run } from '#lib/testing/run.ts'
import { withServer } from '#lib/testing/server.ts'

/** How many checks of one kind held. */
interface Tally {
  passed: number
  failed: number
}

const VITEST_REPORT = '.cache/vitest.json'
const LANE_REPORT = '.cache/vitest-lane.json'
const PLAYWRIGHT_REPORT = '.cache/playwright.json'
const SERVER_LOG = '.cache/e2e-server.log'
const TEST_LOG = '.cache/test.log'

const quick = process.argv.includes('verify')
const tallies = quick ? await verify() : [...(await verify()), ...(await tryEverything())]
const passed = tallies.reduce((sum, tally) => sum + tally.passed, 0)
const failed = tallies.reduce((sum, tally) => sum + tally.failed, 0)
process.stdout.write(`\n${passed} passed, ${failed} failed\n`)
process.exit(failed > 0 || passed === 0 ? 1 : 0)

/** What needs no database and takes seconds. */
async function verify(): Promise<Tally[]> {
  const plain = process.stdout.isTTY ? [] : ['--colors=off']
  const house = ['vitest', ['run', '--config', 'vitest.house.config.ts']] as const
  return [
    await check('lint', 'biome', ['ci', '--error-on-warnings', ...plain]),
    await check('types', 'tsc', ['-p', '.']),
    await check('dead code', 'knip', []),
    ...(quick ? [await check('house', ...house)] : []),
  ]
}

async function tryEverything(): Promise<Tally[]> {
  for (const file of [VITEST_REPORT, LANE_REPORT, PLAYWRIGHT_REPORT, SERVER_LOG, TEST_LOG])
    rmSync(file, { force: true })
  const vitest = await counted('tests', VITEST_REPORT, countVitest, () =>
    run('vitest', ['run', ...reportersTo(VITEST_REPORT)]),
  )
  const lane = await counted('the API once more, by way of Next', LANE_REPORT, countVitest, () =>
    run('vitest', ['run', '--config', 'vitest.lane.config.ts', ...reportersTo(LANE_REPORT)]),
  )
  const browser = await counted('browser', PLAYWRIGHT_REPORT, countPlaywright, async () => {
    const executable = await findBrowser()
    return withServer(SERVER_LOG, settings =>
      run('playwright', ['test'], {
        ...settings,
        E2E_BROWSER: executable,
        PLAYWRIGHT_JSON_OUTPUT_FILE: PLAYWRIGHT_REPORT,
      }),
    )
  })
  const logs = searchLogs([TEST_LOG, SERVER_LOG])
  if (logs.problem) process.stdout.write(`logs: ${logs.problem}\n`)
  return [vitest, lane, browser, { passed: logs.problem ? 0 : 1, failed: logs.problem ? 1 : 0 }]
}

function reportersTo(report: string): string[] {
  return ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
}

async function check(title: string, program: string, args: readonly string[]): Promise<Tally> {
  process.stdout.write(`\n${title}\n`)
  const good = (await run(program, [...args])) === 0
  if (!good) process.stdout.write(`${title} failed\n`)
  return { passed: good ? 1 : 0, failed: good ? 0 : 1 }
}

/** A runner that ends badly without a failed test (it crashed, say) counts as one failure. */
async function counted(
  title: string,
  report: string,
  count: (report: string) => Tally,
  work: () => Promise<number>,
): Promise<Tally> {
  process.stdout.write(`\n${title}\n`)
  const code = await work().catch(error => {
    process.stdout.write(`${error instanceof Error ? error.message : error}\n`)
    return 1
  })
  const tally = tallyOf(report, count)
  return code !== 0 && tally.failed === 0 ? { ...tally, failed: 1 } : tally
}

function tallyOf(report: string, count: (report: string) => Tally): Tally {
  try {
    return count(readFileSync(report, 'utf8'))
  } catch {
    return { passed: 0, failed: 0 }
  }
}

function countVitest(report: string): Tally {
  const { numPassedTests, numFailedTests, numFailedTestSuites } = JSON.parse(report)
  return { passed: numPassedTests, failed: numFailedTests || numFailedTestSuites }
}

function countPlaywright(report: string): Tally {
  const { stats } = JSON.parse(report)
  return { passed: stats.expected + stats.flaky, failed: stats.unexpected }
}
