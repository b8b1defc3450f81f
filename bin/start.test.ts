import {
  existsSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { listProcessesIn } from '#lib/db/embedded-server.ts'
import { makeDatabase } from '#lib/testing/fixtures.ts'
import {
  copyData,
  type Installation,
  killProcesses,
  makeInstallation,
  processesOf,
  runCommand,
  startServer,
  waitUntilStopped,
} from '#lib/testing/process.ts'
import { testInTorture } from '#lib/testing/torture.ts'

/** An installation with a migrated database, which tests copy instead of creating their own. */
let prepared: Installation
let installation: Installation

beforeAll(async () => {
  prepared = await makeInstallation()
  expect(await runCommand(['troco', 'account', 'list'], prepared.settings)).toMatchObject({
    code: 0,
  })
  // A command without a server stops the PostgreSQL that it started.
  expect(processesOf(prepared)).toEqual([])
})
afterAll(() => prepared.remove())

beforeEach(async () => {
  installation = await makeInstallation()
})
afterEach(async () => {
  await killProcesses(installation)
  installation.remove()
})

interface Demo {
  base_url: string
  token: string
}

function readDemo(): Demo {
  return JSON.parse(readFileSync(join(installation.folder, 'data', 'demo.json'), 'utf8'))
}

function createCharge(demo: Demo): Promise<Response> {
  const body = {
    amount: 700,
    client_name: 'Ana',
    client_email: 'ana@example.com',
    client_doc: '39053344705',
  }
  return fetch(`${demo.base_url}/transactions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${demo.token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
}

function listPostgresProcesses(where: Installation) {
  return processesOf(where).filter(({ command }) => /postgres/.test(command))
}

test('a start prints URL, credentials, token and a curl command that creates a charge, and ends at Ctrl+C', async () => {
  const started = await startServer(installation)
  const demo = readDemo()
  expect(started.output()).toContain(`http://localhost:${installation.port}`)
  for (const value of ['demo@troco.local', 'admin@troco.local', demo.token])
    expect(started.output()).toContain(value)
  expect(statSync(join(installation.folder, 'data', 'demo.json')).mode & 0o777).toBe(0o600)
  const curl =
    /curl (\S+)[\s\S]*?-H '(Auth[^']+)'[\s\S]*?-H '(Content[^']+)'[\s\S]*?-d '([^']+)'/.exec(
      started.output(),
    )
  const [, address = '', bearer = '', type = '', body = ''] = curl ?? []
  const headers = Object.fromEntries([bearer, type].map(line => line.split(': ')))
  const response = await fetch(address, { method: 'POST', headers, body })
  expect(response.status).toBe(200)
  expect(await response.json()).toMatchObject({
    status: 'success',
    data: { amount: 1500, status: 'pending' },
  })

  const verified = await runCommand(['troco', 'ledger', 'verify'], installation.settings)
  expect(verified.output).toMatch(/\d+ transfers, \d+ entries/)
  expect(verified.code).toBe(0)

  // A terminal sends SIGINT to the whole process group.
  const ownProcesses = processesOf(installation).filter(({ command }) => !/postgres/.test(command))
  for (const { pid } of ownProcesses) process.kill(pid, 'SIGINT')
  expect(await started.ended).toBe(0)
  await waitUntilStopped(installation, 1_000)
})

/** `e2e/torture/embedded-recovery` checks it without the command. */
testInTorture(
  'a PostgreSQL that outlives its parent is adopted, then stopped, by the command line',
  async () => {
    copyData(prepared, installation)
    const started = await startServer(installation)
    const [survivor] = listPostgresProcesses(installation)
    for (const { pid, command } of processesOf(installation))
      if (!/postgres/.test(command)) process.kill(pid, 'SIGKILL')
    await started.ended
    expect(listPostgresProcesses(installation).map(({ pid }) => pid)).toContain(survivor?.pid)
    const listed = await runCommand(['troco', 'account', 'list'], installation.settings)
    expect(listed.output).toMatch(/\tdemo@troco\.local\tactive\tLoja Aurora\n/)
    expect(listed.code).toBe(0)
    await waitUntilStopped(installation, 2_000)
  },
)

/** `lib/db/embedded` checks it without the command. */
testInTorture(
  'data of another PostgreSQL major version stops the start with one line of output',
  async () => {
    copyData(prepared, installation)
    writeFileSync(join(installation.folder, 'data', 'postgres', 'PG_VERSION'), '17\n')
    const { code, output } = await runCommand(['start'], installation.settings)
    expect(code).toBe(1)
    expect(output.trim()).toMatch(/^[^\n]*PostgreSQL 17[^\n]*$/)
    expect(processesOf(installation)).toEqual([])
  },
)

/** `e2e/torture/embedded-recovery` checks what a start makes of it. */
testInTorture(
  'a PostgreSQL killed under the server is restarted, and requests succeed again',
  async () => {
    copyData(prepared, installation)
    const started = await startServer(installation)
    const demo = readDemo()
    const file = join(installation.folder, 'data', 'postgres', 'postmaster.pid')
    const readPid = () => (existsSync(file) ? Number.parseInt(readFileSync(file, 'utf8'), 10) : 0)
    const killed = readPid()
    process.kill(killed, 'SIGKILL')
    const refusals: unknown[] = []
    // A slow machine may have it again before the first request arrives.
    await vi.waitFor(
      async () => {
        const response = await createCharge(demo)
        const isRestarted = ![0, killed].includes(readPid())
        if (response.status !== 200) refusals.push(await response.json())
        expect([response.status, isRestarted]).toEqual([200, true])
      },
      { timeout: 60_000, interval: 10 },
    )
    for (const refusal of refusals) expect(refusal).toEqual({ error: 'Service unavailable' })
    started.child.kill('SIGTERM')
    expect(await started.ended).toBe(0)
    await waitUntilStopped(installation, 1_000)
  },
)

testInTorture(
  'signing in while the database hangs returns 503 without internal details; a killed bootstrap process stops all',
  async () => {
    copyData(prepared, installation)
    const started = await startServer(installation)
    const origin = `http://localhost:${installation.port}`
    const csrf = await fetch(`${origin}/api/auth/csrf`)
    const { csrfToken } = await csrf.json()
    const database = listProcessesIn(
      realpathSync(join(installation.folder, 'data', 'postgres')),
      'postgres',
    )
    expect(database.length).toBeGreaterThan(1)
    for (const pid of database) process.kill(pid, 'SIGSTOP')
    const response = await fetch(`${origin}/api/auth/callback/credentials`, {
      method: 'POST',
      headers: {
        origin,
        cookie: csrf.headers
          .getSetCookie()
          .map(line => line.split(';')[0])
          .join('; '),
      },
      body: new URLSearchParams({
        csrfToken,
        email: 'demo@troco.local',
        password: 'x',
        json: 'true',
      }),
    })
    for (const pid of database) process.kill(pid, 'SIGCONT')
    expect(response.status).toBe(503)
    expect(await response.text()).not.toMatch(/prisma|invocation|127\.0\.0\.1/i)
    started.child.kill('SIGKILL')
    await started.ended
    await waitUntilStopped(installation)
  },
)

testInTorture(
  'with DATABASE_URL, neither the embedded PostgreSQL nor demo data is created, and SIGTERM drains',
  async () => {
    const settings = {
      ...installation.settings,
      DATABASE_URL: await makeDatabase({ migrated: false }),
      TROCO_SECRET: 'an-operator-key-of-enough-length-9f8e7d6c5b4a',
      PUBLIC_URL: `http://localhost:${installation.port}`,
      DRAIN_SECONDS: '10',
    }
    const started = await startServer(installation, settings)
    expect(listPostgresProcesses(installation)).toEqual([])
    expect(started.output()).not.toContain('demo@')
    expect(readdirSync(installation.folder)).toEqual([])
    const listed = await runCommand(['troco', 'account', 'list'], settings)
    expect(listed).toEqual({ code: 0, output: '' })
    started.child.kill('SIGTERM')
    const statusOf = async (path: string) => (await fetch(settings.PUBLIC_URL + path)).status
    await expect.poll(() => statusOf('/readyz')).toBe(503)
    expect(await statusOf('/login')).toBe(200)
    // SIGINT ends the draining.
    started.child.kill('SIGINT')
    expect(await started.ended).toBe(0)
  },
)
