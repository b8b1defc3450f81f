import { existsSync, mkdtempSync, readdirSync, readFileSync, statfsSync, statSync } from 'node:fs'
import { chown, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import pg from 'pg'
import type { Backup } from '#lib/backup/manifest.ts'
import {
  describeFetching,
  fetchCommand,
  readArchiveEnd,
  repositoryEnv,
  restoreByPgBackRest,
} from '#lib/backup/pgbackrest.ts'
import { setupError } from '#lib/core/errors.ts'
import {
  canEnter,
  findPostmaster,
  type PostgresUser,
  startPostmaster,
  stopPostmaster,
  syncFolder,
} from '#lib/db/embedded-server.ts'

const HISTORY = /^([0-9A-F]{8})\.history$/

/** Programs of PostgreSQL, and the user who runs them if this process is root. */
export interface Programs {
  bin: string
  user: PostgresUser | null
}

export interface RecoverOptions extends Programs {
  backup: Backup
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

/** Lets pgBackRest restore a backup, and recovers it up to a time. */
export async function recover(options: RecoverOptions): Promise<Recovered> {
  const { backup, location, user, target } = options
  requireSpace(dirname(location), backup.bytes)
  if (user) requireEntry(dirname(location), user)
  const archiveEnd = target ? null : readArchiveEnd(backup.repository)
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
  await restoreByPgBackRest(backup.repository, location, user, signal)
  const signalFile = join(location, 'recovery.signal')
  await writeFile(signalFile, '', { mode: 0o600 })
  if (user) await chown(signalFile, user.uid, user.gid)
}

async function startRecovery(options: RecoverOptions, socket: string): Promise<Recovered['urlOf']> {
  const { location, bin, user } = options
  const hba = join(socket, 'hba.conf')
  await writeFile(hba, 'local all all trust\n', { mode: 0o600 })
  if (user) for (const path of [socket, hba]) await chown(path, user.uid, user.gid)
  const startLog = join(socket, 'start.log')
  const postmaster = await startPostmaster(
    { location, user, variables: repositoryEnv() },
    bin,
    startLog,
    {
      ...recoverySettings(options),
      listen_addresses: '',
      unix_socket_directories: socket,
      hba_file: hba,
      ...(await replaceConfiguration(location, socket)),
    },
  ).catch(error => explainFailure(error, options))
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
  const { backup, location, target } = options
  const settings: Record<string, string> = {
    restore_command: fetchCommand(backup.repository.stanza, location),
    recovery_target_action: 'promote',
    // A standby would need at least as many connections as the server that was backed up.
    hot_standby: 'off',
    // A database that may still be discarded must not leave its timeline in the archive.
    archive_mode: 'off',
    // Without an archive, the checkpoint at the stop would remove the full segments of that timeline.
    wal_keep_size: '256MB',
  }
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
  if (file)
    throw setupError(
      `The archived WAL ${file} cannot be read: ${describeFetching(backup.repository.stanza, file)} prints why. If it is lost, only an earlier time can be restored`,
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

/**
 * Throws if a recovery without a target ended before the last segment of an archive: PostgreSQL takes a
 * missing segment for the end of the WAL. The history of the new timeline says where it ended.
 */
export function requireReached(location: string, lastSegment: string): void {
  const folder = join(location, 'pg_wal')
  const newest = readdirSync(folder)
    .filter(name => HISTORY.test(name))
    .toSorted()
    .at(-1)
  const lines = newest ? readFileSync(join(folder, newest), 'utf8').trim().split('\n') : []
  const [, high = '', low = ''] = /\t([0-9A-F]+)\/([0-9A-F]+)/.exec(lines.at(-1) ?? '') ?? []
  const segment = readdirSync(folder).find(name => /^[0-9A-F]{24}$/.test(name))
  const segmentBytes = segment ? statSync(join(folder, segment)).size : 0
  if (placeOf(high, low) >= placeOf(lastSegment.slice(8, 16), lastSegment.slice(16), segmentBytes))
    return
  throw setupError(
    `WAL is missing: the recovery ended at ${high}/${low}, and the archive reaches to ${lastSegment}. Restore an earlier time with --to, and take a new backup`,
  )
}

/** Returns a place in the WAL in bytes: its low half counts bytes, or segments. */
function placeOf(high: string, low: string, unitBytes = 1): number {
  return Number.parseInt(high, 16) * 2 ** 32 + Number.parseInt(low, 16) * unitBytes
}

/**
 * Marks the log and the history of a new timeline, so that the first start with an archive stores them.
 * `segment` is the one in which the recovered database was stopped.
 */
export async function offerTimeline(
  location: string,
  segment: string,
  user: PostgresUser | null,
): Promise<void> {
  const timeline = segment.slice(0, 8)
  const status = join(location, 'pg_wal', 'archive_status')
  const isNew = (name: string) =>
    name === `${timeline}.history` ||
    (/^[0-9A-F]{24}$/.test(name) && name.startsWith(timeline) && name < segment)
  for (const name of readdirSync(join(location, 'pg_wal')).filter(isNew)) {
    const mark = join(status, `${name}.ready`)
    await writeFile(mark, '', { flag: 'wx', mode: 0o600 })
    if (user) await chown(mark, user.uid, user.gid)
  }
  syncFolder(status)
}

/** Throws unless a folder has room for a copy, with a tenth to spare. */
export function requireSpace(folder: string, bytes: number): void {
  const { bavail, bsize } = statfsSync(folder)
  const [free, needed] = [bavail * bsize, bytes * 1.1].map(size => Math.ceil(size / 1024 ** 2))
  if (free! >= needed!) return
  throw setupError(
    `${folder} has ${free} MiB free, but ${needed} MiB are needed: free space, or choose another folder`,
  )
}

export function requireEntry(folder: string, user: PostgresUser): void {
  if (canEnter(folder, user)) return
  throw setupError(
    `User id ${user.uid}, which runs PostgreSQL, cannot enter ${folder}: run chmod o+x on it and the folders above it`,
  )
}
