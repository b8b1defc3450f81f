import { setTimeout as sleep } from 'node:timers/promises'
import { db } from '#lib/db/client.ts'

/** Waits until that many statements of this database wait for a lock. For a file with a database of its own. */
export async function untilLocked(count: number): Promise<void> {
  for (;;) {
    const [row] = await db().$queryRaw<{ waiting: bigint }[]>`
      SELECT count(*) AS waiting FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock'`
    if (Number(row?.waiting) >= count) return
    await sleep(20)
  }
}
