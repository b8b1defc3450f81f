import { createHash } from 'node:crypto'
import { PrismaPg } from '@prisma/adapter-pg'
import { Pool } from 'pg'
import { Prisma, PrismaClient } from '#lib/base/db/generated/client.ts'
import { env } from '#lib/base/env.ts'
import { log } from '#lib/base/log.ts'

export { Prisma }
export type Database = PrismaClient
export type Tx = Prisma.TransactionClient

/**
 * Time limits of a request for a connection and for a result, below 5 s in total; then it gets 503.
 * The server's statement_timeout is shorter, so that no statement outlives its request.
 */
const CONNECT_TIMEOUT_MS = 2_000
const QUERY_TIMEOUT_MS = 2_800
const STATEMENT_TIMEOUT_MS = 2_600

const HOLDER = Symbol.for('troco.db')
const POOL = Symbol.for('troco.db.pool')
const holder = globalThis as typeof globalThis & { [HOLDER]?: Database; [POOL]?: Pool }

/** Returns the ORM on the pool of the process, shared by the native modules and Next's copy of them. */
export function db(): Database {
  if (!holder[HOLDER]) openPool()
  return holder[HOLDER] as Database
}

/** Returns the same pool without the ORM, for hot paths (lib/base/db/rows.ts). */
export function pool(): Pool {
  if (!holder[POOL]) openPool()
  return holder[POOL] as Pool
}

function openPool(): void {
  const shared = makePool({ queryTimeoutMs: QUERY_TIMEOUT_MS })
  holder[POOL] = shared
  holder[HOLDER] = createOrm(shared)
}

export async function disconnect(): Promise<void> {
  const database = holder[HOLDER]
  const shared = holder[POOL]
  delete holder[HOLDER]
  delete holder[POOL]
  await database?.$disconnect()
  // $disconnect ends the pool only if the ORM was used.
  if (shared && !shared.ended) await shared.end()
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

function makePool(options: ConnectionOptions): Pool {
  const { DATABASE_URL, DATABASE_POOL_MAX, PG_NAMED_STATEMENTS } = env()
  return new Pool({
    connectionString: options.url ?? DATABASE_URL,
    max: options.poolMax ?? DATABASE_POOL_MAX,
    connectionTimeoutMillis: options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
    query_timeout: options.queryTimeoutMs,
    application_name: 'troco',
    // An old PgBouncer refuses startup options; a migration sets the time zone of the database too.
    options: PG_NAMED_STATEMENTS ? sessionSettings(options) : undefined,
  })
}

function createOrm(pool: Pool): Database {
  const logLostConnection = (error: Error) => {
    // During shutdown, closed connections are expected.
    if (holder[HOLDER]) log().warn({ err: error }, 'database connection lost')
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

// The adapter reads and writes times as if every session used UTC.
function sessionSettings({ queryTimeoutMs }: ConnectionOptions): string {
  const limit = queryTimeoutMs ? ` -c statement_timeout=${STATEMENT_TIMEOUT_MS}` : ''
  return `-c timezone=UTC${limit}`
}

/** Derives the statement name from its text: a name reused for other SQL would run the old statement. */
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
