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
import type { Place } from './embedded-location.ts'
import { type Postmaster, plainEnv } from './embedded-server.ts'
import { lifeOf } from './process.ts'

/** Runs initdb in a temporary folder and renames it when complete, so that data is never half made. */
export async function createData(place: Place, bin: string, password: string): Promise<void> {
  const { location, user } = place
  const fresh = mkdtempSync(prefixOf(location))
  const secret = `${fresh}.password`
  try {
    writeFileSync(secret, `${password}\n`, { mode: 0o600, flag: 'wx' })
    if (user) for (const path of [fresh, secret]) chownSync(path, user.uid, user.gid)
    await runInitdb(place, bin, fresh, secret)
    if (existsSync(location)) rmdirSync(location)
    renameSync(fresh, location)
    syncFolder(dirname(location))
  } finally {
    for (const path of [secret, fresh]) rmSync(path, { recursive: true, force: true })
  }
}

async function runInitdb({ user }: Place, bin: string, fresh: string, secret: string) {
  const locale = ['--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8']
  const access = ['--username=postgres', `--pwfile=${secret}`, '--auth=scram-sha-256']
  const child = spawn(
    join(bin, 'initdb'),
    ['-D', fresh, '--encoding=UTF8', ...locale, ...access, '--no-instructions'],
    { cwd: '/', stdio: ['ignore', 'ignore', 'pipe'], env: plainEnv(), ...user },
  )
  let complaints = ''
  child.stderr.on('data', chunk => {
    complaints += chunk
  })
  const reason = await new Promise<string | null>(done => {
    child.on('error', error => done(error.message))
    child.on('close', code => done(code === 0 ? null : complaints.trim().replaceAll('\n', ' ')))
  })
  if (reason !== null)
    throw refusal(`The database could not be created: initdb reported: ${reason}`)
}

/** Removes what a killed creation left, including its password file. */
export function removeLeftovers(location: string): void {
  const prefix = prefixOf(location)
  for (const name of readdirSync(dirname(prefix))) {
    if (!name.startsWith(basename(prefix))) continue
    try {
      rmSync(join(dirname(prefix), name), { recursive: true, force: true })
    } catch {
      // An initdb that outlived its parent still writes here; a later start removes the folder.
    }
  }
}

function prefixOf(location: string): string {
  return `${location}.new-`
}

/** Flushes a folder: without it, a rename can be lost in a power failure. */
function syncFolder(folder: string): void {
  if (process.platform === 'win32') return
  const handle = openSync(folder, 'r')
  fsyncSync(handle)
  closeSync(handle)
}

/** Creates the role and database if missing. Idempotent. Returns false if PostgreSQL exited meanwhile. */
export async function ensureDatabase(
  postmaster: Postmaster,
  password: string,
  isNew: boolean,
  location: string,
): Promise<boolean> {
  const asOurselves = { user: 'troco', database: 'troco', password }
  let answer = isNew ? '3D000' : await tryQueries(postmaster, asOurselves, async () => {})
  // PostgreSQL reports a missing role like a wrong password (28P01).
  if (answer === '3D000' || answer === '28P01') {
    const asSuperuser = { user: 'postgres', database: 'postgres', password }
    answer = await tryQueries(postmaster, asSuperuser, client => createRole(client, password))
  }
  if (answer === null || lifeOf(postmaster.pid) === null) return answer === null
  throw refusal(
    answer === '28P01'
      ? `The data in ${location} was created with another secrets.json: restore that file, or move the data away to start with an empty database`
      : `PostgreSQL does not respond on port ${postmaster.port} (${answer})`,
  )
}

async function createRole(client: pg.Client, password: string): Promise<void> {
  const role = await client.query(`SELECT 1 FROM pg_roles WHERE rolname = 'troco'`)
  const secret = client.escapeLiteral(password)
  // Not a superuser: with COPY … TO PROGRAM, an SQL injection could run shell commands.
  const verb = role.rowCount ? 'ALTER' : 'CREATE'
  await client.query(`${verb} ROLE troco LOGIN CREATEDB PASSWORD ${secret}`)
  const found = await client.query(`SELECT 1 FROM pg_database WHERE datname = 'troco'`)
  if (!found.rowCount) await client.query('CREATE DATABASE troco OWNER troco')
}

/** Returns the error code, or null on success. Retries for 10 s while PostgreSQL refuses connections. */
async function tryQueries(
  { pid, port }: Postmaster,
  who: { user: string; database: string; password: string },
  work: (client: pg.Client) => Promise<void>,
): Promise<string | null> {
  const giveUpAt = Date.now() + 10_000
  for (;;) {
    const where = { host: '127.0.0.1', port, ssl: false, connectionTimeoutMillis: 5_000 }
    const client = new pg.Client({ ...where, ...who })
    client.on('error', () => {})
    try {
      await client.connect()
      await work(client)
      return null
    } catch (error) {
      const code = (error as { code?: string }).code ?? (error as Error).message
      const isOver = !/^(53300|57P03|ECONNREFUSED|ECONNRESET)$/.test(code)
      if (isOver || lifeOf(pid) === null || Date.now() > giveUpAt) return code
    } finally {
      await client.end().catch(() => {})
    }
    await sleep(50)
  }
}

function refusal(message: string): TrocoError {
  return refuse('setup_failed', message)
}
