import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { runProgram } from '#lib/testing/run.ts'
import { testInTorture } from '#lib/testing/torture.ts'

const PREPARE = pathToFileURL(resolve('bin/prepare.mjs')).href
/** Stands for the generator of the database client. */
const GENERATOR = "require('fs').mkdirSync('lib/db/generated', { recursive: true })"

/** Longer than a process waits for another one that gives no sign. */
const STALE_AFTER_MS = 7_000

let folder: string
const npmLog = () => resolve(folder, 'npm.log')

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'troco-prepare-'))
  const packages = { prisma: 'run/prisma', tester: 'tests/tester' }
  for (const [name, path] of Object.entries(packages)) {
    mkdirSync(join(folder, path, 'build'), { recursive: true })
    write(join(path, 'package.json'), JSON.stringify({ name, version: '1.0.0' }))
    write(join(path, 'build/index.js'), GENERATOR)
  }
  writeProject()
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

function write(path: string, text: string): void {
  writeFileSync(join(folder, path), text)
}

function writeProject(): void {
  const root = {
    name: 'project',
    version: '1.0.0',
    dependencies: { prisma: 'file:run/prisma' },
    devDependencies: { tester: 'file:tests/tester' },
  }
  const packages = {
    '': root,
    'node_modules/prisma': { resolved: 'run/prisma', link: true },
    'node_modules/tester': { resolved: 'tests/tester', link: true },
    'run/prisma': { version: '1.0.0' },
    'tests/tester': { version: '1.0.0', dev: true },
  }
  write('package.json', JSON.stringify(root))
  const file = { name: 'project', version: '1.0.0', lockfileVersion: 3, requires: true, packages }
  write('package-lock.json', JSON.stringify(file))
}

/** Runs `prepare` as `npm start` or `npm test` does, in a project of two packages, with the real npm. */
async function prepare(
  tests: boolean,
  settings: Record<string, string> = {},
  before = '',
): Promise<number> {
  const program = `process.chdir(${JSON.stringify(folder)})
    const { prepare } = await import(${JSON.stringify(PREPARE)})
    ${before}
    await prepare({ pages: false, tests: ${tests} })`
  const flags = ['--input-type=module', '--eval', program]
  return runProgram(process.execPath, flags, { npm_config_offline: 'true', ...settings }, npmLog())
}

const isInstalled = (name: string) => existsSync(join(folder, 'node_modules', name))
const installations = () => readFileSync(npmLog(), 'utf8').match(/Installing/g)?.length ?? 0

test('a start installs no packages of tests; tests add them, and a later start removes none', async () => {
  expect(await prepare(false)).toBe(0)
  expect([isInstalled('prisma'), isInstalled('tester')]).toEqual([true, false])
  write('node_modules/.marker', '')

  expect(await prepare(true)).toBe(0)
  expect([isInstalled('prisma'), isInstalled('tester')]).toEqual([true, true])
  expect(isInstalled('.marker')).toBe(true)
  expect(installations()).toBe(2)

  for (const tests of [false, true]) expect(await prepare(tests)).toBe(0)
  expect(installations()).toBe(2)
  expect(isInstalled('tester')).toBe(true)
})

testInTorture('an installation that was interrupted begins again from nothing', async () => {
  expect(await prepare(false)).toBe(0)
  write('dies.mjs', "process.kill(process.ppid, 'SIGKILL')")
  expect(await prepare(true, { npm_execpath: join(folder, 'dies.mjs') })).toBe(1)
  expect(isInstalled('.troco-install')).toBe(false)
  write('node_modules/.half-written', '')

  expect(await prepare(false)).toBe(0)
  expect(isInstalled('.half-written')).toBe(false)
  expect([isInstalled('prisma'), isInstalled('tester')]).toEqual([true, false])
})

testInTorture('packages of tests that cannot be installed leave a server startable', async () => {
  expect(await prepare(false)).toBe(0)
  write('node_modules/.marker', '')
  write('fails.mjs', 'process.exit(1)')
  expect(await prepare(true, { npm_execpath: join(folder, 'fails.mjs') })).toBe(1)
  expect(await prepare(false)).toBe(0)
  expect(isInstalled('.marker')).toBe(true)
})

test('processes that start at once install once', async () => {
  expect(await Promise.all([prepare(true), prepare(true), prepare(false)])).toEqual([0, 0, 0])
  expect(isInstalled('tester')).toBe(true)
  expect(installations()).toBeLessThanOrEqual(2)
})

testInTorture(
  'a process whose thread pool is busy keeps its place: another one waits, and installs nothing',
  async () => {
    const slowNpm = `setTimeout(() => require('fs').cpSync('run', 'node_modules', { recursive: true }), ${STALE_AFTER_MS})`
    write('slow.cjs', slowNpm)
    execFileSync('mkfifo', [join(folder, 'pipe')])
    const settings = { npm_execpath: join(folder, 'slow.cjs'), UV_THREADPOOL_SIZE: '1' }
    const busy = prepare(false, settings, `;(await import('node:fs')).open('pipe', 'r', () => {})`)
    await expect.poll(() => existsSync(join(folder, '.cache/bootstrap.lock'))).toBe(true)
    expect(await prepare(false, settings)).toBe(0)
    writeFileSync(join(folder, 'pipe'), '')
    expect(await busy).toBe(0)
    expect(installations()).toBe(1)
  },
)
