import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
} from 'node:fs'
import { mkdtemp, open, rename, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Client } from 'pg'
import * as z from 'zod'
import { type CopyType, copyByPgBackRest, listCopies, Repository } from '#lib/backup/pgbackrest.ts'
import { isTrocoError, setupError } from '#lib/core/errors.ts'
import { syncFolder } from '#lib/db/embedded-server.ts'

const instant = z.iso.datetime({ offset: true })
const Manifest = z.object({
  format: z.literal(1),
  /** Where pgBackRest has the copy. */
  repository: Repository,
  /** Version of Troco, number of PostgreSQL and name of the newest migration. */
  version: z.string(),
  postgres: z.int(),
  migration: z.string(),
  /** Fingerprint of TROCO_SECRET, without which encrypted columns stay closed. */
  keyId: z.string(),
  beganAt: instant,
  finishedAt: instant,
  bytes: z.int(),
  /** Rows of tables that only grow, when the copy began. */
  counts: z.record(z.string(), z.int()),
})
type Manifest = z.infer<typeof Manifest>

export interface Backup extends Manifest {
  name: string
  /** Folder with `manifest.json`. */
  folder: string
}

export type BackupFacts = Pick<Manifest, 'version' | 'migration' | 'keyId' | 'counts'>

const MANIFEST = 'manifest.json'

/** Any number that no other program uses: one backup or drill at a time. */
const LOCK = 4_207_316_001

/** Folder of manifests. One that is being written has a name that begins with a dot. */
function baseFolder(folder: string): string {
  return join(folder, 'base')
}

/** Opens the folder of backups, creating it if missing. Returns its real path. */
export function openBackupFolder(path: string): string {
  const wanted = resolve(path)
  // 0711: started by root, PostgreSQL runs as another user, who must enter but not list it.
  const mode = process.geteuid?.() === 0 ? 0o711 : 0o700
  try {
    const isNew = mkdirSync(wanted, { recursive: true, mode }) !== undefined
    if (isNew) chmodSync(wanted, mode) // Whatever the umask.
    mkdirSync(baseFolder(wanted), { recursive: true, mode: 0o700 })
    return realpathSync(wanted)
  } catch (error) {
    throw explainFileError(wanted, error)
  }
}

/** Holds the lock of backups and drills for a session of the database. */
export async function requireAlone(client: Client): Promise<void> {
  const { rows } = await client.query('SELECT pg_try_advisory_lock($1) AS alone', [LOCK])
  if (!rows[0]?.alone)
    throw setupError('Another backup or drill is running: wait for it, then try again')
}

/**
 * Lets pgBackRest copy the database, and writes the manifest last: a copy without one is not offered.
 * Requires `requireAlone`.
 */
export async function takeBackup(
  client: Client,
  folder: string,
  facts: BackupFacts,
  { stanza, type }: { stanza: string; type: CopyType | undefined },
): Promise<Backup> {
  const base = baseFolder(folder)
  await requireNoTablespaces(client)
  for (const name of readdirSync(base).filter(each => each.startsWith('.')))
    await rm(join(base, name), { recursive: true, force: true })
  const { rows } = await client.query<{ postgres: number }>(
    `SELECT current_setting('server_version_num')::int AS postgres`,
  )
  const beganAt = await readTime(client)
  const copied = await copyByPgBackRest(stanza, type)
  const times = { beganAt, finishedAt: await readTime(client) }
  const manifest: Manifest = {
    format: 1,
    ...facts,
    ...times,
    postgres: rows[0]?.postgres ?? 0,
    ...copied,
  }
  const name = beganAt.replace(/[-:]|\.\d+/g, '')
  try {
    await writeManifest(base, name, manifest)
  } catch (error) {
    throw explainFileError(folder, error)
  }
  return { ...manifest, name, folder: join(base, name) }
}

async function writeManifest(base: string, name: string, manifest: Manifest): Promise<void> {
  const draft = await mkdtemp(join(base, '.new-'))
  try {
    const file = await open(join(draft, MANIFEST), 'wx', 0o600)
    try {
      await file.writeFile(`${JSON.stringify(manifest, null, 1)}\n`)
      await file.sync()
    } finally {
      await file.close()
    }
    syncFolder(draft)
    await rename(draft, join(base, name))
    syncFolder(base)
  } catch (error) {
    await rm(draft, { recursive: true, force: true })
    throw error
  }
}

/** Times of commits are times of the database's clock, too. */
async function readTime(client: Client): Promise<string> {
  const { rows } = await client.query<{ at: Date }>('SELECT clock_timestamp() AS at')
  return (rows[0]?.at ?? new Date()).toISOString()
}

/** A copy that is restored beside the running system would write into its tablespaces. */
async function requireNoTablespaces(client: Client): Promise<void> {
  const { rowCount } = await client.query(
    `SELECT FROM pg_tablespace WHERE spcname NOT IN ('pg_default', 'pg_global')`,
  )
  if (rowCount)
    throw setupError(
      'The database has tablespaces, which Troco cannot restore: move its tables out',
    )
}

/** Lists the manifests, the oldest first. */
export function listBackups(folder: string): Backup[] {
  const base = baseFolder(folder)
  const names = existsSync(base) ? readdirSync(base) : []
  return names
    .filter(name => !name.startsWith('.'))
    .toSorted()
    .map(name => ({ ...readManifest(join(base, name)), name, folder: join(base, name) }))
}

function readManifest(folder: string): Manifest {
  const file = join(folder, MANIFEST)
  try {
    return Manifest.parse(JSON.parse(readFileSync(file, 'utf8')))
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    const problem = code ? `cannot be read (${code})` : 'is damaged'
    throw setupError(`${file} ${problem}: move this backup away, or restore the file`, { cause })
  }
}

interface Kept {
  backup: Backup
  /** Whether pgBackRest found pages in it that differ from their checksums. */
  isDamaged: boolean
}

/** Lists the backups without those that pgBackRest has removed since, by its own retention. */
function listKept(folder: string): Kept[] {
  const backups = listBackups(folder)
  const stanzas = new Set(backups.map(({ repository }) => repository.stanza))
  const copies = [...stanzas].flatMap(stanza =>
    listCopies(stanza).map(copy => ({ ...copy, stanza })),
  )
  const kept = backups.flatMap(backup => {
    const { stanza, label } = backup.repository
    const copy = copies.find(each => each.stanza === stanza && each.label === label)
    return copy ? [{ backup, isDamaged: copy.isDamaged }] : []
  })
  if (kept.length === 0 && backups.length > 0)
    throw setupError(`${folder} contains no backup that pgBackRest still has: make a new one`)
  return kept
}

/** Returns the newest sound backup that ended before a time; without a time, the newest of all. */
export function chooseBackup(folder: string, target: Date | null): Backup {
  const kept = listKept(folder)
  const [oldest] = kept
  if (!oldest) throw setupError(`${folder} contains no backup: name the folder with --from`)
  const sound = kept.filter(({ isDamaged }) => !isDamaged).map(({ backup }) => backup)
  const [first] = sound
  if (!first)
    throw setupError(`All backups in ${folder} have damaged pages: pgbackrest info lists them`)
  const chosen = sound.findLast(({ finishedAt }) => !target || new Date(finishedAt) <= target)
  if (chosen) return chosen
  throw setupError(
    `${target?.toISOString()} cannot be restored: the oldest backup in ${folder} ended at ${first.finishedAt}`,
  )
}

/** Removes the manifests of backups that pgBackRest has removed. Returns their names. */
export function removeExpiredManifests(folder: string): string[] {
  const kept = new Set(listKept(folder).map(({ backup }) => backup.name))
  const removed = listBackups(folder).filter(({ name }) => !kept.has(name))
  for (const each of removed) rmSync(each.folder, { recursive: true, force: true })
  return removed.map(({ name }) => name)
}

/** Converts errors of the file system, such as a full disk, to one sentence. */
function explainFileError(folder: string, error: unknown): unknown {
  const { code, message } = error as NodeJS.ErrnoException
  if (isTrocoError(error) || !/^E[A-Z]+$/.test(code ?? '')) return error
  return setupError(
    `${folder} cannot be used: ${message}: it must be a folder with free space that this user can write to`,
    { code },
  )
}
