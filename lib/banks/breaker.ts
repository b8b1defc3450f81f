import type { GatewayResult } from '#lib/banks/gateway.ts'
import { nowPlusMs } from '#lib/db/claim.ts'
import { db, Prisma } from '#lib/db/client.ts'

/** Returns the pause after an attempt: `firstMs`, doubled with each further one, at most `maxMs`. */
export function doublingPauseMs(attempts: number, firstMs: number, maxMs: number): number {
  return Math.min(maxMs, firstMs * 2 ** Math.max(0, attempts - 1))
}

/** Pause while a bank blocks calls: the operator must act first. */
const BLOCKED_PAUSE_MS = 5 * 60_000
/** A bank that wants a longer pause is asked sooner: its operator may have ended the problem. */
const RETRY_AFTER_MAX_MS = 60 * 60_000

/** Returns the time for which a bank must not be called again after this result. */
export function requestedPauseMs(result: GatewayResult<unknown>): number {
  if (result.outcome !== 'retryable' && result.outcome !== 'blocked') return 0
  const leastMs = result.outcome === 'blocked' ? BLOCKED_PAUSE_MS : 0
  return Math.min(RETRY_AFTER_MAX_MS, Math.max(leastMs, result.retryAfterMs ?? 0))
}

/** Pause after a list that was not read. One that a bank refuses needs the operator, as one that it blocks does. */
export function listPauseMs(result: GatewayResult<unknown>, leastMs: number): number {
  if (result.outcome === 'rejected') return BLOCKED_PAUSE_MS
  return Math.max(leastMs, requestedPauseMs(result))
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
export const DAY_MS = 24 * HOUR_MS
/** Times after an end that the bank has not confirmed at which it is asked about it. */
const AGES_MS = [
  MINUTE_MS,
  10 * MINUTE_MS,
  HOUR_MS,
  ...Array.from({ length: 7 }, (_, day) => (day + 1) * DAY_MS),
]

/** Null after the last time. Not before `pauseMs`, which the bank may ask for. */
export function nextAskAt(endedAt: Prisma.Sql, pauseMs = 0): Prisma.Sql {
  const askAt = Prisma.sql`${endedAt} + make_interval(secs => after_ms / 1000)`
  return Prisma.sql`(
    SELECT min(GREATEST(${askAt}, ${nowPlusMs(pauseMs)}))
    FROM unnest(${AGES_MS}::float8[]) after_ms WHERE ${askAt} > now())`
}

/** Consecutive failed calls after which a connection rests, unless its gateway has another number. */
const FAILURES_MAX = 5
const FIRST_REST_MS = 5_000
const REST_MAX_MS = 60_000
/** Longer than a call with its statements: then the process that makes a probe is dead. */
const PROBE_MAX_MS = 20_000
/** Pause of a call that meets a probe in progress. */
const PROBE_WAIT_MS = 2_000
/** Age at which the state is read again: so long, a process may go on calling after another opened. */
const READ_AGAIN_MS = 1_000

/**
 * Refused: the connection rests. `probe`: token of a probe, which is the only call of all processes
 * until it ends; null for any other call.
 */
export type Admission =
  | { isAdmitted: true; probe: string | null }
  | { isAdmitted: false; retryAfterMs: number }

interface Row {
  failures: number
  isOpen: boolean
  restMs: number
  isProbed: boolean
  /** Codes of what the bank blocks, by operation. */
  blocks: Record<string, string>
  /** When the database read or wrote the row, after it had its lock. */
  atMs: number
}

const ROW = Prisma.sql`failures, opened_at IS NOT NULL AS "isOpen",
  (SELECT COALESCE(json_object_agg(key, value -> 'code'), '{}') FROM jsonb_each(blocks)) AS blocks,
  COALESCE(GREATEST(0, extract(epoch FROM retry_at - now()) * 1000), 0)::float8 AS "restMs",
  COALESCE(probe_until > now(), false) AS "isProbed",
  (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS "atMs"`
const CLOSED: Row = { failures: 0, isOpen: false, restMs: 0, isProbed: false, blocks: {}, atMs: 0 }
const ADMITTED = { isAdmitted: true, probe: null } as const

/**
 * Circuit breaker of connections, shared by all processes through a row per connection. While the
 * connection works, its cost is one read per second and process.
 */
export class Breaker {
  private readonly cache = new Map<string, { row: Row; readAt: number }>()

  private readonly readAgainMs: number

  constructor(readAgainMs = READ_AGAIN_MS) {
    this.readAgainMs = readAgainMs
  }

  /** Returns the time for which calls would be refused: 0 if the next one may be made, or is a probe. */
  async restMs(connectionId: string): Promise<number> {
    const row = await this.read(connectionId)
    return row.isOpen ? this.remainingMs(connectionId, row) : 0
  }

  /** Returns how many of `wanted` calls may be begun: while the connection rests none, then one probe. */
  async limit(connectionId: string, wanted: number): Promise<number> {
    const row = await this.read(connectionId)
    if (!row.isOpen) return wanted
    return this.remainingMs(connectionId, row) > 0 ? 0 : Math.min(1, wanted)
  }

  async admit(connectionId: string): Promise<Admission> {
    const row = await this.read(connectionId)
    if (!row.isOpen) return ADMITTED
    const restMs = this.remainingMs(connectionId, row)
    if (restMs > 0) return { isAdmitted: false, retryAfterMs: restMs }
    const [probed] = await db().$queryRaw<(Row & { probe: string })[]>`
      UPDATE connection_states SET probe_until = ${nowPlusMs(PROBE_MAX_MS)}
      WHERE connection_id = ${connectionId}::uuid AND retry_at <= now()
        AND (probe_until IS NULL OR probe_until <= now())
      RETURNING ${ROW}, probe_until::text AS probe`
    if (probed) {
      const { probe, ...row } = probed
      this.remember(connectionId, row)
      return { isAdmitted: true, probe }
    }
    const fresh = await this.readAgain(connectionId)
    if (!fresh.isOpen) return ADMITTED
    return {
      isAdmitted: false,
      retryAfterMs: this.remainingMs(connectionId, fresh) || PROBE_WAIT_MS,
    }
  }

  /** Ends an admitted call. Without a result, no call was made. */
  async record(
    { connectionId, operation, probe, isRepeated, failuresMax = FAILURES_MAX }: AdmittedCall,
    result: GatewayResult<unknown> | null,
  ): Promise<void> {
    const isUncounted = failuresMax === Number.POSITIVE_INFINITY
    if (result === null || (isFailure(result) && isUncounted))
      return probe === null ? undefined : this.releaseProbe(connectionId, probe)
    if (isFailure(result) && isRepeated && probe === null) return
    if (isFailure(result)) return this.recordFailure(connectionId, probe, failuresMax)
    const { failures, blocks } = this.cache.get(connectionId)?.row ?? CLOSED
    const changed = changedBlocks(operation, blocks[operation], result)
    if (changed || probe !== null || failures > 0)
      return this.recordAnswer(connectionId, probe, changed ?? undefined)
  }

  /** Records what the bank blocks, by a call that neither probes nor counts as a failure. */
  async recordCheck(
    connectionId: string,
    operation: string,
    result: GatewayResult<unknown>,
  ): Promise<void> {
    const { blocks } = await this.read(connectionId)
    const changed = changedBlocks(operation, blocks[operation], result)
    if (!changed) return
    const [row] = await db().$queryRaw<Row[]>`
      UPDATE connection_states s SET blocks = ${changed} WHERE connection_id = ${connectionId}::uuid
      RETURNING ${ROW}`
    if (row) this.remember(connectionId, row)
  }

  /** A call that was made before the rest began does not prolong it, nor a probe that was given up. */
  private async recordFailure(
    id: string,
    probe: string | null,
    failuresMax: number,
  ): Promise<void> {
    const restsNow = Prisma.sql`(${isProbe(probe)} AND s.opened_at IS NOT NULL
      OR s.opened_at IS NULL AND s.failures + 1 >= ${failuresMax}::int)`
    const restMs = Prisma.sql`LEAST(${REST_MAX_MS}::float8,
      ${FIRST_REST_MS}::float8 * 2 ^ LEAST(s.rests, 10))`
    const [row] = await db().$queryRaw<Row[]>`
      UPDATE connection_states s SET failures = s.failures + 1,
        opened_at = CASE WHEN ${restsNow} THEN COALESCE(s.opened_at, now()) ELSE s.opened_at END,
        retry_at = CASE WHEN ${restsNow}
          THEN now() + make_interval(secs => ${restMs} / 1000) ELSE s.retry_at END,
        rests = CASE WHEN ${restsNow} THEN s.rests + 1 ELSE s.rests END,
        probe_until = CASE WHEN ${isProbe(probe)} THEN NULL ELSE s.probe_until END
      WHERE connection_id = ${id}::uuid
      RETURNING ${ROW}`
    if (row) this.remember(id, row)
  }

  /** Only a probe ends a rest: other calls may have been made before it began. */
  private async recordAnswer(id: string, probe: string | null, blocks = Prisma.sql`s.blocks`) {
    const endsRest = Prisma.sql`(${isProbe(probe)} OR s.opened_at IS NULL)`
    const unless = (column: string, ended: string) =>
      Prisma.sql`CASE WHEN ${endsRest} THEN ${Prisma.raw(ended)} ELSE s.${Prisma.raw(column)} END`
    const [row] = await db().$queryRaw<Row[]>`
      UPDATE connection_states s SET blocks = ${blocks},
        failures = ${unless('failures', '0')}, rests = ${unless('rests', '0')},
        opened_at = ${unless('opened_at', 'NULL')}, retry_at = ${unless('retry_at', 'NULL')},
        probe_until = ${unless('probe_until', 'NULL')}
      WHERE connection_id = ${id}::uuid
      RETURNING ${ROW}`
    if (row) this.remember(id, row)
  }

  private async releaseProbe(id: string, probe: string): Promise<void> {
    await db().$executeRaw`
      UPDATE connection_states s SET probe_until = NULL
      WHERE connection_id = ${id}::uuid AND ${isProbe(probe)}`
    this.cache.delete(id)
  }

  private remainingMs(id: string, row: Row): number {
    const readAt = this.cache.get(id)?.readAt ?? performance.now()
    const restMs = row.restMs - (performance.now() - readAt)
    return restMs > 0 ? restMs : row.isProbed ? PROBE_WAIT_MS : 0
  }

  private async read(id: string): Promise<Row> {
    const cached = this.cache.get(id)
    const isFresh = cached && performance.now() - cached.readAt < this.readAgainMs
    return isFresh ? cached.row : this.readAgain(id)
  }

  private async readAgain(id: string): Promise<Row> {
    const [row] = await db().$queryRaw<Row[]>`
      SELECT ${ROW} FROM connection_states WHERE connection_id = ${id}::uuid`
    if (!row) {
      await db().$executeRaw`
        INSERT INTO connection_states (connection_id) VALUES (${id}::uuid)
        ON CONFLICT (connection_id) DO NOTHING`
    }
    this.remember(id, row ?? CLOSED)
    return row ?? CLOSED
  }

  /** Responses of concurrent statements arrive in any order: an older row does not replace a newer one. */
  private remember(id: string, row: Row): void {
    if (row.atMs < (this.cache.get(id)?.row.atMs ?? 0)) return
    this.cache.set(id, { row, readAt: performance.now() })
  }
}

/** SQL: the call is the probe of row `s`, and was not given up meanwhile. */
function isProbe(probe: string | null): Prisma.Sql {
  return Prisma.sql`COALESCE(s.probe_until = ${probe}::timestamptz, false)`
}

export const breaker = new Breaker()

interface AdmittedCall {
  connectionId: string
  operation: string
  probe: string | null
  isRepeated?: boolean
  failuresMax?: number
}

/** A rejection, a limit of the rate and a block are answers: the connection works. */
function isFailure(result: GatewayResult<unknown>): boolean {
  if (result.outcome === 'retryable') return !result.isRateLimit && !result.isAnswered
  return result.outcome === 'unknown'
}

const REASON_MAX = 300

/**
 * Returns what the column `blocks` of connection_states `s` becomes by a result, or null if it stays.
 * `known`: code of what the bank blocks of the operation. The time of the first result stays.
 */
function changedBlocks(
  operation: string,
  known: string | undefined,
  result: GatewayResult<unknown>,
): Prisma.Sql | null {
  if (result.outcome === 'ok' && known !== undefined)
    return Prisma.sql`s.blocks - ${operation}::text`
  if (result.outcome !== 'blocked' || known === result.code) return null
  // jsonb cannot store NUL and unpaired surrogates.
  const text = result.reason.slice(0, REASON_MAX).replaceAll('\0', '').toWellFormed()
  return Prisma.sql`s.blocks || jsonb_build_object(${operation}::text,
    jsonb_build_object('since', now()) || COALESCE(s.blocks -> ${operation}::text, '{}')
      || jsonb_build_object('code', ${result.code}::text, 'reason', ${text}::text))`
}
