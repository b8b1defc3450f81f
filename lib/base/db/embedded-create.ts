import { spawn } from 'node:child_process'
import {
  chownSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdtempSync,
  openSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { refuse, type TrocoError } from '#lib/base/errors.ts'
import type { DataDirectory } from './embedded-location.ts'
import { type Postmaster, plainEnv } from './embedded-server.ts'
import { readProcessIdentity } from './process.ts'

/** Runs initdb in a temporary folder, then renames it: a data directory is never half created. */
export async function createData(
  directory: DataDirectory,
  bin: string,
  password: string,
): Promise<void> {
  const { location, user } = directory
  const stagingFolder = mkdtempSync(stagingPrefix(location))
  const passwordFile = `${stagingFolder}.password`
  try {
    writeFileSync(passwordFile, `${password}\n`, { mode: 0o600, flag: 'wx' })
    if (user) for (const path of [stagingFolder, passwordFile]) chownSync(path, user.uid, user.gid)
    await runInitdb(directory, bin, stagingFolder, passwordFile)
    if (existsSync(location)) rmdirSync(location)
    renameSync(stagingFolder, location)
    syncFolder(dirname(location))
  } finally {
    for (const path of [passwordFile, stagingFolder]) rmSync(path, { recursive: true, force: true })
  }
}

async function runInitdb(
  { user }: DataDirectory,
  bin: string,
  stagingFolder: string,
  passwordFile: string,
) {
  const locale = ['--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8']
  const access = ['--username=postgres', `--pwfile=${passwordFile}`, '--auth=scram-sha-256']
  const child = spawn(
    join(bin, 'initdb'),
    ['-D', stagingFolder, '--encoding=UTF8', ...locale, ...access, '--no-instructions'],
    { cwd: '/', stdio: ['ignore', 'ignore', 'pipe'], env: plainEnv(), ...user },
  )
  let errorOutput = ''
  child.stderr.on('data', chunk => {
    errorOutput += chunk
  })
  const reason = await new Promise<string | null>(resolve => {
    child.on('error', error => resolve(error.message))
    child.on('close', code => resolve(code === 0 ? null : errorOutput.trim().replaceAll('\n', ' ')))
  })
  if (reason !== null)
    throw setupError(`The database could not be created: initdb reported: ${reason}`)
}

/** Removes the files of an interrupted creation, including its password file. */
export function removeLeftovers(location: string): void {
  const prefix = stagingPrefix(location)
  for (const name of readdirSync(dirname(prefix))) {
    if (!name.startsWith(basename(prefix))) continue
    try {
      rmSync(join(dirname(prefix), name), { recursive: true, force: true })
    } catch {
      // An initdb that outlived its parent still writes to this folder; a later start removes it.
    }
  }
}

function stagingPrefix(location: string): string {
  return `${location}.new-`
}

/** Flushes a folder to disk: otherwise a power failure could undo a rename in it. */
function syncFolder(folder: string): void {
  if (process.platform === 'win32') return
  const handle = openSync(folder, 'r')
  fsyncSync(handle)
  closeSync(handle)
}

/** Creates the role and database if missing. Returns false if PostgreSQL exited meanwhile. */
export async function ensureDatabase(
  postmaster: Postmaster,
  password: string,
  isNew: boolean,
  location: string,
): Promise<boolean> {
  const asAppRole = { user: 'troco', database: 'troco', password }
  let errorCode = isNew ? '3D000' : await runWithRetry(postmaster, asAppRole, async () => {})
  // PostgreSQL reports a missing role like a wrong password (28P01).
  if (errorCode === '3D000' || errorCode === '28P01') {
    const asSuperuser = { user: 'postgres', database: 'postgres', password }
    errorCode = await runWithRetry(postmaster, asSuperuser, client => createRole(client, password))
  }
  if (errorCode === null || readProcessIdentity(postmaster.pid) === null) return errorCode === null
  throw setupError(
    errorCode === '28P01'
      ? `The data in ${location} was created with another secrets.json: restore that file, or move the data away to start with an empty database`
      : `PostgreSQL does not respond on port ${postmaster.port} (${errorCode})`,
  )
}

async function createRole(client: pg.Client, password: string): Promise<void> {
  const role = await client.query(`SELECT 1 FROM pg_roles WHERE rolname = 'troco'`)
  const secret = client.escapeLiteral(password)
  // Not a superuser: with COPY … TO PROGRAM, an SQL injection could run shell commands.
  const command = role.rowCount ? 'ALTER' : 'CREATE'
  await client.query(`${command} ROLE troco LOGIN CREATEDB PASSWORD ${secret}`)
  const databases = await client.query(`SELECT 1 FROM pg_database WHERE datname = 'troco'`)
  if (!databases.rowCount) await client.query('CREATE DATABASE troco OWNER troco')
}

/** Returns the error code, or null on success. Retries for 10 s while connections are refused. */
async function runWithRetry(
  { pid, port }: Postmaster,
  credentials: { user: string; database: string; password: string },
  work: (client: pg.Client) => Promise<void>,
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

function setupError(message: string): TrocoError {
  return refuse('setup_failed', message)
}
