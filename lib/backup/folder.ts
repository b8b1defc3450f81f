import {
  accessSync,
  chmodSync,
  chownSync,
  constants,
  mkdirSync,
  realpathSync,
  statfsSync,
} from 'node:fs'
import { resolve, sep } from 'node:path'
import { archiveSettings, walFolder } from '#lib/backup/archive.ts'
import { baseFolder } from '#lib/backup/manifest.ts'
import { isTrocoError, setupError } from '#lib/core/errors.ts'
import { canEnter, chooseDataDirectory, type PostgresUser } from '#lib/db/embedded-server.ts'

/** Returns the settings by which the embedded PostgreSQL of a data folder archives its WAL. */
export function archiveInto(path: string, dataFolder: string): Record<string, string> {
  if (process.platform === 'win32')
    throw setupError(
      'BACKUP_FOLDER needs DATABASE_URL on Windows: the embedded PostgreSQL archives nothing there',
    )
  mkdirSync(dataFolder, { recursive: true })
  const { location, user } = chooseDataDirectory(realpathSync(dataFolder))
  const folder = openBackupFolder(path, [realpathSync(dataFolder), location])
  openWalFolder(folder, user)
  return archiveSettings(folder)
}

/** Opens the folder of backups, creating it with its parts if missing. Returns its real path. */
export function openBackupFolder(path: string, outside: string[]): string {
  const wanted = resolve(path)
  return explainFileErrors(wanted, () => {
    // 0711: started by root, PostgreSQL runs as another user, who must enter but not list it.
    const mode = process.geteuid?.() === 0 ? 0o711 : 0o700
    const isNew = mkdirSync(wanted, { recursive: true, mode }) !== undefined
    if (isNew) chmodSync(wanted, mode) // Whatever the umask.
    const folder = realpathSync(wanted)
    for (const other of outside) requireApart(folder, other)
    mkdirSync(baseFolder(folder), { recursive: true, mode: 0o700 })
    accessSync(baseFolder(folder), constants.W_OK)
    return folder
  })
}

/** Creates the folder of archived WAL, into which the user who runs PostgreSQL writes. */
export function openWalFolder(folder: string, user: PostgresUser | null): void {
  explainFileErrors(folder, () => {
    const wal = walFolder(folder)
    mkdirSync(wal, { recursive: true, mode: 0o700 })
    if (!user) return
    chownSync(wal, user.uid, user.gid)
    requireEntry(folder, user)
  })
}

export function requireEntry(folder: string, user: PostgresUser): void {
  if (canEnter(folder, user)) return
  throw setupError(
    `User id ${user.uid}, which runs PostgreSQL, cannot enter ${folder}: run chmod o+x on it and the folders above it`,
  )
}

function requireApart(folder: string, other: string): void {
  const isInside = (inner: string, outer: string) => `${inner}${sep}`.startsWith(`${outer}${sep}`)
  if (!isInside(folder, other) && !isInside(other, folder)) return
  throw setupError(
    `The backups in ${folder} would be lost together with ${other}: choose a folder outside of it, on another disk`,
  )
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

/** Converts errors of the file system, such as a full disk, to one sentence. */
export function explainFileErrors<T>(folder: string, work: () => T): T {
  const explain = (error: unknown): never => {
    const { code, message } = error as NodeJS.ErrnoException
    if (isTrocoError(error) || !/^E[A-Z]+$/.test(code ?? '')) throw error
    const advice =
      code === 'ENOSPC' || code === 'EDQUOT'
        ? 'free space, or choose another folder'
        : 'it must be a folder that this user can write to'
    throw setupError(`${folder} cannot be used: ${message}: ${advice}`, { code })
  }
  try {
    const result = work()
    return result instanceof Promise ? (result.catch(explain) as T) : result
  } catch (error) {
    return explain(error)
  }
}
