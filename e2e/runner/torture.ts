import { existsSync, globSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { resolve } from 'node:path'
import { findBrowser } from '#e2e/runner/tools.ts'
import { inheritedEnv } from '#lib/core/settings.ts'
import { Random } from '#lib/testing/random.ts'
import { runProgram } from '#lib/testing/run.ts'
import { openRunFolder } from '#lib/testing/scratch.ts'
import { chooseSeed } from '#lib/testing/seed.ts'
import { withServer } from '#lib/testing/server.ts'
import { TESTS } from '../../vitest.config.ts'

/**
 * `npm run torture`: runs what `npm test` omits, and at full size what it runs at a small one;
 * `-- <files>`: these alone. The environment can set sizes. Every run has new
 * fuzzer seeds.
 */
const chosen = process.argv.slice(3)
const REPORT = '.cache/torture.json'
const FIGURES_FILE = resolve('.cache/torture-figures')
/** Mentioned by tests that are larger, or run only, in torture. */
const TORTURE_PATTERN =
  /\b(pickSize|pickInTurn|testInTorture|FUZZ_REQUESTS|MODEL_RUNS|MODEL_COMMANDS|PARALLEL_WITHDRAWALS|MATRIX_FULL|RECEIVERS)\b/
const tortureFiles = globSync(TESTS).filter(
  file => file.startsWith('e2e/torture/') || TORTURE_PATTERN.test(readFileSync(file, 'utf8')),
)
const SERVER_LOG = '.cache/torture-server.log'
const FUZZ_SEED_COUNT = 5

mkdirSync('.cache', { recursive: true })
for (const file of [REPORT, FIGURES_FILE]) rmSync(file, { force: true })
// An interrupted run leaves no process and no folder behind.
openRunFolder()
const random = new Random(chooseSeed(), 0)
const seeds = Array.from({ length: FUZZ_SEED_COUNT }, () => random.between(0, 2 ** 31 - 1))
process.stdout.write(`TEST_SEED=${chooseSeed()}\n`)
const settings = {
  FUZZ_SEED: seeds.join(','),
  FUZZ_REQUESTS: '50000',
  MODEL_RUNS: '1000',
  MODEL_COMMANDS: '100',
  PARALLEL_WITHDRAWALS: '10000',
  MATRIX_FULL: '1',
  RECEIVERS: '100000',
}
const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${REPORT}`]
// Sequential, because each of these files can use all cores.
const code = await runProgram(
  'vitest',
  ['run', '--no-file-parallelism', ...reporters, ...(chosen.length > 0 ? chosen : tortureFiles)],
  {
    ...settings,
    ...inheritedEnv(),
    TORTURE_FIGURES: FIGURES_FILE,
    TEST_ON_DISK: '1',
  },
)

const { numPassedTests: passed, numFailedTests, numFailedTestSuites } = readReport()
const repeats = [
  repeatBehindNext,
  () => repeatInBrowser('playwright', { TOUR_PICTURES: '1' }),
  () => repeatInBrowser('other-size', { OTHER_SIZE: '1' }),
]
const exitCodes: number[] = []
if (chosen.length === 0) for (const repeat of repeats) exitCodes.push(await repeat())
const failed =
  (numFailedTests || numFailedTestSuites || (code === 0 ? 0 : 1)) +
  exitCodes.filter(exitCode => exitCode !== 0).length
process.stdout.write(`\n${formatFigures()}\n\n${passed} passed, ${failed} failed\n`)
process.exit(failed > 0 || passed === 0 ? 1 : 0)

/** Runs all API tests with Next serving the API; `npm test` omits some and runs others smaller. */
function repeatBehindNext(): Promise<number> {
  return runProgram('vitest', ['run', '--config', 'vitest.next.config.ts'], {
    MATRIX_FULL: '1',
    MODEL_RUNS: '15',
  })
}

/** Runs all browser tests, with both themes and the settings of a variant. */
async function repeatInBrowser(name: string, variant: Record<string, string>): Promise<number> {
  const executable = await findBrowser()
  return withServer(SERVER_LOG, settings =>
    runProgram('playwright', ['test'], {
      ...settings,
      E2E_BROWSER: executable,
      ALL_STORIES: '1',
      ...variant,
      PLAYWRIGHT_JSON_OUTPUT_FILE: `.cache/torture-${name}.json`,
    }),
  )
}

function readReport() {
  const emptyReport = '{"numPassedTests":0,"numFailedTests":0,"numFailedTestSuites":0}'
  return JSON.parse(existsSync(REPORT) ? readFileSync(REPORT, 'utf8') : emptyReport)
}

/** Formats the measured figures as a table, one per line. */
function formatFigures(): string {
  const text = existsSync(FIGURES_FILE) ? readFileSync(FIGURES_FILE, 'utf8') : ''
  const rows: [string, string[]][] = text
    .split('\n')
    .filter(Boolean)
    .map(line => JSON.parse(line))
  const width = Math.max(0, ...rows.map(([title]) => title.length))
  return rows
    .flatMap(([title, values]) =>
      values.map((figure, index) => `${(index === 0 ? title : '').padEnd(width)}  ${figure}`),
    )
    .join('\n')
}
