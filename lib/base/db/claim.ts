import { randomUUID } from 'node:crypto'
import { db, Prisma } from '#lib/base/db/client.ts'
import { retryOnConflict } from '#lib/base/db/transaction.ts'
import { env } from '#lib/base/env.ts'
import { log } from '#lib/base/log.ts'
import type { Mode } from '#lib/base/mode.ts'

export type JobTable = 'charges' | 'withdrawals' | 'refunds' | 'deliveries'

export interface Claim {
  accountId: string
  id: string
  mode: Mode
  status: string
  /** Fencing token: an update of the row must match it. */
  lease: string
  attempts: number
}

/** Lease duration. A row held by a dead worker becomes claimable again after it. */
export function leaseMs(): number {
  return env().WORKER_LEASE_SECONDS * 1_000
}

/** The row is the job: `due_at` moves to the end of the lease, so a crash needs no cleanup. */
export function claim(table: JobTable, limit: number, durationMs = leaseMs()): Promise<Claim[]> {
  const rows = Prisma.raw(table)
  const lease = randomUUID()
  return retryOnConflict(
    () => db().$queryRaw<Claim[]>`
      UPDATE ${rows} SET
        due_at = now() + make_interval(secs => ${durationMs}::float8 / 1000),
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

/**
 * Claims due rows of a mode: the oldest of each account first, then the second of each, and so on.
 * Accounts listed in `served` come last, in that order.
 */
export function claimInTurn(
  table: JobTable,
  mode: Mode,
  limit: number,
  served: string[],
): Promise<Claim[]> {
  const rows = Prisma.raw(table)
  const lease = randomUUID()
  return retryOnConflict(
    () => db().$queryRaw<Claim[]>`
      UPDATE ${rows} SET due_at = ${leaseEndSql()}, lease = ${lease}::uuid, attempts = attempts + 1
      WHERE due_at <= now() AND (account_id, id) IN (
        SELECT r.account_id, r.id FROM ${rows} r JOIN (
          SELECT account_id, id, due_at, row_number() OVER (PARTITION BY account_id ORDER BY id) AS nth
          FROM ${rows} WHERE due_at <= now() AND mode = ${mode}) d USING (account_id, id)
        ORDER BY d.nth, array_position(${served}::uuid[], r.account_id) NULLS FIRST, d.due_at
        LIMIT ${limit} FOR UPDATE OF r SKIP LOCKED)
      RETURNING account_id AS "accountId", id, mode, status, lease, attempts`,
  )
}

/** The end of a lease that begins now. */
export function leaseEndSql(): Prisma.Sql {
  return Prisma.sql`now() + make_interval(secs => ${leaseMs()}::float8 / 1000)`
}

/** Makes the row due in `dueInMs`. Returns false if another worker has claimed it since. */
export async function postpone(table: JobTable, claimed: Claim, dueInMs: number): Promise<boolean> {
  const rows = Prisma.raw(table)
  const changed = await db().$executeRaw`
    UPDATE ${rows} SET
      due_at = now() + make_interval(secs => ${dueInMs}::float8 / 1000),
      lease = NULL
    WHERE account_id = ${claimed.accountId}::uuid AND id = ${claimed.id}::uuid
      AND lease = ${claimed.lease}::uuid`
  return changed === 1
}

/** Leases that this process holds and renews, each with the table of its rows. */
const heldLeases = new Map<string, JobTable>()

/** Claims due rows and renews their lease until `work` ends. Returns the number of rows claimed. */
export async function withLease(
  table: JobTable,
  limit: number,
  work: (due: Claim[]) => Promise<unknown>,
): Promise<number> {
  const due = await claim(table, limit)
  const [first] = due
  if (!first) return 0
  const stopRenewal = renewLease(table, first.lease)
  try {
    await work(due)
  } finally {
    stopRenewal()
  }
  return due.length
}

/** Renews a lease until the returned function is called or no row has the lease any more. */
export function renewLease(table: JobTable, lease: string): () => void {
  const rows = Prisma.raw(table)
  const durationMs = leaseMs()
  const renew = async () => {
    const renewed = await db().$executeRaw`
      UPDATE ${rows} SET due_at = now() + make_interval(secs => ${durationMs}::float8 / 1000)
      WHERE lease = ${lease}::uuid`
    if (renewed === 0) stopRenewal()
  }
  const timer = setInterval(() => {
    renew().catch(error => log().warn({ err: error, table, lease }, 'lease renewal failed'))
  }, durationMs / 3)
  timer.unref()
  const stopRenewal = () => {
    clearInterval(timer)
    heldLeases.delete(lease)
  }
  heldLeases.set(lease, table)
  return stopRenewal
}

/** Releases all leases on shutdown, so that other workers can claim unfinished rows at once. */
export async function releaseLeases(): Promise<void> {
  for (const [lease, table] of [...heldLeases]) {
    heldLeases.delete(lease)
    await db().$executeRaw`
      UPDATE ${Prisma.raw(table)} SET due_at = now(), lease = NULL WHERE lease = ${lease}::uuid`
  }
}
