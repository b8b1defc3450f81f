import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { refuse, type TrocoError } from '#lib/base/errors.ts'

export interface PostgresUser {
  uid: number
  gid: number
}

/** Where root puts what the user postgres could not reach otherwise. */
export const sharedFolder = '/var/lib/troco'

export interface Place {
  /** PostgreSQL's data directory. */
  location: string
  /** Whom PostgreSQL runs as; null: ourselves. It refuses to run as root. */
  user: PostgresUser | null
}

/** Where the data is, or is to be. Data that exists is never left for an empty new place. */
export function choosePlace(dataFolder: string): Place {
  const own = join(dataFolder, 'postgres')
  const uid = process.geteuid?.()
  const known = readPointer(dataFolder) ?? (isData(own) ? own : null)
  if (known !== null) return { location: known, user: ownerOf(known, uid) }
  if (uid !== 0) return { location: own, user: null }
  const user = findPostgresUser()
  const hash = createHash('sha256').update(dataFolder).digest('hex').slice(0, 12)
  const shared = join(sharedFolder, hash, 'postgres')
  const isShared = isData(shared) || !canEnter(dataFolder, user)
  if (!isShared) return { location: own, user }
  makeShared(sharedFolder)
  makeShared(dirname(shared))
  return { location: shared, user }
}

/** Open to the user postgres whatever the umask says. */
export function makeShared(folder: string): void {
  mkdirSync(folder, { recursive: true })
  chmodSync(folder, 0o755)
}

/** Tells people, and later starts, where the data is when it is not in the data folder. */
export function writePointer(dataFolder: string, location: string): void {
  const pointer = pointerOf(dataFolder)
  if (dirname(location) !== dataFolder && !existsSync(pointer)) {
    writeFileSync(pointer, `${location}\n`)
  }
}

function readPointer(dataFolder: string): string | null {
  const pointer = pointerOf(dataFolder)
  if (!existsSync(pointer)) return null
  const location = readFileSync(pointer, 'utf8').trim()
  if (isData(location)) return location
  throw refuse(
    'setup_failed',
    `${pointer} says that the data is in ${location}, where there is none: bring it back, or delete that file to begin with an empty database`,
  )
}

function pointerOf(dataFolder: string): string {
  return join(dataFolder, 'postgres-location')
}

function isData(location: string): boolean {
  try {
    return statSync(join(location, 'PG_VERSION')).isFile()
  } catch (error) {
    // A folder that we may not look into belongs to another user: ownerOf says so.
    return (error as NodeJS.ErrnoException).code === 'EACCES'
  }
}

function ownerOf(location: string, uid: number | undefined): PostgresUser | null {
  const owner = statSync(location)
  if (uid === undefined || owner.uid === uid) {
    if (uid === 0) throw refusal(`${location} belongs to root, which PostgreSQL refuses: chown it`)
    return null
  }
  if (uid !== 0) {
    throw refusal(
      `The data in ${location} belongs to the user with id ${owner.uid}, you are ${uid}: start Troco as the user who first did (root?)`,
    )
  }
  const user = { uid: owner.uid, gid: owner.gid }
  if (canEnter(dirname(location), user)) return user
  throw refusal(
    `The folders above ${location} no longer let its owner in (user id ${owner.uid}): chmod o+x them`,
  )
}

/** Whether a user can pass through this folder and all above it. */
export function canEnter(folder: string, { uid, gid }: PostgresUser): boolean {
  const stat = statSync(folder)
  const bit = stat.uid === uid ? 0o100 : stat.gid === gid ? 0o010 : 0o001
  const above = dirname(folder)
  return (stat.mode & bit) !== 0 && (above === folder || canEnter(above, { uid, gid }))
}

function findPostgresUser(): PostgresUser {
  const found = readUser()
  if (found) return found
  const ways: [string, string[]][] = [
    ['useradd', ['--system', '--no-create-home', '--shell', '/usr/sbin/nologin', 'postgres']],
    ['adduser', ['-S', '-D', '-H', '-s', '/sbin/nologin', 'postgres']],
  ]
  for (const [command, args] of ways) {
    try {
      execFileSync(command, args, { stdio: 'ignore' })
    } catch {
      continue
    }
    const created = readUser()
    if (created) return created
  }
  throw refusal(
    'PostgreSQL refuses to run as root, and the user postgres could not be created: create it (useradd --system postgres), start Troco as another user, or set DATABASE_URL',
  )
}

function readUser(): PostgresUser | null {
  const lines = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map(line => line.split(':'))
  const fields = lines.find(([name]) => name === 'postgres')
  return fields ? { uid: Number(fields[2]), gid: Number(fields[3]) } : null
}

function refusal(message: string): TrocoError {
  return refuse('setup_failed', message)
}
