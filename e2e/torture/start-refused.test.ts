import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  type Installation,
  killProcesses,
  makeInstallation,
  processesOf,
  runCommand,
  startTroco,
} from '#lib/testing/process.ts'
import { pickSize } from '#lib/testing/size.ts'

let installation: Installation

beforeEach(async () => {
  installation = await makeInstallation()
})
afterEach(async () => {
  await killProcesses(installation)
  installation.remove()
})

test('a port in use stops the start with one line of output and leaves no process', async () => {
  const portHolder = createServer().listen(installation.port, '127.0.0.1')
  const { code, output } = await runCommand(['start'], installation.settings)
  portHolder.close()
  expect(code).toBe(1)
  expect(output.trim()).toBe(
    `Port ${installation.port} is already in use: stop the other program, or choose another port: PORT=${installation.port + 1} npm start`,
  )
  expect(processesOf(installation)).toEqual([])
})

test.each([
  [
    'a file where the data folder should be',
    () => writeFileSync(join(installation.folder, 'data'), ''),
    /^The data folder .* cannot be used/,
  ],
  [
    'damaged secrets',
    () => writeData('secrets.json', '{'),
    /^.*secrets\.json is damaged: restore it/,
  ],
])('%s stops the start with one line of output', async (_what, damage, line) => {
  damage()
  const { code, output } = await runCommand(['start'], installation.settings)
  expect(code).toBe(1)
  expect(output.trim().split('\n')).toHaveLength(1)
  expect(output.trim()).toMatch(line)
  expect(processesOf(installation)).toEqual([])
})

test('a start fails if secrets.json is missing beside existing data, and creates no new one', async () => {
  writeData('postgres/PG_VERSION', '18\n')
  const { code, output } = await runCommand(['start'], installation.settings)
  expect(code).toBe(1)
  expect(output.trim()).toMatch(/^secrets\.json is missing in [^\n]*: restore it[^\n]*$/)
  expect(readdirSync(join(installation.folder, 'data'))).not.toContain('secrets.json')
})

function writeData(file: string, text: string): void {
  const path = join(installation.folder, 'data', file)
  mkdirSync(join(path, '..'), { recursive: true })
  writeFileSync(path, text)
}

test('production reports all missing variables in one line', async () => {
  const { code, output } = await runCommand(['start'], {
    ...installation.settings,
    TROCO_ENV: 'production',
  })
  expect(code).toBe(1)
  expect(output.trim()).toMatch(
    /^Check the environment: TROCO_SECRET is missing.*PUBLIC_URL is missing[^\n]*$/,
  )
})

/** Both wait by the same function. */
test.each(pickSize(['start'], ['start', 'worker']))(
  'SIGTERM while `%s` waits for the database ends it with 0',
  async command => {
    const { child, output, ended } = startTroco([command], {
      ...installation.settings,
      DATABASE_URL: 'postgresql://troco:secret@127.0.0.1:1/troco',
      TROCO_SECRET: 'an-operator-key-of-enough-length-9f8e7d6c5b4a',
      PUBLIC_URL: `http://localhost:${installation.port}`,
      WAIT_FOR_DATABASE: '3600',
    })
    await expect.poll(output, { timeout: 60_000 }).toContain('Waiting for it')
    child.kill('SIGTERM')
    expect(await ended).toBe(0)
    expect(output()).toMatch(/^[^\n]+Waiting for it, 3600 s at most\n$/)
  },
)
