import { db } from '#lib/db/client.ts'
import { homeZone } from '#lib/db/sql.ts'
import { addDays, endOf } from '#lib/operator/reconciliation/claim-day.ts'

/**
 * Returns the books of a connection at a time: the sum of what moved through it. Each day that is closed
 * stores it, so that only transfers since the last one that ended before are read.
 */
export async function readBooks(connectionId: string, until: Date): Promise<bigint> {
  const [last] = await db().$queryRaw<{ day: string; books: bigint }[]>`
    SELECT day::text AS day, books FROM reconciled_days
    WHERE connection_id = ${connectionId}::uuid AND books IS NOT NULL
      AND ((day + 1)::timestamp AT TIME ZONE ${homeZone}) < ${until}::timestamptz
    ORDER BY day DESC LIMIT 1`
  const since = last ? endOf(last.day) : new Date(0)
  return (last?.books ?? 0n) + (await sumTransfers(connectionId, since, until))
}

async function sumTransfers(connectionId: string, since: Date, until: Date): Promise<bigint> {
  const [row] = await db().$queryRaw<{ moved: bigint }[]>`
    SELECT COALESCE(sum(CASE debit WHEN 'external' THEN amount ELSE -amount END), 0)::bigint AS moved
    FROM ledger_transfers
    WHERE mode = 'live' AND connection_id = ${connectionId}::uuid
      AND created_at >= ${since}::timestamptz AND created_at < ${until}::timestamptz
      AND 'external' IN (debit, credit)`
  return row?.moved ?? 0n
}

/** Returns what the bank had before the first day that was read, beyond the books: money of the operator. */
export async function readOpening(connectionId: string): Promise<bigint | null> {
  const first = await db().reconciledDay.findFirst({
    where: { connectionId, opening: { not: null } },
    orderBy: { day: 'asc' },
  })
  if (!first || first.opening === null) return null
  const before = addDays(first.day.toISOString().slice(0, 10), -1)
  return first.opening - (await readBooks(connectionId, endOf(before)))
}
