import { dayOf } from '#lib/core/locale.ts'
import { db } from '#lib/db/client.ts'
import { listOpenOfDay, type OpenDayItem } from '#lib/differences/day-items.ts'

/**
 * unread: never read, or the last reading failed for `flaw`. open: not over. items: over, with open items.
 * green: over, and all agrees.
 */
export type DayState = 'unread' | 'open' | 'items' | 'green'

export interface DayLine {
  day: string
  state: DayState
  source: string | null
  counts: Record<string, number>
  flaw: string | null
  readAt: Date | null
  items: OpenDayItem[]
}

/** Reads days of a connection, the earliest first. `isOver`: whether a day is over by the bank's calendar. */
export async function listDays(
  connectionId: string,
  { from, to }: { from: string; to: string },
  now = new Date(),
): Promise<DayLine[]> {
  const rows = await db().reconciledDay.findMany({
    where: { connectionId, day: { gte: new Date(from), lte: new Date(to) } },
    orderBy: { day: 'asc' },
  })
  const today = dayOf(now)
  return Promise.all(
    rows.map(async row => {
      const { source, flaw, readAt } = row
      const day = row.day.toISOString().slice(0, 10)
      const items = await listOpenOfDay({ connectionId, day })
      const isUnread = readAt === null || flaw !== null
      const judged = items.length > 0 ? 'items' : day < today ? 'green' : 'open'
      const state: DayState = isUnread ? 'unread' : judged
      const counts = row.counts as Record<string, number>
      return { day, state, source, counts, flaw, readAt, items }
    }),
  )
}
