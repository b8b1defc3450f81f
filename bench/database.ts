import { randomBytes } from 'node:crypto'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import pg from 'pg'
import { disconnect } from '#lib/base/db/client.ts'
import { openEmbedded } from '#lib/base/db/embedded.ts'
import { migrate } from '#lib/base/db/migrate.ts'
import { supplyEnv } from '#lib/base/env.ts'

export interface BenchDatabase {
  /** What a server needs in order to stand on it. */
  settings: Record<string, string>
  close: () => Promise<void>
}

/** A checkpoint would fall on whoever is being measured: no round is long enough to need one. */
const POSTGRES = { max_wal_size: '8GB', checkpoint_timeout: '1h' }

/** The PostgreSQL that ships with us, in a folder of its own that is removed afterwards. */
export async function openDatabase(): Promise<BenchDatabase> {
  const folder = mkdtempSync(join(tmpdir(), 'troco-bench-'))
  // Under root PostgreSQL runs as another user, who must be able to pass through.
  chmodSync(folder, 0o755)
  const remove = (path: string) => rmSync(path, { recursive: true, force: true, maxRetries: 5 })
  try {
    const password = randomBytes(24).toString('base64url')
    const embedded = await openEmbedded({ dataFolder: folder, password, settings: POSTGRES })
    const close = async () => {
      await disconnect()
      await embedded.release()
      remove(embedded.location.startsWith(folder) ? folder : dirname(embedded.location))
      remove(folder)
    }
    const settings = {
      TROCO_ENV: 'production',
      TROCO_SECRET: randomBytes(48).toString('base64url'),
      DATABASE_URL: embedded.url,
      // The same for all, because it stands in answers that must come out the same.
      PUBLIC_URL: 'https://bench.troco.example',
      DATABASE_POOL_MAX: '10',
      PG_NAMED_STATEMENTS: 'true',
      LOG_LEVEL: 'info',
      WORKER: 'false',
      RATE_TOKEN_PER_SECOND: '0',
      RATE_IP_PER_SECOND: '0',
      RATE_FAILED_BEARERS_PER_MINUTE: '0',
    }
    supplyEnv(settings)
    await migrate(embedded.url).catch(async error => {
      await close()
      throw error
    })
    return { settings, close }
  } catch (error) {
    remove(folder)
    throw error
  }
}

export interface Aside {
  settings: Record<string, string>
  pool: pg.Pool
}

/** Work in a database beside the first: a worker takes whatever is due in the one it has. */
export async function inDatabaseAside<Result>(
  settings: Record<string, string>,
  { name, template = 'template1' }: { name: string; template?: string },
  work: (aside: Aside) => Promise<Result>,
): Promise<Result> {
  const first = settings.DATABASE_URL ?? ''
  const url = new URL(first)
  url.pathname = `/${name}`
  await disconnect()
  await runOn(first, `CREATE DATABASE ${name} TEMPLATE ${template}`)
  supplyEnv({ DATABASE_URL: url.href })
  const pool = new pg.Pool({ connectionString: url.href, max: 4 })
  // Whoever asks hears of a lost connection; here it would end us before our database.
  pool.on('error', () => {})
  try {
    await migrate(url.href)
    return await work({ settings: { ...settings, DATABASE_URL: url.href }, pool })
  } finally {
    await pool.end()
    await disconnect()
    supplyEnv({ DATABASE_URL: first })
  }
}

/** What was written there would be vacuumed while the next is measured. */
export function dropDatabaseAside(settings: Record<string, string>, name: string): Promise<void> {
  return runOn(settings.DATABASE_URL ?? '', `DROP DATABASE ${name}`)
}

async function runOn(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}
