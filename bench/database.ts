import { randomBytes } from 'node:crypto'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { disconnect } from '#lib/db/client.ts'
import { openEmbedded } from '#lib/db/embedded.ts'
import { migrate } from '#lib/db/migrate.ts'
import { supplyEnv } from '#lib/env.ts'

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
