import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { chown, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { writeDurably } from '#lib/backup/copy.ts'
import { setupError } from '#lib/core/errors.ts'
import type { PostgresUser } from '#lib/db/embedded-server.ts'

/** At most this much is lost with the machine: a segment is archived when it is full, or this old. */
const ARCHIVE_TIMEOUT = '60s'
const SEGMENT = /^([0-9A-F]{8})([0-9A-F]{16})\.gz$/
const HISTORY = /^([0-9A-F]{8})\.history(?:\.gz)?$/

/** Files of the WAL as `pg_receivewal --compress=gzip` names them, too; it leaves histories as they are. */
export interface WalArchive {
  folder: string
  /** Names of complete segments, in order. */
  segments: string[]
  newestTimeline: number | null
  /** When the newest segment was archived. */
  lastAt: Date | null
}

export function walFolder(folder: string): string {
  return join(folder, 'wal')
}

export function readArchive(backupFolder: string): WalArchive {
  const folder = walFolder(backupFolder)
  const names = existsSync(folder) ? readdirSync(folder).toSorted() : []
  const segments = names.filter(name => SEGMENT.test(name)).map(name => name.slice(0, 24))
  const timelines = names.map(name => (SEGMENT.exec(name) ?? HISTORY.exec(name))?.[1])
  const newest = timelines
    .filter(text => text !== undefined)
    .toSorted()
    .at(-1)
  const last = segments.at(-1)
  return {
    folder,
    segments,
    newestTimeline: newest === undefined ? null : Number.parseInt(newest, 16),
    lastAt: last === undefined ? null : statSync(join(folder, `${last}.gz`)).mtime,
  }
}

/** Returns where each earlier timeline was left for the next one. */
export function timelineHistory(
  { folder }: WalArchive,
  timeline: number,
): { timeline: number; until: string }[] {
  const path = join(folder, `${timelineName(timeline)}.history`)
  const packed = existsSync(`${path}.gz`) ? gunzipSync(readFileSync(`${path}.gz`)) : null
  const plain = packed ?? (existsSync(path) ? readFileSync(path) : '')
  const lines = plain.toString().split('\n')
  return lines.flatMap(line => {
    const [number, until] = line.trim().split(/\s+/)
    return /^\d+$/.test(number ?? '') && until ? [{ timeline: Number(number), until }] : []
  })
}

/** Returns the first part of the names of a timeline's files. */
export function timelineName(timeline: number): string {
  return timeline.toString(16).toUpperCase().padStart(8, '0')
}

/** Throws if a segment is missing between the end of a backup and the newest segment. */
export function requireNoGap({ folder, segments }: WalArchive, stopSegment: string): void {
  const stop = segmentNumber(stopSegment)
  const numbers = new Set([stop, ...segments.map(segmentNumber).filter(number => number > stop)])
  const missing = [...numbers].find(number => number > stop && !numbers.has(number - 1))
  if (missing === undefined) return
  const next = segments.find(name => segmentNumber(name) === missing)
  throw setupError(
    `WAL is missing in ${folder} before ${next}: times after it cannot be restored from this backup. Take a new backup`,
  )
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

/** The low half of a name has 256 values: segments are of 16 MiB, the default of initdb. */
function segmentNumber(name: string): number {
  return Number.parseInt(name.slice(8, 16), 16) * 256 + Number.parseInt(name.slice(16), 16)
}

/** Removes segments before the first one that the oldest backup needs; histories stay. */
export async function pruneArchive(archive: WalArchive, startSegment: string): Promise<void> {
  const names = existsSync(archive.folder) ? readdirSync(archive.folder) : []
  const isOld = (name: string) =>
    /^[0-9A-F]{24}[.\w]*\.gz$/.test(name) && name.slice(8, 24) < startSegment.slice(8)
  for (const name of names.filter(isOld)) await rm(join(archive.folder, name))
}

/** Settings of the embedded PostgreSQL that archive its WAL. Each file is flushed, then renamed. */
export function archiveSettings(backupFolder: string): Record<string, string> {
  const folder = quoteForCommand(walFolder(backupFolder))
  const store = [
    `umask 077; d=${folder}; t="$d/%f.partial"; f="$d/%f.gz"`,
    'gzip -n <"%p" >"$t" && sync "$t" || exit 1',
    // PostgreSQL offers a file again if it did not learn that it was stored.
    'if [ -e "$f" ]; then cmp -s "$t" "$f" && rm "$t"; else mv "$t" "$f"; fi && sync "$d"',
  ]
  return {
    archive_mode: 'on',
    archive_timeout: ARCHIVE_TIMEOUT,
    archive_command: store.join('\n'),
  }
}

/**
 * Command that fetches a file. An unreadable one, as in a folder that PostgreSQL cannot enter, ends the
 * recovery, which an absent one does not.
 */
export function restoreCommand({ folder }: WalArchive): string {
  return [
    `d=${quoteForCommand(folder)}; f="$d/%f"`,
    '[ -x "$d" ] || exit 200',
    'if [ -e "$f" ]; then cp "$f" "%p" || exit 200; exit 0; fi',
    '[ -e "$f.gz" ] || exit 1',
    'gzip -dc <"$f.gz" >"%p" || exit 200',
  ].join('\n')
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
    await writeDurably(mark, '')
    if (user) await chown(mark, user.uid, user.gid)
  }
}

/** Quotes for the shell, and for PostgreSQL, which replaces % and the letter after it. */
export function quoteForCommand(path: string): string {
  return `'${path.replaceAll("'", `'\\''`).replaceAll('%', '%%')}'`
}
