import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { refuse, setupError } from '#lib/core/errors.ts'

export interface PostgresUser {
  uid: number
  gid: number
}

/** Folder for data and programs, for root only, if user postgres cannot reach the data folder. */
export const SHARED_FOLDER = '/var/lib/troco'

export interface DataDirectory {
  location: string
  /** User that runs PostgreSQL if this process is root, which PostgreSQL refuses; else null. */
  user: PostgresUser | null
}

/** Chooses the data directory. Existing data always takes precedence over a new location. */
export function chooseDataDirectory(dataFolder: string): DataDirectory {
  const defaultLocation = join(dataFolder, 'postgres')
  const uid = process.geteuid?.()
  const existing =
    readPointer(dataFolder) ?? (isDataDirectory(defaultLocation) ? defaultLocation : null)
  if (existing !== null) return { location: existing, user: ownerOf(existing, uid) }
  if (uid !== 0) return { location: defaultLocation, user: null }
  const user = findPostgresUser()
  const hash = createHash('sha256').update(dataFolder).digest('hex').slice(0, 12)
  const shared = join(SHARED_FOLDER, hash, 'postgres')
  const isShared = isDataDirectory(shared) || !canEnter(dataFolder, user)
  if (!isShared) return { location: defaultLocation, user }
  makeSharedFolder(SHARED_FOLDER)
  makeSharedFolder(dirname(shared))
  return { location: shared, user }
}

/** Creates a folder that the user postgres can enter, whatever the umask. */
export function makeSharedFolder(folder: string): void {
  mkdirSync(folder, { recursive: true })
  chmodSync(folder, 0o755)
}

/** Records a location outside the data folder, for later starts and for operators. */
export function writePointer(dataFolder: string, location: string): void {
  const pointer = pointerPath(dataFolder)
  if (dirname(location) !== dataFolder && !existsSync(pointer)) {
    writeFileSync(pointer, `${location}\n`)
  }
}

function readPointer(dataFolder: string): string | null {
  const pointer = pointerPath(dataFolder)
  if (!existsSync(pointer)) return null
  const location = readFileSync(pointer, 'utf8').trim()
  if (isDataDirectory(location)) return location
  throw refuse(
    'setup_failed',
    `${pointer} points to ${location}, which contains no data: restore the data, or delete ${pointer} to start with an empty database`,
  )
}

function pointerPath(dataFolder: string): string {
  return join(dataFolder, 'postgres-location')
}

function isDataDirectory(location: string): boolean {
  try {
    return statSync(join(location, 'PG_VERSION')).isFile()
  } catch (error) {
    // EACCES counts as data of another user, whom the error of `ownerOf` names.
    return (error as NodeJS.ErrnoException).code === 'EACCES'
  }
}

function ownerOf(location: string, uid: number | undefined): PostgresUser | null {
  const owner = statSync(location)
  if (uid === undefined || owner.uid === uid) {
    if (uid === 0)
      throw setupError(
        `${location} belongs to root, but PostgreSQL does not run as root: change its owner`,
      )
    return null
  }
  if (uid !== 0) {
    throw setupError(
      `The data in ${location} belongs to user id ${owner.uid}, but Troco runs as ${uid}: start it as the user who created the data (root?)`,
    )
  }
  const user = { uid: owner.uid, gid: owner.gid }
  if (canEnter(dirname(location), user)) return user
  throw setupError(
    `User id ${owner.uid}, which owns ${location}, cannot enter the folders above it: run chmod o+x on them`,
  )
}

export function canEnter(folder: string, { uid, gid }: PostgresUser): boolean {
  const stat = statSync(folder)
  const bit = stat.uid === uid ? 0o100 : stat.gid === gid ? 0o010 : 0o001
  const parent = dirname(folder)
  return (stat.mode & bit) !== 0 && (parent === folder || canEnter(parent, { uid, gid }))
}

export function findPostgresUser(): PostgresUser {
  const existing = readUser()
  if (existing) return existing
  const commands: [string, string[]][] = [
    ['useradd', ['--system', '--no-create-home', '--shell', '/usr/sbin/nologin', 'postgres']],
    ['adduser', ['-S', '-D', '-H', '-s', '/sbin/nologin', 'postgres']],
  ]
  for (const [command, args] of commands) {
    try {
      execFileSync(command, args, { stdio: 'ignore' })
    } catch {
      continue
    }
    const created = readUser()
    if (created) return created
  }
  throw setupError(
    'PostgreSQL does not run as root, and the user postgres could not be created: create it (useradd --system postgres), start Troco as another user, or set DATABASE_URL',
  )
}

function readUser(): PostgresUser | null {
  const lines = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map(line => line.split(':'))
  const fields = lines.find(([name]) => name === 'postgres')
  return fields ? { uid: Number(fields[2]), gid: Number(fields[3]) } : null
}
