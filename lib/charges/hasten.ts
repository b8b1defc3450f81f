import { db } from '#lib/db/client.ts'

/**
 * Has the connection's list of payments read as soon as no reading is in progress and the bank wants no
 * pause: a payment was announced that is not booked.
 */
export async function hastenReading(connectionId: string): Promise<void> {
  await db().paymentReading.updateMany({
    where: { connectionId, pace: 'late', isWanted: false },
    data: { isWanted: true },
  })
}

/**
 * Makes the open charges of a connection due that a bank names, unless they are being asked about. Returns the txids
 * of those that are open; the others have ended, or there never was one. A charge that is being opened stays: its
 * next step would remove it.
 */
export async function hastenCharges(connectionId: string, txids: string[]): Promise<Set<string>> {
  if (txids.length === 0) return new Set()
  const found = await db().$queryRaw<{ txid: string }[]>`
    WITH picked AS MATERIALIZED (
      SELECT c.account_id, c.id FROM charges c
      WHERE c.txid = ANY(${txids}) AND c.connection_id = ${connectionId}::uuid AND c.due_at > now()
        AND c.status <> 'opening' AND c.lease IS NULL
      FOR UPDATE SKIP LOCKED
    ), moved AS (
      UPDATE charges c SET due_at = now() FROM picked p WHERE c.account_id = p.account_id AND c.id = p.id
    )
    SELECT c.txid FROM charges c
    WHERE c.txid = ANY(${txids}) AND c.connection_id = ${connectionId}::uuid AND c.due_at IS NOT NULL`
  return new Set(found.map(({ txid }) => txid))
}
