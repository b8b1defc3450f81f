import { db, Prisma } from '#lib/base/db/client.ts'

type Table = 'charges' | 'withdrawals' | 'refunds'

/**
 * Rows `r` about which the bank may be asked at once: their next step is a question. A charge that is
 * being opened would be removed instead, an order that was never sent would be sent.
 */
const ASKABLE: Record<Table, Prisma.Sql> = {
  charges: Prisma.sql`r.status <> 'opening'`,
  withdrawals: Prisma.sql`r.place_until IS NOT NULL`,
  refunds: Prisma.sql`r.attempts > 0`,
}
const SUBJECT_ID = /^[0-9a-f]{32}$/

/**
 * Makes the open rows of a connection due that a bank names, unless they are being asked about. Returns
 * the ids of those that are open; the others have ended, or there never was one.
 */
export async function bringForward(
  table: Table,
  connectionId: string,
  bankIds: string[],
): Promise<Set<string>> {
  const ids = bankIds.filter(id => SUBJECT_ID.test(id))
  if (ids.length === 0) return new Set()
  const rows = Prisma.raw(table)
  const isNamed =
    table === 'charges' ? Prisma.sql`r.txid = ANY(${ids})` : Prisma.sql`r.id = ANY(${ids}::uuid[])`
  const open = Prisma.sql`${isNamed} AND r.connection_id = ${connectionId}::uuid
    AND r.due_at IS NOT NULL`
  const found = await db().$queryRaw<{ id: string }[]>`
    WITH picked AS MATERIALIZED (
      SELECT r.account_id, r.id FROM ${rows} r
      WHERE ${open} AND ${ASKABLE[table]} AND r.lease IS NULL AND r.due_at > now()
      FOR UPDATE SKIP LOCKED
    ), moved AS (
      UPDATE ${rows} r SET due_at = now() FROM picked p
      WHERE r.account_id = p.account_id AND r.id = p.id
    )
    SELECT replace(r.id::text, '-', '') AS id FROM ${rows} r WHERE ${open}`
  return new Set(found.map(({ id }) => id))
}
