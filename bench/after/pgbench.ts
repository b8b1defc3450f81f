import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants, readdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import pg from 'pg'
import { inheritedEnv } from '#lib/core/settings.ts'
import { endChild, trackChild } from '../servers.ts'

export interface Reference {
  title: string
  run: (seconds: number) => Promise<number>
}

const CLIENT_COUNT = 16
const DEBIAN_FOLDER = '/usr/lib/postgresql'
/** One row with the columns of `ledger_accounts`, without triggers and foreign keys. */
const CREATE_TABLE = `
  CREATE TABLE reference_accounts (LIKE ledger_accounts INCLUDING ALL) WITH (fillfactor = 50);
  INSERT INTO reference_accounts (account_id, mode, ledger)
  VALUES ('00000000-0000-7000-8000-000000000001', 'test', 'available')`
const UPDATE = `UPDATE reference_accounts SET balance = balance + 1
  WHERE account_id = '00000000-0000-7000-8000-000000000001'
    AND mode = 'test' AND ledger = 'available'`

/** Measures how often PostgreSQL can update one contended row, one commit per update. */
export async function openReference(url: string): Promise<Reference> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(CREATE_TABLE).finally(() => client.end())
  const program = findPgbench()
  return program
    ? { title: `pgbench (${program})`, run: seconds => runPgbench(program, url, seconds) }
    : { title: `pg, one named statement`, run: seconds => runLoop(url, seconds) }
}

function findPgbench(): string | undefined {
  const folders = (inheritedEnv().PATH ?? '').split(delimiter)
  try {
    folders.push(...readdirSync(DEBIAN_FOLDER).map(version => join(DEBIAN_FOLDER, version, 'bin')))
  } catch {
    // Debian's PostgreSQL is not installed.
  }
  return folders.map(folder => join(folder, 'pgbench')).find(isExecutable)
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

async function runPgbench(program: string, url: string, seconds: number): Promise<number> {
  const { hostname, port, username, password, pathname } = new URL(url)
  const flags = ['-n', '-M', 'prepared', '-c', CLIENT_COUNT, '-j', 1, '-T', seconds, '-f', '-'].map(
    String,
  )
  const child = spawn(program, flags, {
    env: {
      ...inheritedEnv(),
      PGHOST: hostname,
      PGPORT: port,
      PGDATABASE: pathname.slice(1),
      PGUSER: decodeURIComponent(username),
      PGPASSWORD: decodeURIComponent(password),
    },
    stdio: 'pipe',
  })
  trackChild(child)
  let printed = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', chunk => {
      printed += chunk
    })
  }
  // A pgbench that exits early prints the reason on stdout or stderr.
  child.stdin.on('error', () => {})
  child.stdin.end(`${UPDATE.replace(/\s+/g, ' ')};\n`)
  await once(child, 'close')
  await endChild(child)
  const perSecond = Number(/^tps = ([\d.]+)/m.exec(printed)?.[1])
  if (perSecond > 0) return perSecond
  throw new Error(`pgbench printed no rate: ${printed}`)
}

async function runLoop(url: string, seconds: number): Promise<number> {
  const clients = Array.from(
    { length: CLIENT_COUNT },
    () => new pg.Client({ connectionString: url }),
  )
  await Promise.all(clients.map(client => client.connect()))
  const began = performance.now()
  let count = 0
  const work = async (client: pg.Client) => {
    while (performance.now() - began < seconds * 1_000) {
      await client.query({ name: 'update', text: UPDATE })
      count++
    }
  }
  await Promise.all(clients.map(work))
  const perSecond = (count * 1_000) / (performance.now() - began)
  await Promise.all(clients.map(client => client.end()))
  return perSecond
}
