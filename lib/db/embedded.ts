import { randomBytes, randomUUID } from 'node:crypto'
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { isTrocoError, refuse, setupError } from '#lib/core/errors.ts'
import { log } from '#lib/core/log.ts'
import {
  chooseDataDirectory,
  createData,
  type DataDirectory,
  findPostgresPackage,
  findPostmaster,
  hasData,
  type Postmaster,
  prepareBinaries,
  readProcessIdentity,
  removeLeftovers,
  startPostmaster,
  stopPostmaster,
  syncFolder,
  waitUntilReady,
  writePointer,
} from '#lib/db/embedded-server.ts'

export interface Embedded {
  /** URL of the application's role. */
  url: string
  /** URL of the role that owns the tables. */
  ownerUrl: string
  /** URL of the superuser, for tests. */
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

/** Roles of the embedded PostgreSQL. */
export const SUPERUSER = 'postgres'
export const OWNER_ROLE = 'troco'
export const APPLICATION_ROLE = 'troco_app'

interface Passwords {
  /** From secrets.json. */
  owner: string
  superuser: string
  application: string
}

interface Credentials {
  user: string
  database: string
  password: string
}

/** Wrong password; PostgreSQL reports a missing role in the same way. */
const REFUSED = '28P01'
const NO_DATABASE = '3D000'

/** Reads the passwords stored beside the data, generating missing ones. Requires `withLock`. */
export function readPasswords(dataFolder: string, owner: string): Passwords {
  return {
    owner,
    superuser: readOrMakePassword(join(dataFolder, 'postgres-superuser.password')),
    application: readOrMakePassword(join(dataFolder, 'postgres-app.password')),
  }
}

/** Stored before PostgreSQL learns it: after a crash in between, the next start sets it again. */
function readOrMakePassword(file: string): string {
  if (existsSync(file)) return readFileSync(file, 'utf8').trim()
  const password = randomBytes(24).toString('base64url')
  const draft = `${file}.${process.pid}`
  const handle = openSync(draft, 'w', 0o600)
  writeSync(handle, `${password}\n`)
  fsyncSync(handle)
  closeSync(handle)
  renameSync(draft, file)
  syncFolder(dirname(file))
  return password
}

/** Creates missing roles and the database. Idempotent. Returns false if PostgreSQL exited. */
async function ensureDatabase(
  postmaster: Postmaster,
  passwords: Passwords,
  isNew: boolean,
  location: string,
): Promise<boolean> {
  const connectAs = (user: string, password: string) =>
    isNew ? NO_DATABASE : runWithRetry(postmaster, { user, database: 'troco', password })
  const ownerCode = await connectAs(OWNER_ROLE, passwords.owner)
  const isMissing = ownerCode === NO_DATABASE || ownerCode === REFUSED
  const code = ownerCode ?? (await connectAs(APPLICATION_ROLE, passwords.application))
  const failure =
    isMissing || code === REFUSED ? await provision(postmaster, passwords, isMissing) : code
  if (failure === null || readProcessIdentity(postmaster.pid) === null) return failure === null
  throw setupError(
    failure === REFUSED
      ? `The data in ${location} was created with another secrets.json: restore that file, or move the data away to start with an empty database`
      : `PostgreSQL does not respond on port ${postmaster.port} (${failure})`,
  )
}

/** Creates roles and database as the superuser, then signs in as the owner if it was missing. */
async function provision(
  postmaster: Postmaster,
  passwords: Passwords,
  isOwnerMissing: boolean,
): Promise<string | null> {
  const asSuperuser = { user: SUPERUSER, database: 'postgres', password: passwords.superuser }
  const code = await runWithRetry(postmaster, asSuperuser, client => createRoles(client, passwords))
  if (code !== null || !isOwnerMissing) return code
  return runWithRetry(postmaster, {
    user: OWNER_ROLE,
    database: 'troco',
    password: passwords.owner,
  })
}

/** The application's role comes last: a successful sign-in with it means that all is done. */
async function createRoles(client: pg.Client, passwords: Passwords): Promise<void> {
  const exists = async (sql: string) => (await client.query(sql)).rowCount !== 0
  const secret = (password: string) => client.escapeLiteral(password)
  // Not a superuser: with COPY … TO PROGRAM, an SQL injection could run shell commands.
  if (!(await exists(`SELECT FROM pg_roles WHERE rolname = '${OWNER_ROLE}'`)))
    await client.query(
      `CREATE ROLE ${OWNER_ROLE} LOGIN CREATEDB PASSWORD ${secret(passwords.owner)}`,
    )
  if (!(await exists(`SELECT FROM pg_database WHERE datname = 'troco'`)))
    await client.query(`CREATE DATABASE troco OWNER ${OWNER_ROLE}`)
  const isThere = await exists(`SELECT FROM pg_roles WHERE rolname = '${APPLICATION_ROLE}'`)
  const command = isThere ? 'ALTER' : 'CREATE'
  await client.query(
    `${command} ROLE ${APPLICATION_ROLE} LOGIN PASSWORD ${secret(passwords.application)}`,
  )
}

/** Returns the error code, or null on success. Retries for 10 s while connections are refused. */
async function runWithRetry(
  { pid, port }: Postmaster,
  credentials: Credentials,
  work: (client: pg.Client) => Promise<void> = async () => {},
): Promise<string | null> {
  const giveUpAt = Date.now() + 10_000
  for (;;) {
    const connection = { host: '127.0.0.1', port, ssl: false, connectionTimeoutMillis: 5_000 }
    const client = new pg.Client({ ...connection, ...credentials })
    client.on('error', () => {})
    try {
      await client.connect()
      await work(client)
      return null
    } catch (error) {
      const code = (error as { code?: string }).code ?? (error as Error).message
      const isPermanent = !/^(53300|57P03|ECONNREFUSED|ECONNRESET)$/.test(code)
      if (isPermanent || readProcessIdentity(pid) === null || Date.now() > giveUpAt) return code
    } finally {
      await client.end().catch(() => {})
    }
    await sleep(50)
  }
}

/** Maximum wait for the lock: longer than a first start on a slow disk or a recovery takes. */
const LOCK_WAIT_MAX_MS = 120_000

/** Keeps references: the garbage collector could free a suspended function and its lock. */
const openLocks = new Set<DatabaseSync>()

/** The kernel releases SQLite's file lock when the process dies, so no lock is ever stale. */
export async function withLock<T>(dataFolder: string, work: () => Promise<T>): Promise<T> {
  const path = join(dataFolder, 'postgres-lock')
  const lock = new DatabaseSync(path)
  openLocks.add(lock)
  try {
    // In a read-only file, SQLite silently takes no lock.
    accessSync(path, constants.W_OK)
    const giveUpAt = Date.now() + LOCK_WAIT_MAX_MS
    while (!tryLock(lock)) {
      if (Date.now() > giveUpAt) {
        throw refuse(
          'setup_failed',
          `Another Troco process has been starting or stopping the database in ${dataFolder} for two minutes: stop it and try again`,
        )
      }
      await sleep(15)
    }
    return await work()
  } finally {
    openLocks.delete(lock)
    lock.close()
  }
}

function tryLock(lock: DatabaseSync): boolean {
  try {
    lock.exec('BEGIN EXCLUSIVE')
    return true
  } catch (error) {
    const busy = 5
    if ((error as { errcode?: number }).errcode === busy) return false
    throw error
  }
}

/** Requires `withLock`, like the functions below. */
function registerProcess(dataFolder: string): string {
  const folder = usersFolder(dataFolder)
  mkdirSync(folder, { recursive: true })
  const name = `${process.pid}.${randomUUID()}`
  writeFileSync(join(folder, name), readProcessIdentity(process.pid) ?? '')
  return name
}

function unregisterProcess(dataFolder: string, name: string): void {
  rmSync(join(usersFolder(dataFolder), name), { force: true })
}

export function countRegisteredProcesses(dataFolder: string): number {
  const folder = usersFolder(dataFolder)
  mkdirSync(folder, { recursive: true })
  return readdirSync(folder).filter(name => {
    const identity = readProcessIdentity(Number.parseInt(name, 10))
    const isAlive = identity !== null && identity === readFileSync(join(folder, name), 'utf8')
    if (!isAlive) unregisterProcess(dataFolder, name)
    return isAlive
  }).length
}

function usersFolder(dataFolder: string): string {
  return join(dataFolder, 'postgres-users')
}

const CHECK_MS = 500

/** Restarts PostgreSQL when it dies. Ends this process if the URL changes, which it still uses. */
export function supervisePostgres(
  first: Embedded,
  open: () => Promise<Embedded>,
): () => Promise<void> {
  const opened = [first]
  let restarting: Promise<void> | null = null

  async function restart(): Promise<void> {
    try {
      const next = await open()
      opened.push(next)
      log().error('embedded PostgreSQL exited and was restarted')
      if (next.url !== first.url) process.kill(process.pid, 'SIGTERM')
    } catch (error) {
      log().error({ err: error }, 'embedded PostgreSQL exited and could not be restarted')
    }
  }

  const checkTimer = setInterval(() => {
    const pid = opened.at(-1)?.pid ?? 0
    if (restarting || readProcessIdentity(pid) !== null) return
    restarting = restart().finally(() => {
      restarting = null
    })
  }, CHECK_MS)

  return async () => {
    clearInterval(checkTimer)
    await restarting
    for (const embedded of opened) await embedded.release()
  }
}
