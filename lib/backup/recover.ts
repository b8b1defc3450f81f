import { existsSync, mkdirSync, mkdtempSync, readdirSync } from 'node:fs'
import { chown, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import {
  requireNoGap,
  requireReached,
  restoreCommand,
  type WalArchive,
} from '#lib/backup/archive.ts'
import { copyFolder } from '#lib/backup/copy.ts'
import { requireEntry, requireSpace } from '#lib/backup/folder.ts'
import type { Backup } from '#lib/backup/manifest.ts'
import { readArchiveEnd, restoreByPgBackRest } from '#lib/backup/pgbackrest.ts'
import { describeFetching, fetchCommand, repositoryEnv } from '#lib/backup/pgbackrest-program.ts'
import { setupError } from '#lib/core/errors.ts'
import type { PostgresUser } from '#lib/db/embedded-server.ts'
import { findPostmaster, startPostmaster, stopPostmaster } from '#lib/db/embedded-server.ts'

/** Programs of PostgreSQL, and the user who runs them if this process is root. */
export interface Programs {
  bin: string
  user: PostgresUser | null
}

export interface RecoverOptions extends Programs {
  backup: Backup
  archive: WalArchive
  /** Existing folder in which the data directory is made; its name must not exist. */
  location: string
  /** Null: as far as the WAL reaches. */
  target: Date | null
}

/** A recovered PostgreSQL that only this user reaches, by a socket in a private folder. */
export interface Recovered {
  /** URL of a role; nobody needs a password here. */
  urlOf: (role: string, database: string) => string
  stop: () => Promise<void>
}

const EMPTY_FOLDERS = [
  ...['pg_wal', 'pg_replslot', 'pg_dynshmem', 'pg_notify', 'pg_serial', 'pg_snapshots'],
  ...['pg_stat', 'pg_stat_tmp', 'pg_subtrans', 'pg_tblspc', 'pg_twophase', 'pg_commit_ts'],
  ...['pg_logical', 'pg_logical/snapshots', 'pg_logical/mappings'],
]

/** Copies a backup with its checksums verified, and recovers it up to a time. */
export async function recover(options: RecoverOptions): Promise<Recovered> {
  const { backup, archive, location, user, target } = options
  requireSpace(join(location, '..'), backup.bytes)
  requireNoGap(archive, backup.stopSegment)
  if (user && archive.lastAt !== null) requireEntry(archive.folder, user)
  const archiveEnd = backup.repository && !target ? readArchiveEnd(backup.repository) : null
  const socket = mkdtempSync(join(tmpdir(), 'troco-'))
  const interruption = new AbortController()
  const removeServer = async () => {
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt)
    const server = findPostmaster(location)
    if (server) await stopPostmaster(server.pid)
    await rm(socket, { recursive: true, force: true })
  }
  const interrupt = async () => {
    interruption.abort()
    try {
      await copying.catch(() => {})
      await removeServer()
      await rm(location, { recursive: true, force: true })
    } finally {
      process.exit(130)
    }
  }
  // The caller would report the end of the server as a failure; `interrupt` ends the process.
  const stop = () => (interruption.signal.aborted ? new Promise<never>(() => {}) : removeServer())
  // PostgreSQL is a detached process, which Ctrl-C does not reach.
  process.once('SIGINT', interrupt).once('SIGTERM', interrupt)
  const copying = copyData(options, interruption.signal)
  try {
    await copying
    const urlOf = await startRecovery(options, socket)
    if (archiveEnd) requireReached(location, archiveEnd)
    return { urlOf, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Makes a data directory that PostgreSQL recovers when it starts. */
async function copyData(
  { backup, location, user }: RecoverOptions,
  signal: AbortSignal,
): Promise<void> {
  const from = join(backup.folder, 'data')
  if (backup.repository) await restoreByPgBackRest(backup.repository, location, user, signal)
  else await copyFolder({ from, to: location, user, expected: backup.files, signal })
  const signalFile = join(location, 'recovery.signal')
  await writeFile(signalFile, '', { mode: 0o600 })
  const folders = EMPTY_FOLDERS.map(name => join(location, name))
  for (const path of folders) mkdirSync(path, { recursive: true, mode: 0o700 })
  if (user) for (const path of [signalFile, ...folders]) await chown(path, user.uid, user.gid)
}

async function startRecovery(options: RecoverOptions, socket: string): Promise<Recovered['urlOf']> {
  const { backup, location, bin, user } = options
  const hba = join(socket, 'hba.conf')
  await writeFile(hba, 'local all all trust\n', { mode: 0o600 })
  if (user) for (const path of [socket, hba]) await chown(path, user.uid, user.gid)
  const variables = backup.repository && repositoryEnv()
  const startLog = join(socket, 'start.log')
  const postmaster = await startPostmaster({ location, user, variables }, bin, startLog, {
    ...recoverySettings(options),
    ...{ listen_addresses: '', unix_socket_directories: socket, hba_file: hba },
    ...(await replaceConfiguration(location, socket)),
  }).catch(error => explainFailure(error, options))
  if (!postmaster) throw setupError(`PostgreSQL could not be started in ${location}`)
  const host = encodeURIComponent(socket)
  return (role, database) =>
    `postgresql://${encodeURIComponent(role)}@localhost:${postmaster.port}/${database}?host=${host}`
}

/** Packages of Debian keep the configuration outside of the data directory: the defaults will do. */
async function replaceConfiguration(
  location: string,
  folder: string,
): Promise<Record<string, string>> {
  if (existsSync(join(location, 'postgresql.conf'))) return {}
  const config_file = join(folder, 'postgresql.conf')
  await writeFile(config_file, '', { mode: 0o644 })
  return { config_file }
}

function recoverySettings(options: RecoverOptions): Record<string, string> {
  const { backup, archive, location, target } = options
  const settings: Record<string, string> = {
    restore_command: archive.lastAt === null ? 'exit 1' : restoreCommand(archive),
    recovery_target_action: 'promote',
    // A standby would need at least as many connections as the server that was backed up.
    hot_standby: 'off',
    // A database that may still be discarded must not leave its timeline in the archive.
    archive_mode: 'off',
    // Without an archive, the checkpoint at the stop would remove the full segments of that timeline.
    wal_keep_size: '256MB',
  }
  if (backup.repository) settings.restore_command = fetchCommand(backup.repository.stanza, location)
  // PostgreSQL knows no letter Z here.
  if (target) settings.recovery_target_time = target.toISOString().replace('Z', '+00')
  return settings
}

/** Without the path of the log, which the caller removes. */
function explainFailure(error: Error, { backup, target }: RecoverOptions): never {
  const message = typeof error.cause === 'string' ? error.cause : error.message
  if (/recovery ended before configured recovery target was reached/.test(message))
    throw setupError(
      `The archived WAL ends before ${target?.toISOString()}: choose an earlier time, or --to latest for all that there is`,
    )
  const [, file] = /could not restore file "(\w[\w.]*)" from archive/.exec(message) ?? []
  const advice = backup.repository
    ? `${describeFetching(backup.repository.stanza, file ?? '')} prints why`
    : `check the files ${file}* in the folder wal of the backups`
  if (file)
    throw setupError(
      `The archived WAL ${file} cannot be read: ${advice}. If it is lost, only an earlier time can be restored`,
    )
  throw setupError(message)
}

/**
 * Removes what interrupted recoveries left: entries of a folder whose names begin so. Stops their
 * PostgreSQL, whose data directory is `data` in the entry.
 */
export async function removeDrafts(folder: string, prefix: string, data = ''): Promise<void> {
  for (const name of existsSync(folder) ? readdirSync(folder) : []) {
    if (!name.startsWith(prefix)) continue
    const server = findPostmaster(join(folder, name, data))
    if (server) await stopPostmaster(server.pid)
    await rm(join(folder, name), { recursive: true, force: true })
  }
}

/** Returns the result of one query. */
export async function ask<Row extends object>(
  url: string,
  sql: string,
  values: unknown[] = [],
): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query<Row>(sql, values)).rows
  } finally {
    await client.end()
  }
}

/** Returns when the last transaction that was recovered was committed; null if none was after the backup. */
export async function readReachedAt(url: string): Promise<Date | null> {
  const sql = 'SELECT pg_last_xact_replay_timestamp() AS at'
  return (await ask<{ at: Date | null }>(url, sql))[0]?.at ?? null
}
