import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { PLAYWRIGHT_REPORT, VITEST_REPORT } from '#e2e/runner/tools.ts'
import { inheritedEnv } from '#lib/core/settings.ts'
import { recordFigures } from './figures.ts'
import { MUTANTS, type Mutant } from './mutants.ts'

/** Share of the mutants that the tests must notice. */
const SCORE_MIN = 0.9
const MINUTE_MS = 60_000
/** Variables of a user's shell: this run's own database and sizes are not those of the copy's runs. */
const SHELL_VARIABLES = /^(PATH|HOME|USER|LANG|LC_\w+|TMPDIR|NODE_COMPILE_CACHE|E2E_BROWSER)$/

interface Outcome {
  file: string
  title: string
  status: string
}

const folder = mkdtempSync(join(tmpdir(), 'troco-mutants-'))
/** What the tests print in the copy. */
const output = openSync('.cache/mutants.log', 'w')
const noticed: string[] = []
const unnoticed: string[] = []

// biome-ignore lint/correctness/noEmptyPattern: Vitest requires a pattern before the suite
beforeAll(async ({}, { tasks }) => {
  copyTree()
  const titles = tasks.filter(({ mode }) => mode === 'run').map(({ name }) => name)
  const chosen = MUTANTS.filter(({ bug }) => titles.includes(bug))
  const outcomes = await runCopy(chosen)
  const unproven = chosen.filter(mutant => statusOf(mutant, outcomes) !== 'passed')
  expect(
    unproven.map(({ bug }) => bug),
    'mutants whose test fails without them',
  ).toEqual([])
}, 30 * MINUTE_MS)

afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
  const total = noticed.length + unnoticed.length
  if (total === 0) return
  recordFigures('mutants', {
    put_in: total,
    noticed: noticed.length,
    unnoticed: unnoticed.join('; ') || 'none',
  })
  expect(noticed.length / total, `unnoticed: ${unnoticed.join('; ')}`).toBeGreaterThanOrEqual(
    SCORE_MIN,
  )
})

test.each(MUTANTS.map(mutant => [mutant.bug, mutant] as const))(
  '%s',
  async (bug, mutant) => {
    const file = join(folder, mutant.file)
    const original = readFileSync(file, 'utf8')
    writeFileSync(
      file,
      original.replace(mutant.text, () => mutant.replacement),
    )
    const status = statusOf(mutant, await runCopy([mutant]))
    writeFileSync(file, original)
    if (status === 'failed') noticed.push(bug)
    else unnoticed.push(`${bug} (its test: ${status})`)
  },
  15 * MINUTE_MS,
)

/** Copies the sources. Packages and builds are linked, because the tests do not change them in place. */
function copyTree(): void {
  const list = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { encoding: 'utf8' })
  for (const file of list.split('\n').filter(name => name !== '' && existsSync(name)))
    cpSync(file, join(folder, file))
  cpSync('lib/db/generated', join(folder, 'lib/db/generated'), { recursive: true })
  for (const name of ['node_modules', '.next'].filter(existsSync)) {
    const { status } = spawnSync('cp', ['-al', resolve(name), folder], { stdio: 'ignore' })
    // Hard links need the same file system.
    if (status !== 0) execFileSync('cp', ['-a', resolve(name), folder])
  }
  // Some tests list the files of the repository.
  execFileSync('git', ['init', '--quiet'], { cwd: folder })
}

/** Runs the tests of these mutants in the copy. */
async function runCopy(mutants: readonly Mutant[]): Promise<Outcome[]> {
  const files = [...new Set(mutants.map(({ testFile }) => testFile))]
  const titles = [...new Set(mutants.map(({ testTitle }) => RegExp.escape(testTitle)))]
  const reports = [VITEST_REPORT, PLAYWRIGHT_REPORT].map(name => join(folder, name))
  for (const report of reports) rmSync(report, { force: true })
  const env = Object.entries(inheritedEnv()).filter(([name]) => SHELL_VARIABLES.test(name))
  const child = spawn('node', ['bin/bootstrap.mjs', 'test', ...files, '-t', titles.join('|')], {
    cwd: folder,
    env: Object.fromEntries(env) as NodeJS.ProcessEnv,
    stdio: ['ignore', output, output],
  })
  await once(child, 'exit')
  return [...readVitestReport(), ...readPlaywrightReport()]
}

/** Returns `failed` if any test of the mutant did, `passed` if all did, else why it is unknown. */
function statusOf({ testFile, testTitle }: Mutant, outcomes: readonly Outcome[]): string {
  const own = outcomes.filter(({ file, title }) => file === testFile && title.includes(testTitle))
  if (own.some(({ status }) => status === 'failed')) return 'failed'
  return own.length > 0 && own.every(({ status }) => status === 'passed') ? 'passed' : 'not run'
}

function readVitestReport(): Outcome[] {
  const report = join(folder, VITEST_REPORT)
  if (!existsSync(report)) return []
  const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as {
    testResults: { name: string; assertionResults: { fullName: string; status: string }[] }[]
  }
  return testResults.flatMap(({ name, assertionResults }) =>
    assertionResults
      .filter(({ status }) => ['passed', 'failed'].includes(status))
      .map(({ fullName, status }) => ({
        file: name.slice(folder.length + 1),
        title: fullName,
        status,
      })),
  )
}

interface Suite {
  file: string
  suites?: Suite[]
  specs?: { title: string; ok: boolean }[]
}

function readPlaywrightReport(): Outcome[] {
  const report = join(folder, PLAYWRIGHT_REPORT)
  if (!existsSync(report)) return []
  const { suites, config } = JSON.parse(readFileSync(report, 'utf8')) as {
    suites: Suite[]
    config: { rootDir: string }
  }
  const testFolder = config.rootDir.slice(folder.length + 1)
  const list = ({ file, suites: inner = [], specs = [] }: Suite): Outcome[] => [
    ...specs.map(({ title, ok }) => ({
      file: join(testFolder, file),
      title,
      status: ok ? 'passed' : 'failed',
    })),
    ...inner.flatMap(list),
  ]
  return suites.flatMap(list)
}
