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
  if (!holder[HOLDER]) open()
  return holder[HOLDER] as Database
}

/** Returns the same pool without the ORM, for hot paths (lib/base/db/rows.ts). */
export function pool(): Pool {
  if (!holder[POOL]) open()
  return holder[POOL] as Pool
}

function open(): void {
  const shared = makePool({ queryTimeoutMs: QUERY_TIMEOUT_MS })
  holder[POOL] = shared
  holder[HOLDER] = around(shared)
}

export async function disconnect(): Promise<void> {
  const open = holder[HOLDER]
  const shared = holder[POOL]
  delete holder[HOLDER]
  delete holder[POOL]
  await open?.$disconnect()
  // $disconnect ends the pool only if the ORM was used.
  if (shared && !shared.ended) await shared.end()
}

interface Connection {
  url?: string
  poolMax?: number
  connectTimeoutMs?: number
  queryTimeoutMs?: number
}

/** Opens a separate pool, for work longer than a request (reports, checks) and for tests. */
export function connect(options: Connection = {}): Database {
  return around(makePool(options))
}

function makePool(options: Connection): Pool {
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

function around(pool: Pool): Database {
  const lost = (error: Error) => {
    // During shutdown, closed connections are expected.
    if (holder[HOLDER]) log().warn({ err: error }, 'database connection lost')
  }
  const adapter = new PrismaPg(pool, {
    onPoolError: lost,
    onConnectionError: lost,
    disposeExternalPool: true,
    ...(env().PG_NAMED_STATEMENTS ? { statementNameGenerator: query => nameOf(query.sql) } : {}),
  })
  return new PrismaClient({ adapter })
}

// The adapter reads and writes times as if every session used UTC.
function sessionSettings({ queryTimeoutMs }: Connection): string {
  const limit = queryTimeoutMs ? ` -c statement_timeout=${STATEMENT_TIMEOUT_MS}` : ''
  return `-c timezone=UTC${limit}`
}

/** Derives the statement name from its text: a name reused for other SQL would run the old statement. */
export function statementName(sql: string): string | undefined {
  return env().PG_NAMED_STATEMENTS ? nameOf(sql) : undefined
}

function nameOf(sql: string): string {
  let name = names.get(sql)
  if (name === undefined) {
    name = `t_${createHash('sha1').update(sql).digest('hex').slice(0, 24)}`
    if (names.size < NAMES_MAX) names.set(sql, name)
  }
  return name
}

const names = new Map<string, string>()
const NAMES_MAX = 1_000
