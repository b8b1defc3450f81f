import { chownSync, mkdirSync } from 'node:fs'
import * as z from 'zod'
import {
  findProgramUser,
  inOneLine,
  readFromPgBackRest,
  runPgBackRest,
} from '#lib/backup/pgbackrest-program.ts'
import { setupError } from '#lib/core/errors.ts'
import type { PostgresUser } from '#lib/db/embedded-server.ts'

/** A backup in the repository of pgBackRest. */
export const Repository = z.object({ stanza: z.string(), label: z.string() })
export type Repository = z.infer<typeof Repository>

/** Everything, what has changed since the last full copy, or since the last copy of any type. */
export const COPY_TYPES = ['full', 'diff', 'incr'] as const
export type CopyType = (typeof COPY_TYPES)[number]

const Status = z.object({ code: z.int(), message: z.string() })
const Copy = z.looseObject({
  label: z.string(),
  /** Whether a page differs from its checksum. */
  error: z.boolean().nullish(),
  'error-list': z.array(z.string()).nullish(),
  database: z.object({ id: z.int() }).optional(),
})
/** The WAL of one generation of the database: a number of `pgbackrest stanza-upgrade`. */
const Archive = z.object({ database: z.object({ id: z.int() }), max: z.string().nullish() })
/** What is read of `pgbackrest info`. */
const Info = z
  .array(
    z.object({
      status: Status,
      repo: z.array(z.object({ status: Status })).default([]),
      backup: z.array(Copy).default([]),
      archive: z.array(Archive).default([]),
    }),
  )
  .min(1)

/** A copy that can be restored. One made offline lacks its range of the WAL. */
const OnlineCopy = z.object({
  label: z.string(),
  archive: z.object({ start: z.string(), stop: z.string() }),
  lsn: z.object({ stop: z.string() }),
  info: z.object({ size: z.int() }),
})

/** Codes of `pgbackrest info`: all is well, no backup yet, and repositories that differ in these. */
const [OK, NO_BACKUP, MIXED] = [0, 2, 4]
const NAMED_FILES_MAX = 5

/** Lets pgBackRest copy the data directory into its repository: by default what has changed, if it has a full copy. */
export async function copyByPgBackRest(stanza: string, type: CopyType | undefined) {
  await runPgBackRest(stanza, [...(type ? [`--type=${type}`] : []), 'backup'], findProgramUser())
  const newest = readCopies(stanza).at(-1)
  if (!newest) throw setupError(`pgBackRest has no backup of the stanza ${stanza}: try again`)
  if (newest.error) throw describeDamage(stanza, newest.label)
  const online = OnlineCopy.safeParse(newest)
  if (!online.success)
    throw setupError(`${newest.label}, the newest copy of pgBackRest, was made offline: try again`)
  const { label, archive, lsn, info } = online.data
  return {
    kind: 'pgbackrest' as const,
    repository: { stanza, label },
    timeline: Number.parseInt(archive.start.slice(0, 8), 16),
    startSegment: archive.start,
    stopSegment: archive.stop,
    stopLsn: lsn.stop,
    bytes: info.size,
    files: {} as Record<string, never>,
  }
}

/** pgBackRest logs pages that differ from their checksums as a warning, and exits with 0. */
function describeDamage(stanza: string, label: string): Error {
  const files = listDamagedFiles(stanza, label)
  const named = files.slice(0, NAMED_FILES_MAX).join(', ')
  const others = files.length > NAMED_FILES_MAX ? ` and ${files.length - NAMED_FILES_MAX} more` : ''
  const place = named ? ` in ${named}${others}` : ''
  return setupError(
    `The copy ${label} has damaged pages${place}, and so has the database. Troco will not restore it. Check the disk of the database, and restore a backup from before the damage`,
  )
}

/** Empty if this version of pgBackRest names them in its log only. */
function listDamagedFiles(stanza: string, label: string): string[] {
  try {
    return readCopies(stanza, [`--set=${label}`])[0]?.['error-list'] ?? []
  } catch {
    return []
  }
}

/** Lets pgBackRest copy a backup into a new data directory, without settings of its own for the recovery. */
export async function restoreByPgBackRest(
  { stanza, label }: Repository,
  location: string,
  user: PostgresUser | null,
  signal: AbortSignal,
): Promise<void> {
  mkdirSync(location, { mode: 0o700 })
  if (user) chownSync(location, user.uid, user.gid)
  const args = ['restore', '--type=none', `--set=${label}`, `--pg1-path=${location}`]
  await runPgBackRest(stanza, args, user, signal)
}

/** Lists the copies that pgBackRest still has. */
export function listCopies(stanza: string): { label: string; isDamaged: boolean }[] {
  return readCopies(stanza).map(({ label, error }) => ({ label, isDamaged: error === true }))
}

/** Returns the last segment of the WAL that the repositories have for a copy; null if they have none. */
export function readArchiveEnd({ stanza, label }: Repository): string | null {
  const stanzas = readInfo(stanza, [])
  const copy = stanzas.flatMap(({ backup }) => backup).find(each => each.label === label)
  const ends = stanzas.flatMap(({ archive }) =>
    archive.flatMap(({ database, max }) =>
      max && database.id === copy?.database?.id ? [max] : [],
    ),
  )
  // Without the timeline, with which a name begins.
  return ends.toSorted((a, b) => (a.slice(8) < b.slice(8) ? 1 : -1))[0] ?? null
}

/** Throws unless all repositories could be read: `info` exits with 0 and lists nothing if not. */
function readCopies(stanza: string, options: string[] = []): z.infer<typeof Copy>[] {
  const stanzas = readInfo(stanza, options)
  const statuses = stanzas.flatMap(({ status, repo }) => [
    ...repo.map(each => each.status),
    ...(status.code === MIXED ? [] : [status]),
  ])
  const problem = statuses.find(({ code }) => code !== OK && code !== NO_BACKUP)
  if (problem)
    throw setupError(
      `pgBackRest cannot list the backups of ${stanza}: ${inOneLine(problem.message)}. Check the name of the stanza, PGBACKREST_CONFIG and whether this user can read the repository. To do without these backups, move their folders out of the folder of backups`,
    )
  return stanzas.flatMap(({ backup }) => backup)
}

function readInfo(stanza: string, options: string[]): z.infer<typeof Info> {
  const text = readFromPgBackRest(stanza, ['--output=json', ...options, 'info'])
  try {
    return Info.parse(JSON.parse(text))
  } catch (cause) {
    const problem = 'printed a list of backups that this version of Troco cannot read'
    throw setupError(`pgBackRest ${problem}: install a version that it was tested with`, { cause })
  }
}
