import { setupError } from '#lib/core/errors.ts'
import { type Database, db, type Tx } from '#lib/db/client.ts'

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

export type ClockLevel = 'right' | 'off' | 'wrong'

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

export type ClockState =
  | 'clocks_agree'
  | 'clock_off'
  | 'clock_wrong'
  | 'clock_single'
  | 'clock_database'

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
