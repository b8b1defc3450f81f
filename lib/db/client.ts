import { createHash } from 'node:crypto'
import { PrismaPg } from '@prisma/adapter-pg'
import { Prisma, PrismaClient } from '#lib/db/generated/client.ts'
import { env } from '#lib/env.ts'
import { log } from '#lib/log.ts'

export { Prisma }
export type Database = PrismaClient
export type Tx = Prisma.TransactionClient

/** A request may not wait longer than this for a connection, nor for an answer: then it is 503. */
const CONNECT_TIMEOUT_MS = 3_000
const QUERY_TIMEOUT_MS = 4_500

const HOLDER = Symbol.for('troco.db')
const holder = globalThis as typeof globalThis & { [HOLDER]?: Database }

/** The process's one pool, shared by the native modules and Next's copy of them. */
export function db(): Database {
  holder[HOLDER] ??= connect({ queryTimeoutMs: QUERY_TIMEOUT_MS })
  return holder[HOLDER]
}

export async function disconnect(): Promise<void> {
  const open = holder[HOLDER]
  delete holder[HOLDER]
  await open?.$disconnect()
}

interface Connection {
  url?: string
  poolMax?: number
  queryTimeoutMs?: number
}

/** A pool of its own, for work that may take longer than a request (reports, checks) or for tests. */
export function connect(options: Connection = {}): Database {
  const { DATABASE_URL, DATABASE_POOL_MAX, PG_NAMED_STATEMENTS } = env()
  const pool = {
    connectionString: options.url ?? DATABASE_URL,
    max: options.poolMax ?? DATABASE_POOL_MAX,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: options.queryTimeoutMs,
    application_name: 'troco',
    options: '-c timezone=UTC',
  }
  const quiet = (error: Error) => log().warn({ err: error }, 'a database connection was lost')
  const adapter = new PrismaPg(pool, {
    onPoolError: quiet,
    onConnectionError: quiet,
    ...(PG_NAMED_STATEMENTS ? { statementNameGenerator } : {}),
  })
  return new PrismaClient({ adapter })
}

// The name must be made from the text: a name used again for another text would run the old one.
function statementNameGenerator(query: { sql: string }): string {
  let name = names.get(query.sql)
  if (name === undefined) {
    name = `t_${createHash('sha1').update(query.sql).digest('hex').slice(0, 24)}`
    if (names.size < NAMES_MAX) names.set(query.sql, name)
  }
  return name
}

const names = new Map<string, string>()
const NAMES_MAX = 1_000
