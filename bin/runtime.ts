import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join, resolve } from 'node:path'
import * as z from 'zod'
import { requireNoRestoreMark } from '#lib/backup/records.ts'
import { isTrocoError, setupError } from '#lib/core/errors.ts'
import { env, loadEnvFile, supplyEnv } from '#lib/core/settings.ts'
import { disconnect } from '#lib/db/client.ts'
import { requireRightClock } from '#lib/db/clock.ts'
import { type Embedded, openEmbedded, supervisePostgres } from '#lib/db/embedded.ts'
import { prepareDatabase } from '#lib/db/roles.ts'
import { requireServerSecret, StoppedError, whenAvailable } from '#lib/db/server.ts'

export interface Runtime {
  /** Path of the data folder; null if the settings make it unnecessary. */
  folder: string | null
  /** Data directory of the embedded PostgreSQL; null with DATABASE_URL. */
  location: string | null
  appliedMigrations: string[]
  close: () => Promise<void>
}

export interface CommandOptions {
  /** Whether the command applies pending migrations even if MIGRATE is false. */
  migrates?: boolean
  /** Whether the database is left as it is, and may lack migrations. */
  isUnprepared?: boolean
  /** Whether the command runs with another TROCO_SECRET than that of the database. */
  acceptsAnySecret?: boolean
}

/** Opens and migrates the database for one command. An embedded PostgreSQL is shared; its last user stops it. */
export async function openCommandRuntime(options: CommandOptions = {}): Promise<Runtime> {
  const { folder, openPostgres } = applySettings()
  const embedded = await openPostgres?.()
  return finishOpening({ folder, embedded, release: embedded?.release }, async () => {
    if (options.isUnprepared) return []
    const applied = await migrate(options.migrates)
    if (!options.acceptsAnySecret) await requireServerSecret()
    return applied
  })
}

/**
 * Opens and migrates the database for a server or worker: waits for it, requires a right clock and a finished
 * restore, and restarts the embedded PostgreSQL if it dies. If the process must stop first, exits with 0.
 */
export async function openServerRuntime(stopRequested: Promise<unknown>): Promise<Runtime> {
  const { folder, openPostgres } = applySettings()
  const embedded = await openPostgres?.()
  const release = embedded && openPostgres ? supervisePostgres(embedded, openPostgres) : undefined
  return finishOpening({ folder, embedded, release }, async () => {
    const { WAIT_FOR_DATABASE: maxSeconds } = env()
    const patience = { maxSeconds, stopRequested, report: reportProgress }
    const applied = await whenAvailable(() => migrate(), patience)
    await requireServerSecret()
    await requireRightClock()
    await requireNoRestoreMark()
    return applied
  })
}

interface Installation {
  folder: string | null
  /** Opens the embedded PostgreSQL; null with DATABASE_URL. */
  openPostgres: (() => Promise<Embedded>) | null
}

/** Reads .env and completes the settings by the secrets of the data folder, if they need one. */
function applySettings(): Installation {
  loadEnvFile('.env')
  const { TROCO_ENV, TROCO_DATA, DATABASE_URL, TROCO_SECRET, DEMO_PASSWORD, PUBLIC_URL } = env()
  supplyEnv({ TROCO_ENV, NEXTAUTH_URL: PUBLIC_URL, NEXT_TELEMETRY_DISABLED: '1' })
  if (DATABASE_URL && TROCO_SECRET && TROCO_ENV !== 'local')
    return { folder: null, openPostgres: null }
  const { folder, secrets } = openDataFolder(TROCO_DATA)
  supplyEnv({
    TROCO_SECRET: TROCO_SECRET ?? secrets.server,
    DEMO_PASSWORD: DEMO_PASSWORD ?? secrets.demo,
  })
  const options = { dataFolder: folder, password: secrets.database, onProgress: reportProgress }
  return { folder, openPostgres: DATABASE_URL ? null : () => openEmbedded(options) }
}

interface Opened {
  folder: string | null
  embedded: Embedded | undefined
  release: (() => Promise<void>) | undefined
}

async function finishOpening(
  { folder, embedded, release }: Opened,
  prepare: () => Promise<string[]>,
): Promise<Runtime> {
  if (embedded) supplyEnv({ DATABASE_URL: embedded.url, DATABASE_OWNER_URL: embedded.ownerUrl })
  const close = async () => {
    await disconnect()
    await release?.()
  }
  try {
    return {
      folder,
      location: embedded?.location ?? null,
      appliedMigrations: await prepare(),
      close,
    }
  } catch (error) {
    await close()
    if (error instanceof StoppedError) process.exit(0)
    throw error
  }
}

async function migrate(isAllowed = false): Promise<string[]> {
  const { DATABASE_URL: url = '', DATABASE_OWNER_URL: ownerUrl, MIGRATE } = env()
  return prepareDatabase({ url, ownerUrl, isAllowed: isAllowed || MIGRATE })
}

function reportProgress(line: string): void {
  process.stderr.write(`${line}\n`)
}

/** Generated secrets of an installation. A copy of the data folder contains all of them. */
const Secrets = z.object({
  server: z.string().min(32),
  database: z.string().min(16),
  demo: z.string().min(12),
})
type Secrets = z.infer<typeof Secrets>

/** Opens the data folder, creating it and its secrets if missing. Safe for concurrent processes. */
export function openDataFolder(path: string): { folder: string; secrets: Secrets } {
  const folder = resolve(path)
  try {
    // 0711: started by root, PostgreSQL runs as another user, who must enter but not list it.
    if (!statSync(folder, { throwIfNoEntry: false }))
      mkdirSync(folder, { recursive: true, mode: 0o711 })
    const file = join(folder, 'secrets.json')
    if (!statSync(file, { throwIfNoEntry: false })) {
      requireNoData(folder)
      writeOnce(file, makeSecrets())
    }
    return { folder, secrets: readSecrets(file) }
  } catch (error) {
    if (isTrocoError(error)) throw error
    const { code } = error as NodeJS.ErrnoException
    throw setupError(
      `The data folder ${folder} cannot be used (${code}): make it a folder that this user can write to, or set TROCO_DATA`,
    )
  }
}

/** Throws if the folder already contains a database, which new secrets could not open. */
function requireNoData(folder: string): void {
  for (const name of ['postgres', 'postgres-location']) {
    if (!statSync(join(folder, name), { throwIfNoEntry: false })) continue
    throw setupError(
      `secrets.json is missing in ${folder}: restore it from your backup, it contains the keys to this data`,
    )
  }
}

/** Writes a file of secrets atomically, readable by its owner only. */
export function writePrivate(file: string, value: unknown): void {
  renameSync(writeDraft(file, value), file)
}

function writeOnce(file: string, value: unknown): void {
  const draft = writeDraft(file, value)
  try {
    linkSync(draft, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    rmSync(draft, { force: true })
  }
}

function writeDraft(file: string, value: unknown): string {
  const draft = `${file}.${process.pid}.${randomBytes(4).toString('hex')}`
  writeFileSync(draft, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 })
  chmodSync(draft, 0o600)
  return draft
}

function makeSecrets(): Secrets {
  return {
    server: randomBytes(48).toString('base64url'),
    database: randomBytes(24).toString('base64url'),
    demo: randomBytes(12).toString('base64url'),
  }
}

function readSecrets(file: string): Secrets {
  try {
    return Secrets.parse(JSON.parse(readFileSync(file, 'utf8')))
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    const problem = code ? `cannot be read (${code})` : 'is damaged'
    throw setupError(
      `${file} ${problem}: restore it from your backup, it contains the keys to this data`,
    )
  }
}

/** Time limit of a shutdown after draining; then the process exits: a supervisor would kill it anyway. */
const GRACE_MS = 9_000

type StopCause = 'SIGINT' | 'SIGTERM' | 'SIGHUP' | 'disconnect'

/** Resolves when the process must stop: on a signal, or when the parent process disconnects. */
export function waitForStop(): Promise<StopCause> {
  return new Promise(resolve => {
    const stop = (cause: StopCause = 'disconnect') => {
      setTimeout(() => process.exit(1), GRACE_MS + drainMs(cause)).unref()
      resolve(cause)
    }
    // `on`, not `once`: Ctrl-C arrives twice, from the terminal and from the bootstrap.
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop)
    process.on('disconnect', stop)
  })
}

/** Time for which a process serves after the signal, so that balancers notice. Ctrl-C (SIGINT) has none. */
export function drainMs(cause: StopCause): number {
  return cause === 'SIGTERM' ? env().DRAIN_SECONDS * 1_000 : 0
}
