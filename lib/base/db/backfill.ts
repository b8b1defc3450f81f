import { db, Prisma } from '#lib/base/db/client.ts'
import { queryRows } from '#lib/base/db/rows.ts'

/** Fills columns of rows that an earlier version wrote. The worker runs it in batches, in a job of its own. */
export interface Backfill {
  /** Shown by the health page. */
  name: string
  /** Fills one batch and returns its size. Skips rows that another worker is filling. */
  fillBatch: () => Promise<number>
  countLeft: () => Promise<number>
}

export interface BackfillProgress {
  name: string
  done: number
  total: number
  /** Seconds since the last batch. */
  idle_s: number
}

/** Fills one batch and stores the progress. Returns the batch's size. */
export async function runBackfill({ name, fillBatch, countLeft }: Backfill): Promise<number> {
  const filled = await fillBatch()
  if (filled > 0 && !(await advance(name, filled))) await begin(name, filled, await countLeft())
  if (filled === 0 && (await countLeft()) === 0) await end(name)
  return filled
}

export function listOpenBackfills(): Promise<BackfillProgress[]> {
  return queryRows(Prisma.sql`
    SELECT json_build_object('name', name, 'done', done, 'total', total,
      'idle_s', extract(epoch FROM now() - moved_at)::int)::text AS json
    FROM backfills WHERE ended_at IS NULL ORDER BY name`)
}

/** Returns false if no run is open. Older processes may write more rows to fill meanwhile. */
async function advance(name: string, filled: number): Promise<boolean> {
  const advanced = await db().$executeRaw`
    UPDATE backfills SET done = done + ${filled}, total = greatest(total, done + ${filled}), moved_at = now()
    WHERE name = ${name} AND ended_at IS NULL`
  return advanced > 0
}

async function begin(name: string, filled: number, left: number): Promise<void> {
  await db().$executeRaw`
    INSERT INTO backfills AS b (name, done, total) VALUES (${name}, ${filled}, ${filled + left})
    ON CONFLICT (name) DO UPDATE SET done = EXCLUDED.done, total = EXCLUDED.total,
      began_at = EXCLUDED.began_at, moved_at = EXCLUDED.moved_at, ended_at = NULL`
}

async function end(name: string): Promise<void> {
  await db().$executeRaw`
    UPDATE backfills SET total = done, ended_at = now() WHERE name = ${name} AND ended_at IS NULL`
}
