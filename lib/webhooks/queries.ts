import { db } from '#lib/db/client.ts'
import { type AccountRef, ofAccount, utc } from '#lib/db/columns.ts'
import type { Mode } from '#lib/mode.ts'
import type { EventRow } from '#lib/webhooks/schema.ts'

/** What happened after a sequence number, oldest first. */
export function listEvents(
  account: AccountRef,
  mode: Mode,
  after: number,
  limit: number,
): Promise<EventRow[]> {
  return db().$queryRaw<EventRow[]>`
    SELECT e.id, e.type, e.mode, e.sequence, e.resource, ${utc('e.created_at')} FROM events e
    WHERE ${ofAccount('e', account)} AND e.mode = ${mode}
      AND e.sequence > ${after}::bigint
    ORDER BY e.sequence LIMIT ${limit}`
}

/** The oldest event that is still kept, and the last there ever was; 0 where there is none. */
export async function readEventRange(
  accountId: string,
  mode: Mode,
): Promise<{ oldest: number; last: number }> {
  const [range] = await db().$queryRaw<{ oldest: bigint | null; last: bigint }[]>`
    SELECT s.last, (
      SELECT e.sequence FROM events e
      WHERE e.account_id = s.account_id AND e.mode = s.mode ORDER BY e.sequence LIMIT 1) AS oldest
    FROM event_sequences s WHERE s.account_id = ${accountId}::uuid AND s.mode = ${mode}`
  const last = Number(range?.last ?? 0)
  return { oldest: Number(range?.oldest ?? last + 1), last }
}
