import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { vi } from 'vitest'
import { findServerPrograms } from '#lib/backup/pgbackrest.ts'
import { env, inheritedEnv, supplyEnv } from '#lib/core/settings.ts'
import { disconnect } from '#lib/db/client.ts'
import { findPostgresUser } from '#lib/db/embedded-server.ts'
import { prepareDatabase } from '#lib/db/roles.ts'
import { findProgram } from '#lib/testing/debian.ts'
import { query } from '#lib/testing/embedded.ts'
import { runTroco, startTroco } from '#lib/testing/process.ts'
import { makeScratchFolder } from '#lib/testing/scratch.ts'
import { findFreePort } from '#lib/testing/server.ts'

export const STANZA = 'troco-test'
const SECRET = 'a key of this test, which nobody else has: 0123456789'

/** Installed only by `npm run torture`, and only as root on Debian. */
const programs = [
  await findProgram('postgresql', ['pg_receivewal']),
  await findProgram('pgbackrest', ['pgbackrest']),
]
export const hasPgBackRest = !programs.includes(null)

export interface PgBackRestOptions {
  /** Lines for the section of all stanzas. */
  lines?: string[]
  /** Variables for PostgreSQL, Troco and pgBackRest. */
  variables?: Record<string, string>
}

export type PgBackRestStage = Awaited<ReturnType<typeof openPgBackRestStage>>

/** Starts a migrated PostgreSQL of the machine, whose WAL pgBackRest archives; its stanza does not exist yet. */
export async function openPgBackRestStage({ lines = [], variables = {} }: PgBackRestOptions = {}) {
  const shared = { ...env() }
  const user = process.getuid?.() === 0 ? findPostgresUser() : null
  const version = execFileSync(programs[0] ?? '', ['--version'], { encoding: 'utf8' })
  const bin = findServerPrograms(Number(/ (\d+)/.exec(version)?.[1]))
  const folder = makeScratchFolder('troco-pgbackrest-')
  const port = await findFreePort()
  const location = join(folder, 'data')
  for (const name of ['data', 'repository', 'log', 'spool', 'configuration', 'tablespace']) {
    mkdirSync(join(folder, name), { mode: 0o700 })
    if (user) chownSync(join(folder, name), user.uid, user.gid)
  }
  const environment = { ...inheritedEnv(), ...variables }
  const run = { cwd: '/', stdio: 'ignore', env: environment, ...user } as const
  const initialize = ['-D', location, '-A', 'trust', '-U', 'postgres', '--locale=C.UTF-8', '-k']
  execFileSync(join(bin, 'initdb'), initialize, run)
  const config = join(folder, 'pgbackrest.conf')
  const writeConfig = (data: string) =>
    writeFileSync(
      config,
      [
        '[global]',
        `repo1-path=${join(folder, 'repository')}`,
        `log-path=${join(folder, 'log')}`,
        `lock-path=${join(folder, 'spool')}`,
        'start-fast=y',
        ...lines,
        `[${STANZA}]`,
        `pg1-path=${data}`,
        `pg1-port=${port}`,
        `pg1-socket-path=${folder}`,
        'pg1-user=postgres',
        '',
      ].join('\n'),
    )
  writeConfig(location)
  // As in Debian's clusters, the configuration is not in the data directory.
  const settingsFile = join(folder, 'configuration', 'postgresql.conf')
  const archive = `pgbackrest --config=${config} --stanza=${STANZA} archive-push %p`
  writeFileSync(
    settingsFile,
    [
      `port = ${port}`,
      `listen_addresses = '127.0.0.1'`,
      `unix_socket_directories = '${folder}'`,
      `hba_file = '${location}/pg_hba.conf'`,
      `archive_mode = on`,
      `archive_command = '${archive}'`,
      '',
    ].join('\n'),
  )
  rmSync(join(location, 'postgresql.conf'))
  if (user) chownSync(folder, user.uid, user.gid)
  const urlOf = (role: string, database: string) =>
    `postgresql://${role}:pass@127.0.0.1:${port}/${database}`
  const superuserUrl = urlOf('postgres', 'postgres')
  let server: ChildProcess | null = null
  const stop = async () => {
    if (server === null || server.exitCode !== null) return
    server.kill('SIGINT')
    await once(server, 'exit')
  }
  /** Starts PostgreSQL with a data directory, which pgBackRest then copies. */
  const serve = async (data = location) => {
    await stop()
    writeConfig(data)
    server = spawn(join(bin, 'postgres'), ['-D', data, `--config-file=${settingsFile}`], run)
    await vi.waitFor(() => query(superuserUrl, 'SELECT 1'), { timeout: 30_000 })
  }
  await serve()
  for (const sql of [
    'ROLE troco_owner LOGIN',
    'ROLE troco LOGIN',
    'DATABASE troco OWNER troco_owner',
  ])
    await query(superuserUrl, `CREATE ${sql}`)
  const [url, ownerUrl] = [urlOf('troco', 'troco'), urlOf('troco_owner', 'troco')]
  await prepareDatabase({ url, ownerUrl })
  await disconnect()
  supplyEnv({ DATABASE_URL: url, TROCO_SECRET: SECRET })
  const settings: Record<string, string> = {
    DATABASE_URL: url,
    DATABASE_OWNER_URL: ownerUrl,
    TROCO_SECRET: SECRET,
    TROCO_ENV: 'local',
    TROCO_DATA: join(folder, 'troco'),
    BACKUP_FOLDER: join(folder, 'backups'),
    ...variables,
    PGBACKREST_STANZA: STANZA,
    PGBACKREST_CONFIG: config,
  }
  return {
    folder,
    settings,
    superuserUrl,
    serve,
    stop,
    user,
    backups: join(folder, 'backups'),
    troco: (...args: string[]) => runTroco(args, settings),
    startTroco: (...args: string[]) => startTroco(args, settings),
    pgBackRest: (...args: string[]) =>
      execFileSync('pgbackrest', [`--config=${config}`, `--stanza=${STANZA}`, ...args], {
        cwd: '/',
        encoding: 'utf8',
        env: environment,
        ...user,
      }),
    close: async () => {
      await disconnect()
      await stop()
      const { DATABASE_URL = '', TROCO_SECRET = '' } = shared
      supplyEnv({ DATABASE_URL, TROCO_SECRET })
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Ends the current segment of the WAL, waits until it is archived, and returns its name. */
export async function archiveNow({ superuserUrl, pgBackRest }: PgBackRestStage): Promise<string> {
  const [row] = await query(superuserUrl, 'SELECT pg_walfile_name(pg_switch_wal()) AS name')
  pgBackRest('check')
  return String(row?.name)
}

/** Returns a time that differs from those of the transactions before and after. */
export async function passTime({ superuserUrl }: PgBackRestStage): Promise<string> {
  const [row] = await query(
    superuserUrl,
    `SELECT to_char((clock_timestamp() + interval '2 ms') AT TIME ZONE 'UTC',
      'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS at, pg_sleep(0.005)`,
  )
  return String(row?.at)
}
