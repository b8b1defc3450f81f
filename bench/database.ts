import { randomBytes } from 'node:crypto'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import pg from 'pg'
import { supplyEnv } from '#lib/core/settings.ts'
import { disconnect } from '#lib/db/client.ts'
import { openEmbedded } from '#lib/db/embedded.ts'
import { prepareDatabase } from '#lib/db/roles.ts'

export interface BenchDatabase {
  settings: Record<string, string>
  close: () => Promise<void>
}

/** Avoids checkpoints during the run: a checkpoint would slow down the measured server. */
const POSTGRES_SETTINGS = { max_wal_size: '8GB', checkpoint_timeout: '1h' }

/** Starts the embedded PostgreSQL in a temporary folder, which `close` removes. */
export async function openDatabase(): Promise<BenchDatabase> {
  const folder = mkdtempSync(join(tmpdir(), 'troco-bench-'))
  // As root, PostgreSQL runs as another user, which must be able to enter the folder.
  chmodSync(folder, 0o755)
  const remove = (path: string) => rmSync(path, { recursive: true, force: true, maxRetries: 5 })
  try {
    const password = randomBytes(24).toString('base64url')
    const embedded = await openEmbedded({
      dataFolder: folder,
      password,
      settings: POSTGRES_SETTINGS,
    })
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
      DATABASE_OWNER_URL: embedded.ownerUrl,
      // Responses contain this URL and must be equal, so all servers share it.
      PUBLIC_URL: 'https://bench.troco.example',
      DATABASE_POOL_MAX: '10',
      PG_NAMED_STATEMENTS: 'true',
      LOG_LEVEL: 'info',
      WORKER: 'false',
      RATE_TOKEN_PER_SECOND: '0',
      RATE_IP_PER_SECOND: '0',
      RATE_TOKEN_IN_FLIGHT: '0',
      TEST_BYTES_PER_DAY: '0',
      RATE_IP_IN_FLIGHT: '0',
      RATE_FAILED_BEARERS_PER_MINUTE: '0',
    }
    supplyEnv(settings)
    await prepareDatabase(embedded).catch(async error => {
      await close()
      throw error
    })
    return { settings, close }
  } catch (error) {
    remove(folder)
    throw error
  }
}

export interface SecondDatabase {
  settings: Record<string, string>
  /** Connections of the owner, who may vacuum. */
  pool: pg.Pool
}

/**
 * Runs `work` in a second database of the same server, because a worker claims every due row of its
 * database.
 */
export async function withSecondDatabase<Result>(
  settings: Record<string, string>,
  { name, template = 'template1' }: { name: string; template?: string },
  work: (database: SecondDatabase) => Promise<Result>,
): Promise<Result> {
  const { DATABASE_URL = '', DATABASE_OWNER_URL = '' } = settings
  const [url, ownerUrl] = [DATABASE_URL, DATABASE_OWNER_URL].map(first => {
    const changed = new URL(first)
    changed.pathname = `/${name}`
    return changed.href
  }) as [string, string]
  await disconnect()
  await runStatement(DATABASE_OWNER_URL, `CREATE DATABASE ${name} TEMPLATE ${template}`)
  const secondUrls = { DATABASE_URL: url, DATABASE_OWNER_URL: ownerUrl }
  supplyEnv(secondUrls)
  const pool = new pg.Pool({ connectionString: ownerUrl, max: 4 })
  // Queries report lost connections; without a listener, the event would end the process.
  pool.on('error', () => {})
  try {
    await prepareDatabase({ url, ownerUrl })
    return await work({ settings: { ...settings, ...secondUrls }, pool })
  } finally {
    await pool.end()
    await disconnect()
    supplyEnv({ DATABASE_URL, DATABASE_OWNER_URL })
  }
}

/** Drops the database, so that vacuuming it does not disturb the next measurement. */
export function dropSecondDatabase(settings: Record<string, string>, name: string): Promise<void> {
  return runStatement(settings.DATABASE_OWNER_URL ?? '', `DROP DATABASE ${name}`)
}

async function runStatement(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}
