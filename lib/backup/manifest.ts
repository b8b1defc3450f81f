import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as z from 'zod'
import { timelineHistory, timelineName, type WalArchive } from '#lib/backup/archive.ts'
import { listCopies, Repository } from '#lib/backup/pgbackrest.ts'
import { setupError } from '#lib/core/errors.ts'

const instant = z.iso.datetime({ offset: true })
const Manifest = z.object({
  format: z.literal(1),
  /** How the copy was made: of the embedded PostgreSQL, or by one of these programs. */
  kind: z.enum(['embedded', 'pg_basebackup', 'pgbackrest']),
  /** Where pgBackRest has the copy; all others are in the folder of the backup. */
  repository: Repository.optional(),
  /** Version of Troco, number of PostgreSQL and name of the newest migration. */
  version: z.string(),
  postgres: z.int(),
  migration: z.string(),
  /** Fingerprint of TROCO_SECRET, without which encrypted columns stay closed. */
  keyId: z.string(),
  beganAt: instant,
  finishedAt: instant,
  timeline: z.int(),
  /** First and last WAL segment that a restore needs, and the place at which the copy ended. */
  startSegment: z.string(),
  stopSegment: z.string(),
  stopLsn: z.string(),
  bytes: z.int(),
  /** Rows of tables that only grow, when the copy began. */
  counts: z.record(z.string(), z.int()),
  files: z.record(z.string(), z.object({ bytes: z.int(), sha256: z.string() })),
})
export type Manifest = z.infer<typeof Manifest>

export interface Backup extends Manifest {
  name: string
  /** Folder with `manifest.json` and `data`. */
  folder: string
}

export const MANIFEST = 'manifest.json'

/** Folder of complete backups. A copy in progress has a name that begins with a dot. */
export function baseFolder(folder: string): string {
  return join(folder, 'base')
}

/** Lists complete backups, the oldest first. */
export function listBackups(folder: string): Backup[] {
  const base = baseFolder(folder)
  const names = existsSync(base) ? readdirSync(base) : []
  return names
    .filter(name => !name.startsWith('.'))
    .toSorted()
    .map(name => ({ ...readManifest(join(base, name)), name, folder: join(base, name) }))
}

interface Kept {
  backup: Backup
  /** Whether pgBackRest found pages in it that differ from their checksums. */
  isDamaged: boolean
}

/** Lists the backups without those that pgBackRest has removed since, by its own retention. */
export function listKept(folder: string): Kept[] {
  const backups = listBackups(folder)
  const stanzas = new Set(backups.flatMap(({ repository }) => repository?.stanza ?? []))
  const copies = [...stanzas].flatMap(stanza =>
    listCopies(stanza).map(copy => ({ ...copy, stanza })),
  )
  const kept = backups.flatMap(backup => {
    const { repository: of } = backup
    const copy = copies.find(({ stanza, label }) => of?.stanza === stanza && of.label === label)
    return copy || !of ? [{ backup, isDamaged: copy?.isDamaged ?? false }] : []
  })
  if (kept.length === 0 && backups.length > 0)
    throw setupError(`${folder} contains no backup that pgBackRest still has: make a new one`)
  return kept
}

function listSound(folder: string): Backup[] {
  const kept = listKept(folder)
  const sound = kept.filter(({ isDamaged }) => !isDamaged).map(({ backup }) => backup)
  if (sound.length === 0 && kept.length > 0)
    throw setupError(`All backups in ${folder} have damaged pages: pgbackrest info lists them`)
  return sound
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

interface Choice {
  backup: Backup
  /** Says which newer backup does not lead to the newest timeline, and what to do; null: none is newer. */
  skipped: string | null
}

/** Returns the newest backup from which a time can be reached; without a time, the newest of all. */
export function chooseBackup(folder: string, archive: WalArchive, target: Date | null): Choice {
  const backups = listSound(folder)
  const [oldest] = backups
  if (!oldest) throw setupError(`${folder} contains no backup: name the folder with --from`)
  const usable = backups.filter(backup => isOnNewestTimeline(backup, archive))
  const chosen = usable.findLast(({ finishedAt }) => !target || new Date(finishedAt) <= target)
  const newest = backups.at(-1) ?? oldest
  const last = new Date(Math.max(archive.lastAt?.getTime() ?? 0, Date.parse(newest.finishedAt)))
  // Only pgBackRest knows how far its archive reaches, and says so when it restores.
  const isPast = target !== null && target > last && !chosen?.repository
  const skipped = describeSkipped(backups, archive, target)
  if (chosen && !isPast) return { backup: chosen, skipped }
  const range = `from ${oldest.finishedAt} (the end of the oldest backup) to ${last.toISOString()} (the last archived WAL)`
  const wanted = target ? target.toISOString() : 'the newest state'
  const reason = skipped ? `. ${skipped}` : ''
  throw setupError(`${wanted} cannot be restored: ${folder} reaches ${range}${reason}`)
}

function describeSkipped(
  backups: Backup[],
  archive: WalArchive,
  target: Date | null,
): string | null {
  const newest = backups.findLast(({ finishedAt }) => !target || new Date(finishedAt) <= target)
  if (!newest || isOnNewestTimeline(newest, archive)) return null
  const { newestTimeline } = archive
  const prefix = timelineName(newestTimeline ?? 0)
  return `The newest backup, ${newest.name}, is not used: a restore left its timeline and began timeline ${newestTimeline}. If the running database is that restored one, make a new backup. If not, move the files ${prefix}* out of ${archive.folder}`
}

/**
 * Each restore begins a timeline. The newest one is what served last, and a backup of a timeline that it
 * left before the backup was made does not lead to it.
 */
function isOnNewestTimeline({ timeline, stopLsn }: Backup, archive: WalArchive): boolean {
  const { newestTimeline } = archive
  if (newestTimeline === null || newestTimeline <= timeline) return true
  const left = timelineHistory(archive, newestTimeline).find(each => each.timeline === timeline)
  return left !== undefined && lsnOf(stopLsn) <= lsnOf(left.until)
}

function lsnOf(text: string): bigint {
  const [high = '0', low = '0'] = text.split('/')
  return (BigInt(`0x${high}`) << 32n) + BigInt(`0x${low}`)
}
