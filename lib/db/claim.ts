import { randomUUID } from 'node:crypto'
import { db, Prisma } from '#lib/db/client.ts'
import { retried } from '#lib/db/transaction.ts'
import type { Mode } from '#lib/mode.ts'

type JobTable = 'charges' | 'withdrawals' | 'refunds' | 'deliveries'

/** A killed worker's rows come back by themselves after this long. */
const LEASE_MS = 60_000

export interface Claim {
  accountId: string
  id: string
  mode: Mode
  status: string
  /** The fencing token: what is written back must still carry it. */
  lease: string
  attempts: number
}

/**
 * Takes up to `limit` due rows for this caller alone. The row is the job: its due time is moved
 * to the end of the lease, so nothing has to be cleaned up after a crash.
 */
export function claim(table: JobTable, limit: number, leaseMs = LEASE_MS): Promise<Claim[]> {
  const rows = Prisma.raw(table)
  const lease = randomUUID()
  return retried(
    () => db().$queryRaw<Claim[]>`
      UPDATE ${rows} SET
        due_at = now() + make_interval(secs => ${leaseMs}::float8 / 1000),
        lease = ${lease}::uuid,
        attempts = attempts + 1
      WHERE (account_id, id) IN (
        SELECT account_id, id FROM ${rows}
        WHERE due_at <= now()
        ORDER BY due_at LIMIT ${limit}
        FOR UPDATE SKIP LOCKED)
      RETURNING account_id AS "accountId", id, mode, status, lease, attempts`,
  )
}

/** Gives a row back for `dueInMs` from now; false when the lease has passed to somebody else. */
export async function postpone(table: JobTable, held: Claim, dueInMs: number): Promise<boolean> {
  const rows = Prisma.raw(table)
  const changed = await db().$executeRaw`
    UPDATE ${rows} SET
      due_at = now() + make_interval(secs => ${dueInMs}::float8 / 1000),
      lease = NULL
    WHERE account_id = ${held.accountId}::uuid AND id = ${held.id}::uuid
      AND lease = ${held.lease}::uuid`
  return changed === 1
}
