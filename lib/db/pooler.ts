import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from 'pg'
import { env } from '#lib/core/settings.ts'
import { connectionSettings } from '#lib/db/client.ts'
import { UtcClient } from '#lib/db/utc-client.ts'
import { withClient } from '#lib/db/with-client.ts'

const NOTIFICATION_MAX_MS = 2_000
/** A pooler gave a statement to a session that does not have it, or to one that has it already. */
const UNKNOWN_STATEMENT = /^(26000|42P05)$/

export interface PoolerReport {
  /** Whether a pooler stands between this process and DATABASE_URL. */
  isPooled: boolean
  /** Sentences for the operator: what does not work, and the setting that mends it. */
  faults: string[]
}

/** How PgBouncer refuses start-up parameters; it reports other problems with the same SQLSTATE. */
const REFUSED = /startup parameter/

/** Connects as the server's pool does. Returns why a pooler refuses that, or null. */
export async function findRefusal(): Promise<string | null> {
  const client = new UtcClient(connectionSettings())
  client.on('error', () => {})
  try {
    await client.connect()
    return null
  } catch (error) {
    const { message } = error as Error
    if (!REFUSED.test(message)) throw error
    return `the pooler refuses connections of a server (${message}), so none starts: set DATABASE_OWNER_URL to the role that owns the tables, which stores these settings with the role of DATABASE_URL, and DATABASE_DIRECT_URL`
  } finally {
    await client.end().catch(() => {})
  }
}

/** Tries what poolers break: notifications, and named statements if they are used. */
export async function inspectPooler(): Promise<PoolerReport> {
  const { DATABASE_URL: url = '', DATABASE_DIRECT_URL: directUrl, PG_NAMED_STATEMENTS } = env()
  const open = <T>(target: string, work: (client: Client) => Promise<T>) =>
    withClient(target, 'DATABASE_URL', work)
  return open(url, async client => {
    const faults: string[] = []
    if (!(await open(directUrl ?? url, listener => isNotified(listener, client))))
      faults.push(
        'notifications do not pass the pooler, so pages and workers notice changes seconds late: set DATABASE_DIRECT_URL to the same database and role without the pooler',
      )
    if (PG_NAMED_STATEMENTS && !(await open(url, other => keepsStatements(client, other))))
      faults.push(
        'the pooler loses named statements, so queries fail: set PG_NAMED_STATEMENTS=false, or use PgBouncer 1.21 or newer with max_prepared_statements',
      )
    return { isPooled: await isPooled(client), faults }
  })
}

/** A pooler tells the client another process id than that of the session. */
export async function isPooled(client: Client): Promise<boolean> {
  const { rows } = await client.query('SELECT pg_backend_pid() AS pid')
  return rows[0].pid !== (client as Client & { processID: number | null }).processID
}

async function isNotified(listener: Client, sender: Client): Promise<boolean> {
  const channel = `troco_probe_${randomUUID().replaceAll('-', '')}`
  const arrived = new Promise<true>(resolve => listener.on('notification', () => resolve(true)))
  await listener.query(`LISTEN ${channel}`)
  await sender.query('SELECT pg_notify($1, $2)', [channel, ''])
  const late = sleep(NOTIFICATION_MAX_MS, false as const, { ref: false })
  return Promise.race([arrived, late])
}

/** While the other client holds the session that has the statement, the client gets another one. */
async function keepsStatements(client: Client, other: Client): Promise<boolean> {
  const statement = { name: `troco_probe_${randomUUID()}`, text: 'SELECT 1' }
  try {
    await client.query(statement)
    await other.query('BEGIN')
    await client.query(statement)
    return true
  } catch (error) {
    if (UNKNOWN_STATEMENT.test((error as { code?: string }).code ?? '')) return false
    throw error
  } finally {
    await other.query('ROLLBACK')
  }
}
