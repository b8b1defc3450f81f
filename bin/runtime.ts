import { openDataFolder } from '#bin/data-folder.ts'
import { archiveInto } from '#lib/backup/folder.ts'
import { requireNoRestoreMark } from '#lib/backup/records.ts'
import { env, loadEnvFile, supplyEnv } from '#lib/core/settings.ts'
import { disconnect } from '#lib/db/client.ts'
import { requireRightClock } from '#lib/db/clock.ts'
import { openEmbedded, supervisePostgres } from '#lib/db/embedded.ts'
import { prepareDatabase } from '#lib/db/roles.ts'
import { StoppedError, whenAvailable } from '#lib/db/server.ts'
import { requireServerSecret } from '#lib/db/server-secret.ts'

export interface Runtime {
  /** Path of the data folder; null if the settings make it unnecessary. */
  folder: string | null
  /** Data directory of the embedded PostgreSQL; null with DATABASE_URL. */
  location: string | null
  /** URL of a role that may back the database up. */
  backupUrl: string
  appliedMigrations: string[]
  close: () => Promise<void>
}

export interface RuntimeOptions {
  /** For servers and workers: requires a right clock, and restarts the embedded PostgreSQL if it dies. */
  isSupervised?: boolean
  /** Resolves when the process must stop: a wait for the database then ends the process with 0. */
  stopRequested?: Promise<unknown>
  /** Whether the command applies pending migrations even if MIGRATE is false. */
  migrates?: boolean
  /** Whether the database is left as it is, and may lack migrations. */
  isUnprepared?: boolean
  /** Whether the command runs with another TROCO_SECRET than that of the database. */
  acceptsAnySecret?: boolean
}

/** Opens and migrates the database. An embedded PostgreSQL is shared; its last user stops it. */
export async function openRuntime(options: RuntimeOptions = {}): Promise<Runtime> {
  loadEnvFile('.env')
  const { TROCO_ENV, TROCO_DATA, DATABASE_URL, TROCO_SECRET, DEMO_PASSWORD, PUBLIC_URL } = env()
  const { BACKUP_FOLDER } = env()
  supplyEnv({ TROCO_ENV, NEXTAUTH_URL: PUBLIC_URL, NEXT_TELEMETRY_DISABLED: '1' })
  const needsFolder = !DATABASE_URL || !TROCO_SECRET || TROCO_ENV === 'local'
  const openedFolder = needsFolder ? openDataFolder(TROCO_DATA) : null
  if (openedFolder) {
    supplyEnv({
      TROCO_SECRET: TROCO_SECRET ?? openedFolder.secrets.server,
      DEMO_PASSWORD: DEMO_PASSWORD ?? openedFolder.secrets.demo,
    })
  }
  const onProgress = (line: string) => process.stderr.write(`${line}\n`)
  const dataFolder = openedFolder && !DATABASE_URL ? openedFolder : null
  const openPostgres = ({ folder, secrets }: NonNullable<typeof dataFolder>) =>
    openEmbedded({
      ...{ dataFolder: folder, password: secrets.database, onProgress },
      settings: BACKUP_FOLDER ? archiveInto(BACKUP_FOLDER, folder) : {},
    })
  const embedded = dataFolder && (await openPostgres(dataFolder))
  if (embedded) supplyEnv({ DATABASE_URL: embedded.url, DATABASE_OWNER_URL: embedded.ownerUrl })
  const release =
    dataFolder && embedded && options.isSupervised
      ? supervisePostgres(embedded, () => openPostgres(dataFolder))
      : embedded?.release
  const close = async () => {
    await disconnect()
    await release?.()
  }
  try {
    const {
      DATABASE_URL: url = '',
      DATABASE_OWNER_URL: ownerUrl,
      MIGRATE,
      WAIT_FOR_DATABASE,
    } = env()
    const isAllowed = options.migrates || MIGRATE
    const prepare = async () =>
      options.isUnprepared ? [] : prepareDatabase({ url, ownerUrl, isAllowed })
    const appliedMigrations = await whenAvailable(prepare, {
      maxSeconds: options.isSupervised ? WAIT_FOR_DATABASE : 0,
      stopRequested: options.stopRequested,
      report: onProgress,
    })
    if (!options.isUnprepared && !options.acceptsAnySecret) await requireServerSecret()
    if (options.isSupervised) await requireRightClock()
    if (options.isSupervised) await requireNoRestoreMark()
    return {
      folder: openedFolder?.folder ?? null,
      location: embedded?.location ?? null,
      backupUrl: embedded?.superuserUrl ?? ownerUrl ?? url,
      appliedMigrations,
      close,
    }
  } catch (error) {
    await close()
    if (error instanceof StoppedError) process.exit(0)
    throw error
  }
}
