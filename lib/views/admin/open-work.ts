import { db } from '#lib/base/db/client.ts'

export interface OpenWork {
  charges: number
  withdrawals: number
  /** Withdrawals that wait for an approval, which are among them. */
  unapproved: number
  refunds: number
  /** Tries of the connection: at most one. */
  tries: number
}

/** Counts what began at a connection and has not ended there. */
export async function countOpenWork(connectionId: string): Promise<OpenWork> {
  // What is open is due or waits for an approval: the rest of the tables is not read.
  const [counts] = await db().$queryRaw<OpenWork[]>`
    SELECT c.charges, w.withdrawals, w.unapproved, r.refunds, t.tries
    FROM
      (SELECT count(*)::int AS charges
        FROM charges WHERE connection_id = ${connectionId}::uuid AND status IN ('opening', 'pending')
          AND due_at IS NOT NULL) c,
      (SELECT count(*)::int AS withdrawals, count(approval_due_at)::int AS unapproved
        FROM withdrawals WHERE connection_id = ${connectionId}::uuid AND status = 'pending'
          AND (due_at IS NOT NULL OR approval_due_at IS NOT NULL)) w,
      (SELECT count(*)::int AS refunds
        FROM refunds WHERE connection_id = ${connectionId}::uuid AND status = 'pending'
          AND due_at IS NOT NULL) r,
      (SELECT count(*)::int AS tries
        FROM bank_tries WHERE connection_id = ${connectionId}::uuid AND ended_at IS NULL) t`
  return counts ?? { charges: 0, withdrawals: 0, unapproved: 0, refunds: 0, tries: 0 }
}
