import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { listBackups } from '#lib/base/backup/manifest.ts'
import { findServerPrograms } from '#lib/base/backup/programs.ts'
import { disconnect } from '#lib/base/db/client.ts'
import { findPostgresUser } from '#lib/base/db/embedded-location.ts'
import { prepareDatabase } from '#lib/base/db/roles.ts'
import { env, supplyEnv } from '#lib/base/env.ts'
import type { Account } from '#lib/rooms/accounts/schema.ts'
import { findProgram } from '#lib/testing/debian.ts'
import { query } from '#lib/testing/embedded.ts'
import { fundMerchant, makeMerchant } from '#lib/testing/fixtures.ts'
import { runTroco } from '#lib/testing/process.ts'
import { makeScratchFolder } from '#lib/testing/scratch.ts'
import { findFreePort } from '#lib/testing/server.ts'

const STANZA = 'troco-test'
const shared = { ...env() }
/** Installed only by `npm run torture`, and only as root on Debian. */
const programs = [
  await findProgram('postgresql', ['pg_receivewal']),
  await findProgram('pgbackrest', ['pgbackrest']),
]

describe.skipIf(programs.includes(null))('a PostgreSQL that pgBackRest backs up', () => {
  const user = process.getuid?.() === 0 ? findPostgresUser() : null
  let folder: string
  let config: string
  let merchant: Account
  let server: ChildProcess
  let serve: (data: string) => ChildProcess
  let superuserUrl: string
  let settings: Record<string, string>
  const troco = (...args: string[]) => runTroco(args, settings)
  const pgBackRest = (...args: string[]) =>
    execFileSync('pgbackrest', [`--config=${config}`, ...args], {
      ...{ cwd: '/', encoding: 'utf8', ...user },
    })

  beforeAll(async () => {
    const version = execFileSync(programs[0] ?? '', ['--version'], { encoding: 'utf8' })
    const bin = findServerPrograms(Number(/ (\d+)/.exec(version)?.[1]))
    folder = makeScratchFolder('troco-pgbackrest-')
    const port = await findFreePort()
    const location = join(folder, 'data')
    for (const name of ['data', 'repository', 'log', 'spool', 'configuration']) {
      mkdirSync(join(folder, name), { mode: 0o700 })
      if (user) chownSync(join(folder, name), user.uid, user.gid)
    }
    const run = { cwd: '/', stdio: 'ignore', ...user } as const
    const initialize = ['-D', location, '-A', 'trust', '-U', 'postgres', '--locale=C.UTF-8']
    execFileSync(join(bin, 'initdb'), initialize, run)
    config = join(folder, 'pgbackrest.conf')
    writeFileSync(
      config,
      [
        ...['[global]', `repo1-path=${join(folder, 'repository')}`, 'repo1-retention-full=2'],
        ...[`log-path=${join(folder, 'log')}`, `lock-path=${join(folder, 'spool')}`],
        ...['start-fast=y', `[${STANZA}]`, `pg1-path=${location}`],
        ...[`pg1-port=${port}`, `pg1-socket-path=${folder}`, 'pg1-user=postgres', ''],
      ].join('\n'),
    )
    // As in Debian's clusters, the configuration is not in the data directory.
    const settingsFile = join(folder, 'configuration', 'postgresql.conf')
    const archive = `pgbackrest --config=${config} --stanza=${STANZA} archive-push %p`
    writeFileSync(
      settingsFile,
      [
        ...[`port = ${port}`, `listen_addresses = '127.0.0.1'`],
        ...[`unix_socket_directories = '${folder}'`, `hba_file = '${location}/pg_hba.conf'`],
        ...[`archive_mode = on`, `archive_command = '${archive}'`, ''],
      ].join('\n'),
    )
    rmSync(join(location, 'postgresql.conf'))
    if (user) chownSync(folder, user.uid, user.gid)
    serve = data => spawn(join(bin, 'postgres'), ['-D', data, `--config-file=${settingsFile}`], run)
    server = serve(location)
    const urlOf = (role: string, database: string) =>
      `postgresql://${role}:pass@127.0.0.1:${port}/${database}`
    superuserUrl = urlOf('postgres', 'postgres')
    await vi.waitFor(() => query(superuserUrl, 'SELECT 1'), { timeout: 30_000 })
    for (const sql of [
      'ROLE troco_owner LOGIN',
      'ROLE troco LOGIN',
      'DATABASE troco OWNER troco_owner',
    ])
      await query(superuserUrl, `CREATE ${sql}`)
    const [url, ownerUrl] = [urlOf('troco', 'troco'), urlOf('troco_owner', 'troco')]
    await prepareDatabase({ url, ownerUrl })
    await disconnect()
    const TROCO_SECRET = 'a key of this test, which nobody else has: 0123456789'
    supplyEnv({ DATABASE_URL: url, TROCO_SECRET })
    merchant = await makeMerchant()
    settings = {
      ...{ DATABASE_URL: url, DATABASE_OWNER_URL: ownerUrl, TROCO_SECRET, TROCO_ENV: 'local' },
      ...{ BACKUP_FOLDER: join(folder, 'backups'), TROCO_DATA: join(folder, 'troco') },
      ...{ PGBACKREST_STANZA: STANZA, PGBACKREST_CONFIG: config },
    }
  })
  afterAll(async () => {
    await disconnect()
    await stop(server)
    supplyEnv({
      DATABASE_URL: shared.DATABASE_URL ?? '',
      TROCO_SECRET: shared.TROCO_SECRET ?? '',
    })
    rmSync(folder, { recursive: true, force: true })
  })

  async function stop(child: ChildProcess): Promise<void> {
    if (child.exitCode !== null) return
    child.kill('SIGINT')
    await once(child, 'exit')
  }

  /** Returns a time that differs from those of the transactions before and after. */
  async function passTime(): Promise<string> {
    const [row] = await query(
      superuserUrl,
      `SELECT to_char((clock_timestamp() + interval '2 ms') AT TIME ZONE 'UTC',
        'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS at, pg_sleep(0.005)`,
    )
    return String(row?.at)
  }

  test('a stanza that does not exist is an error that quotes pgBackRest, and no backup', async () => {
    const refused = await troco('backup')
    expect(refused.code).toBe(1)
    expect(refused.output).toMatch(/pgBackRest reported: .*stanza/)
    expect(listBackups(settings.BACKUP_FOLDER ?? '')).toEqual([])
  })

  test('is drilled, and restored to a time between two payments', async () => {
    pgBackRest(`--stanza=${STANZA}`, 'stanza-create')
    const made = await troco('backup')
    expect(made.output).toContain(`pgBackRest archives the WAL`)
    expect(made).toMatchObject({ code: 0 })
    await fundMerchant(merchant, 1_100)
    const between = await passTime()
    await fundMerchant(merchant, 2_200)
    await query(superuserUrl, 'SELECT pg_switch_wal()')
    pgBackRest(`--stanza=${STANZA}`, 'check')
    const drilled = await troco('drill')
    expect(drilled.output).not.toContain('WRONG')
    expect(drilled, drilled.output).toMatchObject({ code: 0 })
    const into = join(folder, 'restored')
    const restored = await troco('restore', '--to', between, '--into', into)
    expect(restored.output).toContain(`Start PostgreSQL with the data directory ${into}.`)
    expect(restored).toMatchObject({ code: 0 })
    await stop(server)
    const moved = readFileSync(config, 'utf8').replace(/^pg1-path=.*/m, `pg1-path=${into}`)
    writeFileSync(config, moved)
    server = serve(into)
    await vi.waitFor(() => query(superuserUrl, 'SELECT 1'), { timeout: 30_000 })
    const sql = `SELECT amount::int FROM charges WHERE status = 'paid'`
    expect(await query(settings.DATABASE_URL ?? '', sql)).toEqual([{ amount: 1_100 }])
    expect((await troco('worker')).output).toContain(`was restored to ${between}.`)
  })

  test('a time that the archived WAL does not reach, or before the first backup, is refused', async () => {
    await fundMerchant(merchant, 3_300)
    const later = await passTime()
    const into = join(folder, 'later')
    const refused = await troco('restore', '--to', later, '--into', into)
    expect(refused.output).toContain(`The archived WAL ends before ${later}`)
    expect(refused.code).toBe(1)
    expect(readdirSync(folder)).not.toContain('later')
    const early = await troco('restore', '--to', '2026-01-01T00:00Z', '--into', into)
    expect(early.output).toContain('cannot be restored')
  })

  test('what pgBackRest has removed is no longer offered, and --keep is refused', async () => {
    const kept = await troco('backup', '--keep', '2')
    expect(kept.output).toContain('repo1-retention-full')
    expect(kept.code).toBe(1)
    expect(listBackups(settings.BACKUP_FOLDER ?? '')).toHaveLength(1)
    pgBackRest(`--stanza=${STANZA}`, '--type=full', 'backup')
    pgBackRest(`--stanza=${STANZA}`, '--repo1-retention-full=1', 'expire')
    const gone = await troco('drill')
    expect(gone.output).toMatch(/contains no backup that pgBackRest still has/)
    expect(await troco('backup')).toMatchObject({ code: 0 })
    expect(listBackups(settings.BACKUP_FOLDER ?? '')).toHaveLength(1)
    expect(await troco('drill')).toMatchObject({ code: 0 })
  })
})
