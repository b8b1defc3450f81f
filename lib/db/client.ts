import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { PrismaPg } from '@prisma/adapter-pg'
import { Client, type ClientConfig, type Connection, DatabaseError } from 'pg'
import { parseDatabaseError } from '#lib/core/errors.ts'
import { log } from '#lib/core/log.ts'
import { processWide } from '#lib/core/process-wide.ts'
import { env } from '#lib/core/settings.ts'
import { FairPool } from '#lib/db/fair-pool.ts'
import { Prisma, PrismaClient } from '#lib/db/generated/client.ts'

export { Prisma }
export type Database = PrismaClient
export type Tx = Prisma.TransactionClient

/** Difference between the limit of a result and that of the server, so that no statement outlives its request. */
const STATEMENT_MARGIN_MS = 200

/** Time limits in ms of a statement, which together with the wait for a connection has DATABASE_TIMEOUT_MS. */
export function databaseLimits() {
  const total = env().DATABASE_TIMEOUT_MS
  const query = Math.round(total * 0.56)
  return {
    /** For getting a connection, counted from the last statement that finished. */
    connection: Math.round(total * 0.4),
    /** For a result. */
    query,
    /** On the server. */
    statement: query - STATEMENT_MARGIN_MS,
    /** Between the begin and the commit of a transaction. */
    transaction: total * 2,
  }
}

interface Opened {
  database: Database
  pool: FairPool
}

const shared = processWide('db', () => ({ opened: null as Opened | null }))

export function db(): Database {
  return opened().database
}

/** Returns the connection pool of `db()`, for hot paths without the ORM (lib/db/sql.ts). */
export function pool(): FairPool {
  return opened().pool
}

function opened(): Opened {
  shared.opened ??= open()
  return shared.opened
}

function open(): Opened {
  const made = makePool({ queryTimeoutMs: databaseLimits().query })
  return { pool: made, database: createOrm(made) }
}

export async function disconnect(): Promise<void> {
  const closing = shared.opened
  shared.opened = null
  await closing?.database.$disconnect()
  // $disconnect ends the pool only if the ORM was used.
  if (closing && !closing.pool.ended) await closing.pool.end()
}

interface ConnectionOptions {
  url?: string
  poolMax?: number
  connectTimeoutMs?: number
  queryTimeoutMs?: number
}

/** Opens a separate pool, for work longer than a request (reports, checks) and for tests. */
export function connect(options: ConnectionOptions = {}): Database {
  return createOrm(makePool(options))
}

/** Returns what each connection of a pool is opened with; poolers refuse some parameters. */
export function connectionSettings(
  options: ConnectionOptions = {},
): ClientConfig & { connectionTimeoutMillis: number } {
  const { DATABASE_URL, PG_NAMED_STATEMENTS } = env()
  return {
    connectionString: options.url ?? DATABASE_URL,
    connectionTimeoutMillis: options.connectTimeoutMs ?? databaseLimits().connection,
    query_timeout: options.queryTimeoutMs,
    application_name: 'troco',
    // PG_NAMED_STATEMENTS is false for an old PgBouncer, which also refuses options.
    options: PG_NAMED_STATEMENTS ? sessionSettings(options) : undefined,
  }
}

function makePool(options: ConnectionOptions): FairPool {
  const made = new FairPool({
    ...connectionSettings(options),
    Client: UtcClient,
    max: options.poolMax ?? env().DATABASE_POOL_MAX,
  })
  // The ORM adds its own listener when it is first used; without one, the event ends the process.
  made.on('error', () => {})
  return made
}

function createOrm(pool: FairPool): Database {
  const logLostConnection = (error: Error) => {
    // During shutdown, closed connections are expected.
    if (shared.opened) log().warn({ err: error }, 'database connection lost')
  }
  const adapter = new PrismaPg(pool, {
    onPoolError: logLostConnection,
    onConnectionError: logLostConnection,
    disposeExternalPool: true,
    ...(env().PG_NAMED_STATEMENTS
      ? { statementNameGenerator: query => deriveStatementName(query.sql) }
      : {}),
  })
  return new PrismaClient({ adapter })
}

/**
 * The limit of requests. With an owner or behind a pooler, the application's role carries it
 * (lib/db/roles.ts), because poolers refuse such options.
 */
function sessionSettings({ queryTimeoutMs }: ConnectionOptions): string | undefined {
  if (env().DATABASE_OWNER_URL || env().DATABASE_DIRECT_URL) return undefined
  return `-c statement_timeout=${queryTimeoutMs ? databaseLimits().statement : 0}`
}

/** A hash of the SQL: a name reused for other SQL would run the old statement. */
export function statementName(sql: string): string | undefined {
  return env().PG_NAMED_STATEMENTS ? deriveStatementName(sql) : undefined
}

function deriveStatementName(sql: string): string {
  let name = statementNames.get(sql)
  if (name === undefined) {
    name = `t_${createHash('sha1').update(sql).digest('hex').slice(0, 24)}`
    if (statementNames.size < STATEMENT_NAMES_MAX) statementNames.set(sql, name)
  }
  return name
}

const statementNames = new Map<string, string>()
const STATEMENT_NAMES_MAX = 1_000

const ATTEMPTS_MAX = 5
const PAUSE_BASE_MS = 5

/** Serialization failure and deadlock: nothing was written, so a retry is safe. */
const RETRYABLE_CODES = new Set(['40001', '40P01', 'P2034'])

/** Retries after a conflict, never after a lost connection: the commit may have happened. */
export async function retryOnConflict<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (attempt >= ATTEMPTS_MAX || !isConflict(error)) throw error
      await sleep(PAUSE_BASE_MS * 2 ** attempt * (0.5 + Math.random()))
    }
  }
}

export function transaction<T>(
  work: (tx: Tx) => Promise<T>,
  database: Database = db(),
): Promise<T> {
  const { query, transaction: timeout } = databaseLimits()
  return retryOnConflict(() => database.$transaction(work, { maxWait: query, timeout }))
}

/** Runs statements of one connection outside of the pool, such as a migration's, all or none. */
export async function transactionOf<T>(
  client: Client,
  work: () => Promise<T>,
  begin: () => Promise<unknown> = () => client.query('BEGIN'),
): Promise<T> {
  await begin()
  try {
    const result = await work()
    await client.query('COMMIT')
    return result
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {})
    throw error
  }
}

function isConflict(error: unknown): boolean {
  return RETRYABLE_CODES.has(parseDatabaseError(error).code ?? '')
}

/** With members of the driver that its types omit. */
const ClientWithStartup = Client as unknown as new (
  config?: ClientConfig,
) => Client & { connection: Connection; getStartupConf(): Record<string, string> }

/** Function of PostgreSQL in which a commit waits for replicas; unlike messages, it is in no language. */
const REPLICA_WAIT = 'SyncRepWaitForLSN'
/** SQLSTATE `transaction_resolution_unknown`. */
const UNKNOWN_OUTCOME = '08007'

/**
 * A connection whose session is in UTC, whatever server, database and role say (docs/decisions/056).
 * The zone is a start-up parameter and not an option: JDBC sends it too, so poolers accept it.
 */
export class UtcClient extends ClientWithStartup {
  /**
   * If the wait of a commit for a replica is cancelled, PostgreSQL warns and reports success, but the
   * commit may vanish with this server: its outcome is unknown.
   */
  constructor(config?: ClientConfig) {
    super(config)
    // A session can end between two statements of a caller: the next one fails, and the pool drops the connection.
    // Without a listener, the event would end the process.
    this.on('error', () => {})
    this.on('notice', ({ message, routine }) => {
      if (routine !== REPLICA_WAIT) return
      const error = new DatabaseError(message ?? '', 0, 'error')
      const fields = { code: UNKNOWN_OUTCOME, severity: 'ERROR' }
      this.connection.emit('errorMessage', Object.assign(error, fields))
      // The report of success that follows would meet the next statement.
      this.connection.stream.destroy()
    })
  }

  override getStartupConf(): Record<string, string> {
    return { ...super.getStartupConf(), TimeZone: 'UTC' }
  }
}
