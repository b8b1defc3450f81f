import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, existsSync, mkdirSync, readdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import * as z from 'zod'
import { setupError } from '#lib/core/errors.ts'
import { inheritedEnv } from '#lib/core/settings.ts'
import { findPostgresUser, type PostgresUser } from '#lib/db/embedded-server.ts'

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
    repository: { stanza, label },
    timeline: Number.parseInt(archive.start.slice(0, 8), 16),
    startSegment: archive.start,
    stopSegment: archive.stop,
    stopLsn: lsn.stop,
    bytes: info.size,
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

/** The list of backups has about 600 bytes for each. */
const OUTPUT_BYTES_MAX = 256 * 1024 ** 2

/** Programs of PostgreSQL, and pgBackRest with them, refuse to run as root. */
export function findProgramUser(): PostgresUser | null {
  return process.geteuid?.() === 0 ? findPostgresUser() : null
}

/** Returns what pgBackRest prints; nothing of it reaches the terminal. */
function readFromPgBackRest(stanza: string, args: string[]): string {
  try {
    return execFileSync('pgbackrest', [...optionsFor(stanza), ...args], {
      cwd: '/',
      encoding: 'utf8',
      env: inheritedEnv(),
      maxBuffer: OUTPUT_BYTES_MAX,
      stdio: ['ignore', 'pipe', 'pipe'],
      ...findProgramUser(),
    })
  } catch (error) {
    const { stdout = '', stderr = '', message } = error as Error & Record<string, string>
    const output = [stdout, stderr].find(text => text.includes('ERROR:')) ?? message
    throw explain(error as NodeJS.ErrnoException, output)
  }
}

async function runPgBackRest(
  stanza: string,
  args: string[],
  user: PostgresUser | null,
  signal?: AbortSignal,
): Promise<void> {
  const child = spawn('pgbackrest', [...optionsFor(stanza), ...args], {
    cwd: '/',
    stdio: ['ignore', 'pipe', 'pipe'] as const,
    env: inheritedEnv(),
    ...user,
  })
  signal?.addEventListener('abort', () => child.kill())
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', chunk => {
      output += chunk
    })
  const [code] = await once(child, 'close').catch(error => {
    throw explain(error, output)
  })
  if (code !== 0) throw explain({ code: '' }, output)
}

/**
 * Command that fetches a file of the WAL. pgBackRest's own exits with less than 126 if it cannot read
 * one, which PostgreSQL takes for the end of the WAL.
 */
export function fetchCommand(stanza: string, location: string): string {
  // The live database may use the files of asynchronous archiving.
  const own = [`--pg1-path=${location}`, '--no-archive-async']
  const options = [...optionsFor(stanza), ...own].map(quoteForCommand)
  return `pgbackrest ${options.join(' ')} archive-get %f "%p"; s=$?; [ $s -le 1 ] || exit 200; exit $s`
}

/** For an operator, who may have other variables. */
export function describeFetching(stanza: string, file: string): string {
  return `pgbackrest ${placeOptions(stanza).join(' ')} archive-get ${file} /tmp/${file}`
}

/** Variables of the command that fetches WAL, such as a passphrase. It names the stanza itself. */
export function repositoryEnv(): Record<string, string> {
  const isNeeded = (name: string) =>
    name === 'PATH' || (name.startsWith('PGBACKREST_') && name !== 'PGBACKREST_STANZA')
  return Object.fromEntries(
    Object.entries(inheritedEnv()).flatMap(([name, value]) =>
      value && isNeeded(name) ? [[name, value]] : [],
    ),
  )
}

function optionsFor(stanza: string): string[] {
  return [...placeOptions(stanza), '--log-level-console=error', '--log-level-stderr=off']
}

/** Name the stanza and the configuration that describes it. */
function placeOptions(stanza: string): string[] {
  const { PGBACKREST_CONFIG: config } = inheritedEnv()
  return [`--stanza=${stanza}`, ...(config ? [`--config=${config}`] : [])]
}

function explain({ code }: Pick<NodeJS.ErrnoException, 'code'>, output: string): Error {
  if (code === 'ENOENT')
    return setupError(
      'pgbackrest is not on this machine: install it, or run this on the machine of the database',
    )
  const [, reason = output] = /ERROR: \[\d+\]: (.*)/s.exec(output) ?? []
  return setupError(`pgBackRest reported: ${inOneLine(reason)}`)
}

function inOneLine(text: string): string {
  return text.trim().replaceAll(/\s+/g, ' ')
}

/** Quotes for the shell, and for PostgreSQL, which replaces % and the letter after it. */
function quoteForCommand(path: string): string {
  return `'${path.replaceAll("'", `'\\''`).replaceAll('%', '%%')}'`
}

/** Where packages of Debian, Red Hat and Homebrew install the programs of each major version. */
const PACKAGE_FOLDERS = ['/usr/lib/postgresql', '/usr', '/opt/homebrew/opt']
const VERSIONED = /^(?:pgsql-|postgresql@)?(\d+)$/

/** Returns the folder of the server programs of a major version. */
export function findServerPrograms(major: number): string {
  const found = programFolders().find(folder => majorOf(join(folder, 'postgres')) === major)
  if (found) return found
  throw setupError(
    `The server programs of PostgreSQL ${major} are not on this machine: install them (Debian: postgresql-${major}), or run this where they are`,
  )
}

function programFolders(): string[] {
  const packaged = PACKAGE_FOLDERS.filter(folder => existsSync(folder)).flatMap(folder =>
    readdirSync(folder)
      .filter(name => VERSIONED.test(name))
      .toSorted((a, b) => versionOf(a) - versionOf(b))
      .map(name => join(folder, name, 'bin')),
  )
  return [...(inheritedEnv().PATH ?? '').split(delimiter), ...packaged].filter(Boolean)
}

function versionOf(name: string): number {
  return Number(VERSIONED.exec(name)?.[1])
}

function majorOf(program: string): number | null {
  if (!existsSync(program)) return null
  try {
    const text = execFileSync(program, ['--version'], { encoding: 'utf8' })
    return Number(/ (\d+)/.exec(text)?.[1])
  } catch {
    return null
  }
}
