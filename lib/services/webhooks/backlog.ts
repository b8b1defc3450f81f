import { db, Prisma } from '#lib/base/db/client.ts'
import { retried } from '#lib/base/db/transaction.ts'

/** Far below the statement time-out, on a slow disk too. */
const BATCH = 1_000

/** The deliveries `d` of an endpoint. */
export function ofEndpoint(accountId: string, id: string): Prisma.Sql {
  return Prisma.sql`d.account_id = ${accountId}::uuid AND d.endpoint_id = ${id}::uuid`
}

/** What waits for a disabled endpoint is due at no time; what is under way is paused at its end. */
export function pauseDeliveries(accountId: string, endpointId: string): Promise<number> {
  return changeDeliveries(
    Prisma.sql`${ofEndpoint(accountId, endpointId)} AND d.status = 'pending'
      AND d.due_at IS NOT NULL AND d.lease IS NULL`,
    Prisma.sql`due_at = NULL`,
  )
}

/**
 * Changes every delivery `d` for which this holds, in the order of the events and each at most once,
 * in batches that commit one by one. Returns how many.
 */
export async function changeDeliveries(
  which: Prisma.Sql,
  change: Prisma.Sql,
  most = Number.POSITIVE_INFINITY,
): Promise<number> {
  let changed = 0
  let after = Prisma.empty
  while (changed < most) {
    const rows = await retried(
      () => db().$queryRaw<{ sequence: bigint; id: string }[]>`
        WITH chosen AS MATERIALIZED (
          SELECT d.account_id, d.id FROM deliveries d
          WHERE ${which} ${after}
          ORDER BY d.sequence, d.id LIMIT ${Math.min(BATCH, most - changed)}
          FOR UPDATE
        ), changed AS (
          UPDATE deliveries d SET ${change}, updated_at = now() FROM chosen c
          WHERE d.account_id = c.account_id AND d.id = c.id
          RETURNING d.sequence, d.id
        )
        SELECT sequence, id FROM changed ORDER BY sequence, id`,
    )
    const last = rows.at(-1)
    if (!last) break
    changed += rows.length
    after = Prisma.sql`AND (d.sequence, d.id) > (${last.sequence}::bigint, ${last.id}::uuid)`
  }
  return changed
}
