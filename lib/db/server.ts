import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from 'pg'
import { isDatabaseUnavailable, parseDatabaseError, setupError } from '#lib/core/errors.ts'
import { keyId } from '#lib/core/keys.ts'
import { env } from '#lib/core/settings.ts'
import { connectionSettings, db, transactionOf, UtcClient } from '#lib/db/client.ts'

/** Codes for messages of the driver that mean an absent database; its other errors are settings to correct. */
const CODES: Record<string, string> = {
  'timeout expired': 'ETIMEDOUT',
  'Connection terminated unexpectedly': 'ECONNRESET',
}

/** A start, a command or a backup waits at least so long for a connection. */
const CONNECT_MIN_MS = 5_000

/** Connects once, outside of the pool. `variable` is named in the error if that fails. */
export async function withClient<T>(
  url: string,
  variable: 'DATABASE_URL' | 'DATABASE_OWNER_URL',
  work: (client: Client) => Promise<T>,
): Promise<T> {
  let client: Client
  try {
    client = new UtcClient({
      connectionString: url,
      connectionTimeoutMillis: Math.max(CONNECT_MIN_MS, env().DATABASE_TIMEOUT_MS),
    })
    await client.connect()
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException
    const target = describeTarget(url) ?? variable
    throw setupError(
      `The database at ${target} is unreachable (${code ?? message}): check ${variable} and that PostgreSQL is running`,
      // Without the message, which can name the password.
      { code: code ?? CODES[message] },
    )
  }
  try {
    return await work(client)
  } finally {
    await client.end().catch(() => {})
  }
}

// With an unescaped / ? or # in a password, the message would show a part of the password.
function describeTarget(url: string): string | null {
  const parsed = URL.parse(url)
  const isWhole = parsed && !`${parsed.pathname}${parsed.search}${parsed.hash}`.includes('@')
  return isWhole ? `${parsed.host}${parsed.pathname}` : null
}

const PAUSE_MS = 1_000

interface Patience {
  maxSeconds: number
  /** Resolves when the process must stop. */
  stopRequested?: Promise<unknown> | undefined
  report: (line: string) => void
}

/** Ends the wait for the database because the process must stop. */
export class StoppedError extends Error {}

/**
 * Repeats the work while the database is absent or only reads, for `maxSeconds` at most. Each reason is
 * reported once. A request to stop ends it at once, also during an attempt, which may be cut off at any point.
 */
export async function whenAvailable<T>(
  work: () => Promise<T>,
  { maxSeconds, stopRequested = new Promise(() => {}), report }: Patience,
): Promise<T> {
  const stopped = stopRequested.then(() => {
    throw new StoppedError('the process must stop')
  })
  const deadline = performance.now() + maxSeconds * 1_000
  let reported = ''
  for (;;) {
    try {
      return await Promise.race([work(), stopped])
    } catch (error) {
      const { message } = error as Error
      if (!isDatabaseUnavailable(error) || performance.now() >= deadline) throw error
      if (message !== reported) report(`${message}. Waiting for it, ${maxSeconds} s at most`)
      reported = message
      await Promise.race([sleep(PAUSE_MS), stopped])
    }
  }
}

const OLDEST_MAJOR = 15
/** SQLSTATE of a change in a database that only reads. */
const READ_ONLY = '25006'

export interface ServerSettings {
  versionNumber: number
  fsync: string
  fullPageWrites: string
  synchronousCommit: string
}

/** Returns, in one line, why the server could lose committed payments; null if it cannot. */
export function describeUnsafeServer(server: ServerSettings): string | null {
  const major = Math.floor(server.versionNumber / 10_000)
  if (major < OLDEST_MAJOR) {
    return `The database is PostgreSQL ${major}, but Troco requires ${OLDEST_MAJOR} or newer: upgrade it`
  }
  const disabled = Object.entries({
    fsync: server.fsync,
    full_page_writes: server.fullPageWrites,
    synchronous_commit: server.synchronousCommit,
  }).filter(([, value]) => value === 'off')
  if (disabled.length === 0) return null
  const names = disabled.map(([name]) => name).join(' and ')
  return `The database has ${names} off, which can lose paid charges: turn ${disabled.length > 1 ? 'them' : 'it'} on`
}

/**
 * Throws unless the session is in UTC, which the ORM's adapter requires: in another zone, it would read
 * and write every time wrong by hours.
 */
export async function requireUtcSession(client: Client): Promise<void> {
  const { rows } = await client.query<{ zone: string; role: string; isUtc: boolean }>(`
    SELECT current_setting('TimeZone') AS zone, quote_ident(current_user) AS role,
      '2026-01-01 00:00'::timestamptz = '2026-01-01 00:00+00'
        AND '2026-07-01 00:00'::timestamptz = '2026-07-01 00:00+00' AS "isUtc"`)
  const { zone, role, isUtc } = rows[0] ?? { zone: 'unknown', role: 'of DATABASE_URL' }
  if (isUtc) return
  throw setupError(
    `The sessions of DATABASE_URL are in the time zone ${zone} instead of UTC, so a pooler keeps older connections or ignores the zone of its clients: run ALTER ROLE ${role} SET TimeZone TO 'UTC', let the pooler connect again (PgBouncer: RECONNECT), then start again`,
  )
}

/** Throws unless the server's settings guarantee that committed data survives a crash. */
export async function requireDurableServer(client: Client): Promise<void> {
  const { rows } = await client.query<ServerSettings & { isStandby: boolean }>(`
    SELECT current_setting('server_version_num')::int AS "versionNumber",
      current_setting('fsync') AS "fsync",
      current_setting('full_page_writes') AS "fullPageWrites",
      current_setting('synchronous_commit') AS "synchronousCommit",
      pg_is_in_recovery() AS "isStandby"`)
  const refusal = rows[0]
    ? describeUnsafeServer(rows[0])
    : 'The database did not report its version and settings'
  if (refusal) throw setupError(refusal)
  if (rows[0]?.isStandby) throw standbyError()
}

function standbyError() {
  return setupError(
    'The database is a standby, which only reads: let DATABASE_URL lead to the primary, or promote it',
    { code: READ_ONLY },
  )
}

/** SQLSTATE of a statement that exceeded its limit. */
const CANCELED = '57014'
/** SQLSTATE by which a standby refuses READ WRITE. */
const NO_WRITES = '0A000'
/** On a busy machine even this statement can exceed 1 ms, a few times in a row. */
const ATTEMPTS_MAX = 50
/** For the transaction alone: behind a pooler, the rest of a session belongs to others. */
const BEGIN_WITHOUT_LIMITS = `BEGIN READ WRITE; SET LOCAL statement_timeout = 0;
  SET LOCAL idle_in_transaction_session_timeout = 0`

/** A transaction free of its role's limits, under which it could not correct them. */
export async function withoutLimits<T>(client: Client, work: () => Promise<T>): Promise<T> {
  const begin = async (attempt = 1): Promise<void> => {
    try {
      // In one message, because a rollback of its own could exceed 1 ms, too.
      await client.query(`${attempt > 1 ? 'ROLLBACK; ' : ''}${BEGIN_WITHOUT_LIMITS}`)
    } catch (error) {
      const { code } = parseDatabaseError(error)
      if (code === NO_WRITES) throw standbyError()
      if (code !== CANCELED || attempt === ATTEMPTS_MAX) throw error
      await begin(attempt + 1)
    }
  }
  return transactionOf(client, work, begin)
}

const NOTIFICATION_MAX_MS = 2_000
/** A pooler gave a statement to a session that does not have it, or to one that has it already. */
const UNKNOWN_STATEMENT = /^(26000|42P05)$/

interface PoolerReport {
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

/** A pooler reports to the client another process id than that of the session. */
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

/**
 * Throws unless TROCO_SECRET is the one that this database depends on: with another one no token, password
 * or session is accepted. The first process stores its fingerprint, and so does the first one that names
 * the stored secret as TROCO_SECRET_BEFORE.
 */
export async function requireServerSecret(): Promise<void> {
  const { TROCO_SECRET, TROCO_SECRET_BEFORE: before } = env()
  if (!TROCO_SECRET) return
  const current = keyId()
  const accepted = before ? [current, keyId(before)] : [current]
  // Written only if it differs: most commands change nothing, and a role may only read.
  const [stored] = await db().$queryRaw<{ key_id: string }[]>`SELECT key_id FROM server_secrets`
  if (stored?.key_id === current) return
  if (stored && !accepted.includes(stored.key_id)) throw otherSecretError(stored.key_id, current)
  const [row] = await db().$queryRaw<{ key_id: string }[]>`
    INSERT INTO server_secrets AS s (key_id) VALUES (${current})
    ON CONFLICT (is_current) DO UPDATE SET key_id = excluded.key_id, set_at = now()
      WHERE s.key_id = ANY (${accepted})
    RETURNING key_id`
  if (!row) return requireServerSecret()
}

/** Makes TROCO_SECRET the secret of this database, whatever it was; returns its fingerprint. */
export async function replaceServerSecret(): Promise<string> {
  await db().$executeRaw`
    INSERT INTO server_secrets (key_id) VALUES (${keyId()})
    ON CONFLICT (is_current) DO UPDATE SET key_id = excluded.key_id, set_at = now()`
  return keyId()
}

function otherSecretError(stored: string, current: string) {
  return setupError(
    `TROCO_SECRET has the fingerprint ${current}, but this database uses the one with ${stored}: set that one again. To change it, set TROCO_SECRET_BEFORE to it beside the new TROCO_SECRET. If it is lost, run \`npm run -s troco -- secret replace\`: no token, authenticator app, webhook secret or bank credential from before works then`,
  )
}
