import { db, Prisma } from '#lib/db/client.ts'
import { retryOnConflict } from '#lib/db/transaction.ts'

/** Rows per statement: stays far below the statement timeout even on a slow disk. */
const BATCH_SIZE = 1_000

export function endpointCondition(accountId: string, id: string): Prisma.Sql {
  return Prisma.sql`d.account_id = ${accountId}::uuid AND d.endpoint_id = ${id}::uuid`
}

/** Clears due times. A delivery in progress is paused when its attempt ends. */
export function pauseDeliveries(accountId: string, endpointId: string): Promise<number> {
  return updateDeliveries(
    Prisma.sql`${endpointCondition(accountId, endpointId)} AND d.status = 'pending'
      AND d.due_at IS NOT NULL AND d.lease IS NULL`,
    Prisma.sql`due_at = NULL`,
  )
}

/** Changes each matching delivery `d` once, in event order. Each batch commits separately. */
export async function updateDeliveries(
  condition: Prisma.Sql,
  assignments: Prisma.Sql,
  limit = Number.POSITIVE_INFINITY,
): Promise<number> {
  let changed = 0
  let after = Prisma.empty
  while (changed < limit) {
    const rows = await retryOnConflict(
      () => db().$queryRaw<{ sequence: bigint; id: string }[]>`
        WITH chosen AS MATERIALIZED (
          SELECT d.account_id, d.id FROM deliveries d
          WHERE ${condition} ${after}
          ORDER BY d.sequence, d.id LIMIT ${Math.min(BATCH_SIZE, limit - changed)}
          FOR UPDATE
        ), changed AS (
          UPDATE deliveries d SET ${assignments}, updated_at = now() FROM chosen c
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
