import { existsSync, readdirSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Client } from 'pg'
import { pruneArchive, readArchive } from '#lib/backup/archive.ts'
import { copyFile, copyFolder, type Files, sumBytes, writeDurably } from '#lib/backup/copy.ts'
import { explainFileErrors, requireSpace } from '#lib/backup/folder.ts'
import {
  type Backup,
  baseFolder,
  listBackups,
  listKept,
  MANIFEST,
  type Manifest,
} from '#lib/backup/manifest.ts'
import { setupError } from '#lib/core/errors.ts'
import { syncFolder } from '#lib/db/embedded-server.ts'

/** What a copy says of itself; the rest of the manifest is known before. */
export type Copied = Pick<
  Manifest,
  | 'kind'
  | 'repository'
  | 'timeline'
  | 'startSegment'
  | 'stopSegment'
  | 'stopLsn'
  | 'bytes'
  | 'files'
>
type Facts = Pick<Manifest, 'version' | 'migration' | 'keyId' | 'counts'>

/** Any number that no other program uses: one backup or drill at a time. */
const LOCK = 4_207_316_001

const TABLESPACES = 'The database has tablespaces: back it up with pg_basebackup'

/** Parts of a data directory that PostgreSQL makes anew, or that belong to the running server. */
const EXCLUDED = [
  /^(postmaster\.(pid|opts)|current_logfiles.*|recovery\.(signal|done)|standby\.signal)$/,
  /^(pg_wal|log|pg_replslot|pg_dynshmem|pg_notify|pg_serial|pg_snapshots|pg_stat_tmp|pg_subtrans)\/./,
  /(^|\/)(pgsql_tmp[^/]*|pg_internal\.init[^/]*)(\/|$)/,
]

/** Holds the lock of backups and drills for a session of the database. */
export async function requireAlone(client: Client): Promise<void> {
  const { rows } = await client.query('SELECT pg_try_advisory_lock($1) AS alone', [LOCK])
  if (!rows[0]?.alone)
    throw setupError('Another backup or drill is running: wait for it, then try again')
}

export interface Copying {
  /** Copies the data directory to this path, unless the copy is kept elsewhere. */
  copy: (data: string) => Promise<Copied>
  isElsewhere: boolean
}

/** Copies into a folder with a temporary name, which only a complete backup loses. Requires `requireAlone`. */
export async function takeBackup(
  client: Client,
  folder: string,
  facts: Facts,
  { copy, isElsewhere }: Copying,
): Promise<Backup> {
  const base = baseFolder(folder)
  return explainFileErrors(folder, async () => {
    for (const name of readdirSync(base).filter(each => each.startsWith('.')))
      await rm(join(base, name), { recursive: true, force: true })
    const { rows } = await client.query<{ bytes: string; postgres: number }>(
      `SELECT sum(pg_database_size(oid)) AS bytes,
         current_setting('server_version_num')::int AS postgres
       FROM pg_database WHERE has_database_privilege(oid, 'CONNECT')`,
    )
    if (!isElsewhere) requireSpace(folder, Number(rows[0]?.bytes))
    const beganAt = await readTime(client)
    const draft = await mkdtemp(join(base, '.new-'))
    try {
      const copied = await copy(join(draft, 'data'))
      const [times, postgres] = [{ beganAt, finishedAt: await readTime(client) }, rows[0]!.postgres]
      const manifest: Manifest = { format: 1, ...facts, ...times, postgres, ...copied }
      await writeDurably(join(draft, MANIFEST), `${JSON.stringify(manifest, null, 1)}\n`)
      const name = beganAt.replace(/[-:]|\.\d+/g, '')
      if (existsSync(join(base, name))) throw setupError(`The backup ${name} exists: try again`)
      await rename(draft, join(base, name))
      syncFolder(base)
      return { ...manifest, name, folder: join(base, name) }
    } catch (error) {
      await rm(draft, { recursive: true, force: true })
      throw error
    }
  })
}

/** Times of commits are times of the database's clock, too. */
async function readTime(client: Client): Promise<string> {
  const { rows } = await client.query<{ at: Date }>('SELECT clock_timestamp() AS at')
  return (rows[0]?.at ?? new Date()).toISOString()
}

/** A copy that is restored beside the running system would write into its tablespaces. */
export async function requireNoTablespaces(client: Client): Promise<void> {
  const { rowCount } = await client.query(
    `SELECT FROM pg_tablespace WHERE spcname NOT IN ('pg_default', 'pg_global')`,
  )
  if (rowCount) throw setupError(TABLESPACES)
}

/** Copies the data directory of a running PostgreSQL, with the WAL that makes the copy consistent. */
export async function copyRunning(client: Client, location: string, data: string): Promise<Copied> {
  // A temporary slot: until the session ends, PostgreSQL keeps the WAL since the checkpoint.
  await client.query(`SELECT pg_create_physical_replication_slot($1, true, true)`, [
    `troco_backup_${process.pid}`,
  ])
  await client.query(`SELECT pg_backup_start('troco backup', true)`)
  const isExcluded = (path: string) => EXCLUDED.some(pattern => pattern.test(path))
  const files = await copyFolder({ from: location, to: data, isExcluded })
  const { rows } = await client.query<{ lsn: string; segment: string; label: string; map: string }>(
    `SELECT lsn, pg_walfile_name(lsn) AS segment, labelfile AS label, spcmapfile AS map
     FROM pg_backup_stop(false)`,
  )
  const { lsn = '', segment = '', label = '', map = '' } = rows[0] ?? {}
  if (map !== '') throw setupError(TABLESPACES)
  const [, startSegment = ''] = /^START WAL LOCATION: \S+ \(file (\w+)\)/m.exec(label) ?? []
  const [, timeline = ''] = /^START TIMELINE: (\d+)/m.exec(label) ?? []
  files.backup_label = await writeDurably(join(data, 'backup_label'), label)
  Object.assign(files, await copyWal(location, data, startSegment, segment))
  const range = { startSegment, stopSegment: segment, stopLsn: lsn }
  const bytes = sumBytes(files)
  return { kind: 'embedded', timeline: Number(timeline), ...range, bytes, files }
}

/** Copies the segments between the checkpoint and the end of the copy: no archive is needed to open it. */
async function copyWal(
  location: string,
  data: string,
  first: string,
  last: string,
): Promise<Files> {
  const names = (await readdir(join(location, 'pg_wal')))
    .filter(name => /^[0-9A-F]{24}$/.test(name) && name >= first && name <= last)
    .toSorted()
  if (names[0] !== first || names.at(-1) !== last)
    throw setupError(`WAL is missing: PostgreSQL no longer has ${first} to ${last}. Try again`)
  const files: Files = {}
  await mkdir(join(data, 'pg_wal'), { recursive: true, mode: 0o700 })
  for (const name of names) {
    const path = join('pg_wal', name)
    const copied = await copyFile(join(location, path), join(data, path), null)
    if (copied === null) throw setupError(`WAL is missing: ${name} was removed. Try again`)
    files[path] = copied
  }
  syncFolder(join(data, 'pg_wal'))
  return files
}

/** Removes all but the newest backups, and the WAL that only they need. Returns the removed ones. */
export async function keepNewest(folder: string, count: number): Promise<string[]> {
  const backups = listBackups(folder)
  const removed = backups.slice(0, Math.max(0, backups.length - count))
  await removeBackups(folder, removed)
  const [oldest] = backups.slice(removed.length)
  if (oldest) await pruneArchive(readArchive(folder), oldest.startSegment)
  return removed.map(({ name }) => name)
}

/** Removes the manifests of backups that pgBackRest has removed. Returns their names. */
export async function removeExpiredManifests(folder: string): Promise<string[]> {
  const kept = new Set(listKept(folder).map(({ backup }) => backup.name))
  const removed = listBackups(folder).filter(({ name }) => !kept.has(name))
  await removeBackups(folder, removed)
  return removed.map(({ name }) => name)
}

async function removeBackups(folder: string, removed: readonly Backup[]): Promise<void> {
  for (const { name, folder: path } of removed) {
    // Renamed first: a backup of which a part was removed must not count as one.
    const dying = join(baseFolder(folder), `.old-${name}`)
    await rename(path, dying)
    await rm(dying, { recursive: true, force: true })
  }
}
