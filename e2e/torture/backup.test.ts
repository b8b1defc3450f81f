import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { openDataFolder } from '#bin/runtime.ts'
import { pickSize, recordFigures } from '#e2e/torture/figures.ts'
import type { Account } from '#lib/accounts/schema.ts'
import { readArchive } from '#lib/backup/archive.ts'
import { listBackups } from '#lib/backup/manifest.ts'
import { findServerPrograms } from '#lib/backup/programs.ts'
import { env, supplyEnv } from '#lib/core/settings.ts'
import { disconnect } from '#lib/db/client.ts'
import { findPostgresUser } from '#lib/db/embedded-server.ts'
import { prepareDatabase } from '#lib/db/roles.ts'
import { findProgram } from '#lib/testing/debian.ts'
import { findProcessesIn, query } from '#lib/testing/embedded.ts'
import { fundMerchant, makeMerchant } from '#lib/testing/fixtures.ts'
import { type Installation, makeInstallation, runTroco, startTroco } from '#lib/testing/process.ts'
import { Random } from '#lib/testing/random.ts'
import { makeScratchFolder } from '#lib/testing/scratch.ts'
import { chooseSeed } from '#lib/testing/seed.ts'
import { findFreePort } from '#lib/testing/server.ts'

const shared = { ...env() }
const SECRET = 'a key of this test, which nobody else has: 0123456789'
const random = new Random(chooseSeed(), 0)
describe('kill -9 of the embedded database’s', () => {
  let installation: Installation
  const data = () => join(installation.folder, 'data')
  const backups = () => join(installation.folder, 'backups')
  beforeAll(async () => {
    installation = await makeInstallation()
    installation.settings.BACKUP_FOLDER = backups()
    expect(await troco('account', 'create', '--name', 'P', '--email', 'p@x.example')).toMatchObject(
      {
        code: 0,
      },
    )
  })
  afterAll(() => installation.remove())

  const troco = (...args: string[]) => runTroco(args, installation.settings)

  /** Kills the command after a random time, and PostgreSQL with it: as a power failure would. */
  async function killMidway(withinMs: number, ...args: string[]): Promise<void> {
    const { child, ended } = startTroco(args, installation.settings)
    await Promise.race([sleep(random.between(300, withinMs)), ended])
    child.kill('SIGKILL')
    await ended
    for (const folder of [data(), backups()]) {
      const locations = existsSync(folder) ? readdirSync(folder) : []
      for (const name of locations)
        for (const location of [join(folder, name), join(folder, name, 'data')])
          for (const pid of findProcessesIn(location)) process.kill(pid, 'SIGKILL')
    }
  }

  test('backups leaves no backup that is not whole', async () => {
    const kills = pickSize(2, 10)
    for (let kill = 0; kill < kills; kill++) await killMidway(6_000, 'backup')
    expect((await troco('backup')).code).toBe(0)
    expect(readdirSync(join(backups(), 'base')).filter(name => name.startsWith('.'))).toEqual([])
    const drilled = await troco('drill')
    expect(drilled.output).not.toContain('WRONG')
    expect(drilled.code).toBe(0)
    recordFigures('kill -9 of backups', { kills, damaged: 0 })
  })

  test('restores leaves the old database or the restored one, and the next restore works', async () => {
    const kills = pickSize(2, 10)
    for (let kill = 0; kill < kills; kill++) {
      await killMidway(9_000, 'restore', '--to', 'latest', '--replace')
      const listed = await troco('account', 'list')
      if (listed.code === 0) expect(listed.output).toContain('p@x.example')
      else expect(listed.output).toContain('run troco restore again')
    }
    const restored = await troco('restore', '--to', 'latest', '--replace')
    expect(restored).toMatchObject({ code: 0 })
    expect((await troco('account', 'list')).output).toContain('p@x.example')
    expect(readdirSync(data()).filter(name => name.includes('.restore-'))).toEqual([])
    recordFigures('kill -9 of restores', { kills, lost: 0 })
  })

  test('restores on another machine, which has only the key, work with its own passwords', async () => {
    const other = await makeInstallation()
    onTestFinished(other.remove)
    const from = ['restore', '--to', 'latest', '--from', backups()]
    expect((await runTroco(from, other.settings)).output).toMatch(/has no secrets\.json/)
    openDataFolder(join(other.folder, 'data'))
    expect((await runTroco(from, other.settings)).output).toMatch(
      /needs the TROCO_SECRET with the fingerprint/,
    )
    const { secrets } = openDataFolder(data())
    const settings = { ...other.settings, TROCO_SECRET: secrets.server }
    expect(await runTroco(from, settings)).toMatchObject({ code: 0 })
    expect((await runTroco(['account', 'list'], settings)).output).toContain('p@x.example')
  })
})

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return
  child.kill('SIGINT')
  await once(child, 'exit')
}

/** Installed only by `npm run torture`, and only as root on Debian. */
const pgReceivewal = await findProgram('postgresql', ['pg_receivewal'])

describe.skipIf(!pgReceivewal)('of a PostgreSQL of one’s own', () => {
  let serve: (data: string) => ChildProcess
  let server: ChildProcess
  let receiver: ChildProcess
  let folder: string
  let merchant: Account
  let settings: Record<string, string>
  let backups: string
  let superuserUrl: string
  const user = process.getuid?.() === 0 ? findPostgresUser() : null

  beforeAll(async () => {
    const major = Number(
      / (\d+)/.exec(execFileSync(pgReceivewal ?? '', ['--version'], { encoding: 'utf8' }))?.[1],
    )
    const bin = findServerPrograms(major)
    folder = makeScratchFolder('troco-own-')
    backups = join(folder, 'backups')
    const [location, port] = [join(folder, 'data'), await findFreePort()]
    mkdirSync(location)
    if (user) chownSync(location, user.uid, user.gid)
    const run = { cwd: '/', stdio: 'ignore', ...user } as const
    execFileSync(
      join(bin, 'initdb'),
      ['-D', location, '-A', 'trust', '-U', 'postgres', '--locale=C.UTF-8'],
      run,
    )
    const flags = { port: String(port), listen_addresses: '127.0.0.1', unix_socket_directories: '' }
    const values = Object.entries(flags).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    serve = data => spawn(join(bin, 'postgres'), ['-D', data, ...values], run)
    server = serve(location)
    const urlOf = (role: string, database: string) =>
      `postgresql://${role}:pass%20word@127.0.0.1:${port}/${database}`
    superuserUrl = urlOf('postgres', 'postgres')
    await vi.waitFor(() => query(superuserUrl, 'SELECT 1'), { timeout: 30_000 })
    await query(superuserUrl, 'CREATE ROLE troco_owner LOGIN REPLICATION')
    await query(superuserUrl, 'CREATE ROLE troco LOGIN')
    await query(superuserUrl, 'CREATE DATABASE troco OWNER troco_owner')
    const [url, ownerUrl] = [urlOf('troco', 'troco'), urlOf('troco_owner', 'troco')]
    await prepareDatabase({ url, ownerUrl })
    await disconnect()
    supplyEnv({ DATABASE_URL: url, TROCO_SECRET: SECRET })
    merchant = await makeMerchant()
    const place = { DATABASE_URL: url, DATABASE_OWNER_URL: ownerUrl, BACKUP_FOLDER: backups }
    settings = {
      ...place,
      TROCO_SECRET: SECRET,
      TROCO_ENV: 'local',
      TROCO_DATA: join(folder, 'troco'),
    }
    mkdirSync(join(backups, 'wal'), { recursive: true, mode: 0o755 })
    if (user) chownSync(join(backups, 'wal'), user.uid, user.gid)
    const receive = ['-D', join(backups, 'wal'), '-d', ownerUrl, '-Z', 'gzip']
    receiver = spawn(pgReceivewal ?? '', receive, run)
  })
  afterAll(async () => {
    await disconnect()
    for (const child of [receiver, server]) await stop(child)
    supplyEnv({ DATABASE_URL: shared.DATABASE_URL ?? '', TROCO_SECRET: shared.TROCO_SECRET ?? '' })
    rmSync(folder, { recursive: true, force: true })
  })

  test('pg_basebackup and pg_receivewal are drilled, and restored to a time between two payments', async () => {
    const made = await runTroco(['backup'], settings)
    expect(made).toMatchObject({ code: 0 })
    await fundMerchant(merchant, 1100)
    const [row] = await query(
      superuserUrl,
      `SELECT to_char((clock_timestamp() + interval '2 ms') AT TIME ZONE 'UTC',
        'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS at, pg_sleep(0.005)`,
    )
    await fundMerchant(merchant, 2200)
    const [wal] = await query(superuserUrl, 'SELECT pg_walfile_name(pg_switch_wal()) AS name')
    await expect.poll(() => readArchive(backups).segments).toContain(wal?.name)
    const drilled = await runTroco(['drill'], settings)
    expect(drilled.output).not.toContain('WRONG')
    expect(drilled).toMatchObject({ code: 0 })
    const to = String(row?.at)
    const into = join(folder, 'restored')
    const restored = await runTroco(['restore', '--to', to, '--into', into], settings)
    expect(restored.output).toContain(`Start PostgreSQL with the data directory ${into}.`)
    expect(restored).toMatchObject({ code: 0 })
    await stop(server)
    server = serve(into)
    await vi.waitFor(() => query(superuserUrl, 'SELECT 1'), { timeout: 30_000 })
    const { DATABASE_URL: url = '' } = settings
    const sql = `SELECT amount::int FROM charges WHERE status = 'paid'`
    expect(await query(url, sql)).toEqual([{ amount: 1100 }])
    expect((await runTroco(['worker'], settings)).output).toContain(`was restored to ${to}.`)
    expect(listBackups(backups)).toHaveLength(1)
  })

  test('a role that may not replicate is told what it needs', async () => {
    await query(superuserUrl, 'ALTER ROLE troco_owner NOREPLICATION')
    const refused = await runTroco(['backup'], settings)
    expect(refused.code).toBe(1)
    expect(refused.output).toContain('ALTER ROLE … REPLICATION')
  })
})
