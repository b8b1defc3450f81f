import { db } from '#lib/db/client.ts'

export interface OpenWork {
  charges: number
  withdrawals: number
  /** Withdrawals that wait for an approval, which are among them. */
  unapproved: number
  refunds: number
}

/** Counts what began at a connection and has not ended there. */
export async function countOpenWork(connectionId: string): Promise<OpenWork> {
  // What is open is due or waits for an approval: the rest of the tables is not read.
  const [counts] = await db().$queryRaw<OpenWork[]>`
    SELECT c.charges, o.withdrawals + w.unapproved AS withdrawals, w.unapproved, o.refunds
    FROM
      (SELECT count(*)::int AS charges
        FROM charges WHERE connection_id = ${connectionId}::uuid AND status IN ('opening', 'pending')
          AND due_at IS NOT NULL) c,
      (SELECT count(*)::int AS unapproved FROM withdrawals
        WHERE connection_id = ${connectionId}::uuid AND approval_due_at IS NOT NULL) w,
      (SELECT count(*) FILTER (WHERE kind = 'withdrawal')::int AS withdrawals,
          count(*) FILTER (WHERE kind = 'refund')::int AS refunds
        FROM bank_orders WHERE connection_id = ${connectionId}::uuid AND due_at IS NOT NULL) o`
  return counts ?? { charges: 0, withdrawals: 0, unapproved: 0, refunds: 0 }
}
