import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { prepare } from '#bin/prepare.mjs'
import {
  explainChanges,
  ImportGraph,
  listChanges,
  listTests,
  parseRunOptions,
  type RunOptions,
  type Selection,
  selectByChange,
  selectByWords,
} from '#e2e/runner/changed.ts'
import {
  BROWSER_OUTPUT,
  check,
  checkArchitecture,
  PLAYWRIGHT_REPORT,
  runSpecs,
  runTests,
  SERVER_LOG,
  type Tally,
  VITEST_REPORT,
  verify,
} from '#e2e/runner/tools.ts'
import { inheritedEnv } from '#lib/core/settings.ts'
import { searchLogs } from '#lib/testing/log-search.ts'
import { runProgram } from '#lib/testing/run.ts'
import { openRunFolder } from '#lib/testing/scratch.ts'
import { chooseSeed } from '#lib/testing/seed.ts'

const TEST_LOG = '.cache/test.log'
const BANK_TRAFFIC = resolve('.cache/bank-traffic')
const DATABASE_CLIENT = 'lib/db/client.ts'
const JUDGES = ['--disable-warning=ExperimentalWarning', 'e2e/psp/judge.ts', 'judge']
/** Tests that import one of these files start the whole product, so they need its built pages. */
const PRODUCT_STARTERS = ['lib/testing/process.ts', 'lib/testing/web-process.ts']

// An interrupted run leaves no process and no folder behind.
if (process.argv[2] !== 'verify') openRunFolder()
// Every test bank of the run records its exchanges there, for the judges.
process.env.BANK_TRAFFIC = BANK_TRAFFIC

const [command = 'test', ...args] = process.argv.slice(2)
const tallies: Tally[] = await runCommand().catch(error => {
  process.stdout.write(`${error instanceof Error ? error.message : error}\n`)
  return [{ passed: 0, failed: 1 }]
})
const passed = tallies.reduce((sum, tally) => sum + tally.passed, 0)
const failed = tallies.reduce((sum, tally) => sum + tally.failed, 0)
for (const line of tallies.flatMap(({ failures = [] }) => failures))
  process.stdout.write(`\n${line}`)
process.stdout.write(`\n${passed} passed, ${failed} failed\n`)
process.exit(failed > 0 || (passed === 0 && !args.includes('--changed')) ? 1 : 0)

async function runCommand(): Promise<Tally[]> {
  if (command === 'verify') return [...(await verify()), await checkArchitecture()]
  if (args.length > 0) return runSelected(parseRunOptions(args))
  return runEverything()
}

async function runEverything(): Promise<Tally[]> {
  clearReports()
  printSeed()
  // `runSpecs` waits for the build, and reports if it fails.
  prepare({ pages: true }).catch(() => {})
  const checks = await verify()
  // Side by side: while Vitest waits for a time or a process, the browser tests use the cores.
  writeFileSync(BROWSER_OUTPUT, '')
  const [tests, browser] = await Promise.all([
    runTests([], { WITHOUT_REPEATS: '1' }),
    runSpecs([], null, BROWSER_OUTPUT),
  ])
  process.stdout.write(readFileSync(BROWSER_OUTPUT))
  const judges = await check('judges of the bank traffic', 'node', JUDGES)
  const { problem } = searchLogs([TEST_LOG, SERVER_LOG])
  if (problem) process.stdout.write(`logs: ${problem}\n`)
  const logs = { passed: problem ? 0 : 1, failed: problem ? 1 : 0 }
  return [...checks, tests, browser, judges, logs]
}

/** Runs the selected tests and prepares only what they need. */
async function runSelected(options: RunOptions): Promise<Tally[]> {
  const graph = ImportGraph.read()
  const { tests, specs } = select(options, graph)
  const titleFlags = options.title === null ? [] : ['-t', options.title]
  clearReports()
  printSeed()
  const isNeeded = (file: string) => tests.some(test => graph.listReachable(test).has(file))
  if (PRODUCT_STARTERS.some(isNeeded)) await prepare({ pages: true })
  if (!isNeeded(DATABASE_CLIENT)) process.env.TEST_DATABASE = 'none'
  if (options.watch) {
    if (tests.length === 0) throw new Error('Only unit and API tests can be watched')
    const code = await runProgram('vitest', ['watch', ...titleFlags, ...tests])
    return [{ passed: 0, failed: code }]
  }
  const titledSpecs = options.title === null ? specs : filterByTitle(specs, options.title)
  return [
    ...(tests.length > 0 ? [await runTests([...titleFlags, ...tests])] : []),
    ...(titledSpecs.length > 0 ? [await runSpecs(titledSpecs, options.title)] : []),
  ]
}

function select({ words, changed }: RunOptions, graph: ImportGraph): Selection {
  const candidates = selectByWords(listTests(), words)
  if (!changed) return candidates
  const { base, files } = listChanges()
  const { tests, specs } = selectByChange(candidates, files, graph)
  const lines = [
    `${files.length} files changed since ${base}: ${tests.length} of ${candidates.tests.length} test files, ${specs.length} of ${candidates.specs.length} stories`,
    ...explainChanges(candidates, files, graph),
  ]
  process.stdout.write(`${lines.join('\n')}\n`)
  return { tests, specs }
}

/** Returns the files, or none if no title matches, so that no server is started needlessly. */
function filterByTitle(specs: string[], title: string): string[] {
  if (specs.length === 0) return []
  const list = ['test', '--list', '-g', title, ...specs]
  const { status } = spawnSync('playwright', list, { env: inheritedEnv(), stdio: 'ignore' })
  return status === 0 ? specs : []
}

function clearReports(): void {
  const reports = [VITEST_REPORT, PLAYWRIGHT_REPORT]
  for (const file of [...reports, SERVER_LOG, TEST_LOG, BANK_TRAFFIC])
    rmSync(file, { force: true, recursive: true })
}

function printSeed(): void {
  const seed = chooseSeed()
  process.stdout.write(`seed ${seed}: TEST_SEED=${seed} repeats this run's random choices\n`)
}
