import { randomBytes } from 'node:crypto'
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { setupError } from '#lib/core/errors.ts'
import type { Postmaster } from './embedded-server.ts'
import { readProcessIdentity } from './process.ts'

/** Roles of the embedded PostgreSQL. */
export const SUPERUSER = 'postgres'
export const OWNER_ROLE = 'troco'
export const APPLICATION_ROLE = 'troco_app'

export interface Passwords {
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

/** Flushes a folder to disk: otherwise a power failure could undo a rename in it. */
export function syncFolder(folder: string): void {
  if (process.platform === 'win32') return
  const handle = openSync(folder, 'r')
  fsyncSync(handle)
  closeSync(handle)
}

/** Creates missing roles and the database. Idempotent. Returns false if PostgreSQL exited. */
export async function ensureDatabase(
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
