import type { Client } from 'pg'
import { setupError } from '#lib/core/errors.ts'

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

export function standbyError() {
  return setupError(
    'The database is a standby, which only reads: let DATABASE_URL lead to the primary, or promote it',
    { code: READ_ONLY },
  )
}
