import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { prepare } from '#bin/prepare.mjs'
import { findBrowser } from '#e2e/runner/browser.ts'
import { listChanges, selectByChange } from '#e2e/runner/changed.ts'
import { ImportGraph } from '#e2e/runner/import-graph.ts'
import { countPlaywright, countVitest, type Tally, tallyOf } from '#e2e/runner/reports.ts'
import {
  listTests,
  parseRequest,
  type Request,
  type Selection,
  selectByWords,
} from '#e2e/runner/selection.ts'
import { inheritedEnv } from '#lib/base/env.ts'
import { searchLogs } from '#lib/testing/log-search.ts'
import { run } from '#lib/testing/run.ts'
import { chooseSeed } from '#lib/testing/seed.ts'
import { withServer } from '#lib/testing/server.ts'

const VITEST_REPORT = '.cache/vitest.json'
const LANE_REPORT = '.cache/vitest-lane.json'
const PLAYWRIGHT_REPORT = '.cache/playwright.json'
const SERVER_LOG = '.cache/e2e-server.log'
const TEST_LOG = '.cache/test.log'
const DATABASE = 'lib/base/db/client.ts'
/** A test that needs this starts the product as its user does, with its pages. */
const PRODUCT = 'lib/testing/process.ts'

const [command = 'test', ...args] = process.argv.slice(2)
const tallies: Tally[] = await work().catch(error => {
  process.stdout.write(`${error instanceof Error ? error.message : error}\n`)
  return [{ passed: 0, failed: 1 }]
})
const passed = tallies.reduce((sum, tally) => sum + tally.passed, 0)
const failed = tallies.reduce((sum, tally) => sum + tally.failed, 0)
for (const title of tallies.flatMap(({ retried = [] }) => retried))
  process.stdout.write(`\nretried: ${title}`)
process.stdout.write(`\n${passed} passed, ${failed} failed\n`)
process.exit(failed > 0 || (passed === 0 && !args.includes('--changed')) ? 1 : 0)

async function work(): Promise<Tally[]> {
  if (command === 'verify') return [...(await verify()), await checkHouse()]
  if (args.length > 0) return trySome(parseRequest(args))
  return [...(await verify()), ...(await tryEverything())]
}

/** What needs no database and takes seconds. */
async function verify(): Promise<Tally[]> {
  const plain = process.stdout.isTTY ? [] : ['--colors=off']
  return [
    await check('lint', 'biome', ['ci', '--error-on-warnings', ...plain]),
    await check('types', 'tsc', ['-p', '.']),
    await check('dead code', 'knip', []),
  ]
}

function checkHouse(): Promise<Tally> {
  return check('house', 'vitest', ['run', '--config', 'vitest.house.config.ts'])
}

async function tryEverything(): Promise<Tally[]> {
  clearReports()
  announceSeed()
  await prepare({ pages: true })
  const vitest = await tryTests([])
  const lane = await counted('the API once more, by way of Next', LANE_REPORT, countVitest, () =>
    run('vitest', ['run', '--config', 'vitest.lane.config.ts', ...reportersTo(LANE_REPORT)]),
  )
  const browser = await tryStories([])
  const logs = searchLogs([TEST_LOG, SERVER_LOG])
  if (logs.problem) process.stdout.write(`logs: ${logs.problem}\n`)
  return [vitest, lane, browser, { passed: logs.problem ? 0 : 1, failed: logs.problem ? 1 : 0 }]
}

/** The tests that were asked for, in what they need and nothing else. */
async function trySome(request: Request): Promise<Tally[]> {
  const graph = ImportGraph.read()
  const { tests, stories } = select(request, graph)
  const titled = request.title === null ? [] : ['-t', request.title]
  clearReports()
  announceSeed()
  const isNeeded = (file: string) => tests.some(test => graph.reach(test).has(file))
  if (isNeeded(PRODUCT)) await prepare({ pages: true })
  if (!isNeeded(DATABASE)) process.env.TEST_DATABASE = 'none'
  if (request.watch) {
    if (tests.length === 0) throw new Error('Only unit and API tests can be watched')
    const code = await run('vitest', ['watch', ...titled, ...tests])
    return [{ passed: 0, failed: code }]
  }
  const wanted = request.title === null ? stories : withTitle(stories, request.title)
  return [
    ...(tests.length > 0 ? [await tryTests([...titled, ...tests])] : []),
    ...(wanted.length > 0 ? [await tryStories(wanted, request.title)] : []),
  ]
}

function select({ words, changed }: Request, graph: ImportGraph): Selection {
  const named = selectByWords(listTests(), words)
  if (!changed) return named
  const { base, files } = listChanges()
  const { tests, stories } = selectByChange(named, files, graph)
  const counts = [
    `${files.length} files changed since ${base}`,
    `${tests.length} of ${named.tests.length} test files reach them by import or by a route they name`,
    `${stories.length} of ${named.stories.length} stories show their pages`,
  ]
  process.stdout.write(`${counts.join('; ')}\n`)
  return { tests, stories }
}

function tryTests(filters: string[]): Promise<Tally> {
  return counted('tests', VITEST_REPORT, countVitest, () =>
    run('vitest', ['run', ...reportersTo(VITEST_REPORT), ...filters]),
  )
}

function tryStories(files: string[], title: string | null = null): Promise<Tally> {
  const filters = [...(title === null ? [] : ['-g', title]), ...files]
  return counted('browser', PLAYWRIGHT_REPORT, countPlaywright, async () => {
    const executable = await findBrowser()
    await prepare({ pages: true })
    return withServer(SERVER_LOG, settings =>
      run('playwright', ['test', ...filters], {
        ...settings,
        E2E_BROWSER: executable,
        PLAYWRIGHT_JSON_OUTPUT_FILE: PLAYWRIGHT_REPORT,
      }),
    )
  })
}

/** Returns the stories, or none if no title matches: then no server is started. */
function withTitle(stories: string[], title: string): string[] {
  if (stories.length === 0) return []
  const list = ['test', '--list', '-g', title, ...stories]
  const { status } = spawnSync('playwright', list, { env: inheritedEnv(), stdio: 'ignore' })
  return status === 0 ? stories : []
}

function clearReports(): void {
  for (const file of [VITEST_REPORT, LANE_REPORT, PLAYWRIGHT_REPORT, SERVER_LOG, TEST_LOG])
    rmSync(file, { force: true })
}

function announceSeed(): void {
  const seed = chooseSeed()
  process.stdout.write(`seed ${seed}: TEST_SEED=${seed} repeats this run's random choices\n`)
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
