import { existsSync, mkdirSync, realpathSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { isTrocoError, refuse, setupError } from '#lib/core/errors.ts'
import { createData, removeLeftovers } from './embedded-create.ts'
import { findPostgresPackage, hasData, prepareBinaries } from './embedded-files.ts'
import { chooseDataDirectory, type DataDirectory, writePointer } from './embedded-location.ts'
import {
  APPLICATION_ROLE,
  ensureDatabase,
  OWNER_ROLE,
  type Passwords,
  readPasswords,
  SUPERUSER,
} from './embedded-roles.ts'
import {
  findPostmaster,
  type Postmaster,
  startPostmaster,
  stopPostmaster,
  waitUntilReady,
} from './embedded-server.ts'
import {
  countRegisteredProcesses,
  registerProcess,
  unregisterProcess,
  withLock,
} from './embedded-users.ts'

export interface Embedded {
  /** URL of the application's role. */
  url: string
  /** URL of the role that owns the tables. */
  ownerUrl: string
  /** URL of the superuser, for backups only. */
  superuserUrl: string
  location: string
  /** Whether PostgreSQL was already running, started by another Troco process. */
  isAdopted: boolean
  pid: number
  /** Stops PostgreSQL if no other process uses it. */
  release(): Promise<void>
}

interface Options {
  dataFolder: string
  /** Password of the owner. The passwords of the other roles are stored in the data folder. */
  password: string
  onProgress?: (line: string) => void
  settings?: Record<string, string>
}

/** File in the data folder while a restored database takes the place of another. */
export const UNFINISHED_RESTORE = 'restore-unfinished'

/** Another program can take the port, or another process start PostgreSQL first. */
const ATTEMPTS_MAX = 5

export async function openEmbedded(options: Options): Promise<Embedded> {
  const dataFolder = prepareFolder(options.dataFolder)
  return explainFileErrors(dataFolder, () =>
    withLock(dataFolder, async () => {
      const directory = chooseDataDirectory(dataFolder)
      try {
        const passwords = readPasswords(dataFolder, options.password)
        const running = await ensureRunning(dataFolder, directory, options, passwords)
        const { postmaster, isAdopted } = running
        const name = registerProcess(dataFolder)
        return {
          url: makeUrl(APPLICATION_ROLE, passwords.application, postmaster.port),
          ownerUrl: makeUrl(OWNER_ROLE, passwords.owner, postmaster.port),
          superuserUrl: makeUrl(SUPERUSER, passwords.superuser, postmaster.port),
          location: directory.location,
          isAdopted,
          pid: postmaster.pid,
          release: () => release(dataFolder, directory.location, name),
        }
      } catch (error) {
        await stopIfUnused(dataFolder, directory.location).catch(() => {})
        throw error
      }
    }),
  )
}

function makeUrl(role: string, password: string, port: number): string {
  return `postgresql://${role}:${encodeURIComponent(password)}@127.0.0.1:${port}/troco`
}

async function release(dataFolder: string, location: string, name: string): Promise<void> {
  await withLock(dataFolder, async () => {
    unregisterProcess(dataFolder, name)
    await stopIfUnused(dataFolder, location)
  })
}

async function stopIfUnused(dataFolder: string, location: string): Promise<void> {
  const postmaster = countRegisteredProcesses(dataFolder) === 0 ? findPostmaster(location) : null
  if (postmaster) await stopPostmaster(postmaster.pid)
}

async function ensureRunning(
  dataFolder: string,
  directory: DataDirectory,
  { settings = {}, onProgress = () => {} }: Options,
  passwords: Passwords,
): Promise<{ postmaster: Postmaster; isAdopted: boolean }> {
  const { location, user } = directory
  const postgresPackage = findPostgresPackage()
  const startLog = join(dataFolder, 'postgres-start.log')
  removeLeftovers(location)
  let isNew = false
  let exists = hasData(location, postgresPackage.major)
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const running = findPostmaster(location)
    let server = running && (await waitUntilReady(location, running.pid, startLog))
    const isAdopted = server !== null
    if (!server) {
      const bin = prepareBinaries(postgresPackage, user, dataFolder, onProgress)
      if (!exists) {
        requireNoUnfinishedRestore(dataFolder)
        onProgress('Preparing the database…')
        await createData(directory, bin, passwords.superuser)
        writePointer(dataFolder, location)
        isNew = exists = true
      }
      server = await startPostmaster(directory, bin, startLog, settings)
    }
    if (server && (await ensureDatabase(server, passwords, isNew, location))) {
      return { postmaster: server, isAdopted }
    }
  }
  throw refuse(
    'setup_failed',
    `PostgreSQL exited after each of ${ATTEMPTS_MAX} starts: see ${location}/log`,
  )
}

/** Throws if a restore ended between moving the old database away and moving the restored one in. */
function requireNoUnfinishedRestore(dataFolder: string): void {
  if (!existsSync(join(dataFolder, UNFINISHED_RESTORE))) return
  throw setupError(
    `A restore of ${dataFolder} did not finish: run troco restore again with the same --to`,
  )
}

/** Creates the folder and returns its real path, by which a running PostgreSQL is recognized. */
function prepareFolder(path: string): string {
  const folder = resolve(path)
  return explainFileErrors(folder, () => {
    mkdirSync(folder, { recursive: true })
    return realpathSync(folder)
  })
}

/** Converts file system errors (not writable, not a folder, full) to a one-line message. */
function explainFileErrors<T>(folder: string, work: () => T): T {
  const explain = (error: unknown): never => {
    const { code, message } = error as NodeJS.ErrnoException
    const isAboutFiles = /^(E[A-Z]+|ERR_SQLITE_ERROR)$/.test(code ?? '')
    if (isTrocoError(error) || !isAboutFiles) throw error
    throw refuse(
      'setup_failed',
      `The data folder ${folder} cannot be used: ${message}. It must be a folder that this user can write to`,
      { cause: error },
    )
  }
  try {
    const result = work()
    return result instanceof Promise ? (result.catch(explain) as T) : result
  } catch (error) {
    return explain(error)
  }
}
