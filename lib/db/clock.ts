import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { setupError } from '#lib/core/errors.ts'
import { newId } from '#lib/core/ids.ts'
import { log } from '#lib/core/log.ts'
import { type Database, db, Prisma, type Tx } from '#lib/db/client.ts'
import { queryRows } from '#lib/db/sql.ts'

/** Difference from which a clock is reported: a time server keeps it within milliseconds. */
const OFF_MS = 2_000
/** Difference from which a clock is wrong, and no process starts. */
const WRONG_MS = 60_000
/** Odd, so that one sample that a busy machine delayed does not decide. */
const SAMPLES = 3

/** The clock of one process, compared with the database's. */
export interface ProcessClock {
  host: string
  pid: number
  /** Equal for processes that read the same clock. */
  machine: string
  /** Whether the process serves requests. */
  serves: boolean
  /** Positive: ahead of the database's clock. */
  offsetMs: number
}

/** A clock that continues from a time of the database, whatever this machine's clock is set to. */
export function clockFrom(databaseMs: number): () => Date {
  const since = performance.now()
  return () => new Date(databaseMs + performance.now() - since)
}

export async function readDatabaseTime(tx: Tx = db()): Promise<Date> {
  const [row] = await tx.$queryRaw<[{ at: Date }]>`SELECT clock_timestamp() AS at`
  return row.at
}

/** Returns the median by which this machine's clock is ahead of the database's, in milliseconds. */
export async function measureOffset(database: Database = db()): Promise<number> {
  const samples: number[] = []
  while (samples.length < SAMPLES) samples.push(await sampleOffset(database))
  return samples.toSorted((a, b) => a - b)[(SAMPLES - 1) / 2] ?? 0
}

async function sampleOffset(database: Database): Promise<number> {
  const [sentAt, began] = [Date.now(), performance.now()]
  const databaseTime = await readDatabaseTime(database)
  return provenOffset(sentAt, performance.now() - began, databaseTime.getTime())
}

/**
 * The database read its clock at some time of the round trip. Assumes the middle, and counts only
 * what the round trip cannot explain: a busy machine is not a wrong clock.
 */
export function provenOffset(sentAt: number, roundTripMs: number, databaseMs: number): number {
  const offset = sentAt + roundTripMs / 2 - databaseMs
  const provenMs = Math.round(Math.max(0, Math.abs(offset) - roundTripMs / 2))
  return offset < 0 ? 0 - provenMs : provenMs
}

/** Throws if this machine's clock is so wrong that a process must not start. */
export async function requireRightClock(): Promise<void> {
  const offsetMs = await measureOffset()
  if (!isWrong({ offsetMs })) return
  throw setupError(
    `The clock of this machine ${describeOffset(offsetMs)}: synchronize both with a time server (chrony, systemd-timesyncd), then start again`,
  )
}

export function describeOffset(offsetMs: number): string {
  const seconds = Math.abs(Math.round(offsetMs / 1_000))
  if (seconds === 0) return "agrees with the database's"
  return `is ${seconds} s ${offsetMs < 0 ? 'behind' : 'ahead of'} the database's`
}

type ClockLevel = 'right' | 'off' | 'wrong'

export function levelOf(offsetMs: number): ClockLevel {
  const ms = Math.abs(offsetMs)
  if (ms > WRONG_MS) return 'wrong'
  return ms >= OFF_MS ? 'off' : 'right'
}

export function isWrong({ offsetMs }: Pick<ProcessClock, 'offsetMs'>): boolean {
  return levelOf(offsetMs) === 'wrong'
}

/**
 * Whether a process leaves service because of its clock: a process that serves requests agrees with the
 * database, and no machine but its own is wrong. So the last process that serves never leaves, nor all of
 * them because the database's clock is wrong.
 */
export function isAloneWrong(own: ProcessClock, known: ProcessClock[]): boolean {
  const isServed = known.some(each => each.serves && !isWrong(each))
  const isElsewhere = known.some(each => isWrong(each) && each.machine !== own.machine)
  return isWrong(own) && isServed && !isElsewhere
}

type ClockState = 'clocks_agree' | 'clock_off' | 'clock_wrong' | 'clock_single' | 'clock_database'

/** Returns what the health page says of the clocks of all processes. */
export function assessClocks(clocks: ProcessClock[]): ClockState {
  const offsets = clocks.map(({ offsetMs }) => offsetMs)
  if (clocks.some(isWrong)) {
    const spreadMs = Math.max(...offsets) - Math.min(...offsets)
    if (!clocks.every(isWrong) || spreadMs > WRONG_MS) return 'clock_wrong'
    return clocks.length === 1 ? 'clock_single' : 'clock_database'
  }
  return offsets.some(ms => levelOf(ms) === 'off') ? 'clock_off' : 'clocks_agree'
}

const MEASURE_MS = 10_000
/** Three measurements missed: the process has ended, or does not reach the database. */
const KNOWN_FOR = '30 s'
const RETENTION = '1 hour'

const id = newId()
let own: ProcessClock | null = null

/** Measures this process's clock regularly, for `findClockFault`, the log and the health page. */
export function watchClock({ serves }: Pick<ProcessClock, 'serves'>): {
  stop: () => Promise<void>
} {
  const stopping = new AbortController()
  const watching = watch(serves, stopping.signal)
  return {
    async stop() {
      stopping.abort()
      await watching
      await db().$executeRaw`DELETE FROM process_clocks WHERE id = ${id}::uuid`.catch(() => {})
    },
  }
}

async function watch(serves: boolean, signal: AbortSignal): Promise<void> {
  const known = { host: hostname(), pid: process.pid, machine: readMachine(), serves }
  let logged: ClockLevel = 'right'
  while (!signal.aborted) {
    try {
      const offsetMs = await measureOffset()
      own = { ...known, offsetMs }
      logged = logChange(logged, offsetMs)
      await storeClock(own)
    } catch (error) {
      log().error({ err: error }, 'clock could not be compared with the database')
    }
    await sleep(MEASURE_MS, undefined, { signal }).catch(() => {})
  }
}

/** Returns the boot id, which all containers of a machine read, as they do its clock; else the host name. */
function readMachine(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    return hostname()
  }
}

/** Logs only a change: the health page shows what lasts. */
function logChange(logged: ClockLevel, offsetMs: number): ClockLevel {
  const level = levelOf(offsetMs)
  if (level === logged) return level
  if (level === 'right') log().info({ offsetMs }, 'clock agrees with the database')
  else log().warn({ offsetMs }, 'clock differs from the database')
  return level
}

async function storeClock(clock: ProcessClock): Promise<void> {
  const { host, pid, machine, serves, offsetMs } = clock
  await db().$executeRaw`
    INSERT INTO process_clocks (id, host, pid, machine, serves, offset_ms)
    VALUES (${id}::uuid, ${host}, ${pid}, ${machine}, ${serves}, ${offsetMs})
    ON CONFLICT (id) DO UPDATE SET offset_ms = EXCLUDED.offset_ms, measured_at = now()`
  await db().$executeRaw`
    DELETE FROM process_clocks WHERE measured_at < now() - ${RETENTION}::interval`
}

/** Lists the clocks of all running processes. */
export function listClocks(): Promise<ProcessClock[]> {
  return queryRows(Prisma.sql`
    SELECT json_build_object('host', host, 'pid', pid, 'machine', machine, 'serves', serves,
      'offsetMs', offset_ms)::text AS json
    FROM process_clocks WHERE measured_at > now() - ${KNOWN_FOR}::interval ORDER BY host, pid`)
}

/** Returns why the clock of this process takes it out of service; null if it does not. */
export async function findClockFault(): Promise<string | null> {
  if (own === null || !isWrong(own) || !isAloneWrong(own, await listClocks())) return null
  return `the clock ${describeOffset(own.offsetMs)}`
}
