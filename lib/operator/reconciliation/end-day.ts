import { leaseMs } from '#lib/db/claim.ts'
import { db, type Tx } from '#lib/db/client.ts'
import { addDays } from '#lib/operator/reconciliation/calendar.ts'
import type { DayReading } from '#lib/operator/reconciliation/claim-day.ts'

/** Renews the lease. Returns false if it was lost. */
export async function holdDay(reading: DayReading, now: Date): Promise<boolean> {
  return updateDay(db(), reading, { dueAt: new Date(now.getTime() + leaseMs()) })
}

/** Releases a day that is read on later. `flaw`: why it could not be read. */
export async function postponeDay(
  reading: DayReading,
  dueAt: Date,
  { cursor = null, flaw = null }: { cursor?: string | null; flaw?: string | null } = {},
): Promise<boolean> {
  return updateDay(db(), reading, { dueAt, cursor, lease: null, ...(flaw !== null && { flaw }) })
}

/** Locks a day until the commit. Returns false if the lease was lost. */
export async function lockDay(tx: Tx, { connectionId, day, lease }: DayReading): Promise<boolean> {
  const rows = await tx.$queryRaw<unknown[]>`
    SELECT day FROM reconciled_days WHERE connection_id = ${connectionId}::uuid
      AND day = ${day}::date AND lease = ${lease}::uuid FOR UPDATE`
  return rows.length > 0
}

/** What a reading has found out about its day. */
export interface DayResult {
  source: 'lists' | 'statement'
  opening: number | null
  closing: number | null
  books: bigint | null
  counts: Record<string, number>
  strays: string[]
  flaw: string | null
  readAt: Date
  dueAt: Date | null
}

/** Stores the result and releases the day. Returns false, and stores nothing, if the lease was lost. */
export function endDay(tx: Tx, reading: DayReading, result: DayResult): Promise<boolean> {
  return updateDay(tx, reading, { ...result, cursor: null, lease: null })
}

async function updateDay(
  tx: Tx,
  { connectionId, day, lease }: DayReading,
  data: Partial<DayResult> & { cursor?: string | null; lease?: null },
): Promise<boolean> {
  const where = { connectionId, day: new Date(day), lease }
  const { count } = await tx.reconciledDay.updateMany({ where, data })
  return count === 1
}

/** Returns the marks of days around this one: what the bank has there, and the books perhaps here. */
export async function findStrays(connectionId: string, day: string): Promise<Set<string>> {
  const rows = await db().reconciledDay.findMany({
    where: {
      ...{ connectionId, strays: { isEmpty: false } },
      AND: [
        { day: { gte: new Date(addDays(day, -STRAY_DAYS)), not: new Date(day) } },
        { day: { lte: new Date(addDays(day, STRAY_DAYS)) } },
      ],
    },
    select: { strays: true },
  })
  return new Set(rows.flatMap(({ strays }) => strays))
}

/** Days between the booking of a movement and its day at the bank, at most. */
const STRAY_DAYS = 30
