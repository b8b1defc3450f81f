import { randomUUID } from 'node:crypto'
import { db, Prisma } from '#lib/base/db/client.ts'
import { retryOnConflict } from '#lib/base/db/transaction.ts'
import { env } from '#lib/base/env.ts'
import { log } from '#lib/base/log.ts'
import type { Mode } from '#lib/base/mode.ts'

/** Tables whose rows belong to a connection to a bank. */
type OrderTable = 'withdrawals' | 'refunds' | 'receipt_returns'
type BankTable = 'charges' | 'bank_tries' | OrderTable
export type JobTable = BankTable | 'deliveries'

export interface Claim {
  accountId: string
  id: string
  mode: Mode
  /** Connection to the bank that has the row's charge or order. */
  connectionId: string
  status: string
  /** Fencing token: an update of the row must match it. */
  lease: string
  attempts: number
  /** The request that caused a withdrawal or a refund: see `currentCause` in lib/base/trace.ts. */
  trace?: string | null
}

/** Lease duration. A row held by a dead worker becomes claimable again after it. */
export function leaseMs(): number {
  return env().WORKER_LEASE_SECONDS * 1_000
}

/** The row is the job: `due_at` moves to the end of the lease, so a crash needs no cleanup. */
export function claim(
  table: BankTable,
  limit: number,
  { durationMs = leaseMs(), condition }: { durationMs?: number; condition?: Prisma.Sql } = {},
): Promise<Claim[]> {
  const rows = Prisma.raw(table)
  const lease = randomUUID()
  return retryOnConflict(
    () => db().$queryRaw<Claim[]>`
      UPDATE ${rows} SET
        due_at = ${nowPlusMs(durationMs)},
        lease = ${lease}::uuid,
        attempts = attempts + 1
      WHERE (account_id, id) IN (
        SELECT account_id, id FROM ${rows}
        WHERE due_at <= now() ${condition ? Prisma.sql`AND ${condition}` : Prisma.empty}
        ORDER BY due_at LIMIT ${limit}
        FOR UPDATE SKIP LOCKED)
      RETURNING account_id AS "accountId", id, mode, connection_id AS "connectionId", status, lease,
        attempts`,
  )
}

/** Columns of a Claim, from a row `r`. */
export const claimedColumns = Prisma.sql`
  r.account_id AS "accountId", r.id, r.mode, r.connection_id AS "connectionId", r.status, r.lease,
  r.attempts`

/** `after`: the account that was served last. `condition`: of a row `r`. */
export interface Turn {
  after: string
  condition?: Prisma.Sql
}

/**
 * Claims due rows of a connection, the oldest of each account, from the account after `after` on. With few
 * accounts, several of each. Its cost depends on the limit, not on the number of due rows: the limit
 * of `picked`, never reached, tells the planner how few rows are updated.
 */
export function claimInTurn(
  table: OrderTable,
  connectionId: string,
  limit: number,
  { after, condition }: Turn,
): Promise<Claim[]> {
  const rows = Prisma.raw(table)
  const lease = randomUUID()
  const isDue = Prisma.sql`r.connection_id = ${connectionId}::uuid AND r.due_at <= now()
    ${condition ? Prisma.sql`AND ${condition}` : Prisma.empty}`
  const nextAccount = (previous: Prisma.Sql) => Prisma.sql`(
    SELECT r.account_id FROM ${rows} r WHERE ${isDue} AND r.account_id > ${previous}
    ORDER BY r.account_id LIMIT 1)`
  return retryOnConflict(
    () => db().$queryRaw<Claim[]>`
      WITH RECURSIVE turns AS (
        SELECT ${nextAccount(Prisma.sql`${after}::uuid`)} AS account_id, 1 AS nth
        UNION ALL
        SELECT ${nextAccount(Prisma.sql`t.account_id`)}, t.nth + 1 FROM turns t
        WHERE t.account_id IS NOT NULL AND t.nth < ${limit}::int
      ), picked AS MATERIALIZED (
        SELECT d.* FROM turns t CROSS JOIN LATERAL (
          SELECT r.account_id, r.id FROM ${rows} r WHERE ${isDue} AND r.account_id = t.account_id
          ORDER BY r.due_at, r.id
          LIMIT ${limit}::int / (SELECT GREATEST(count(account_id), 1) FROM turns)
          FOR UPDATE SKIP LOCKED) d
        LIMIT ${limit}::int
      )
      UPDATE ${rows} r SET due_at = ${nowPlusMs(leaseMs())}, lease = ${lease}::uuid,
        attempts = attempts + 1
      FROM picked p WHERE r.account_id = p.account_id AND r.id = p.id
      RETURNING ${claimedColumns}${table === 'receipt_returns' ? Prisma.empty : Prisma.sql`, r.trace`}`,
  )
}

/** Renews the lease of a row. Returns false if another worker has claimed it, or it has ended. */
export async function holdLease(table: JobTable, claimed: Claim): Promise<boolean> {
  const held = await db().$executeRaw`
    UPDATE ${Prisma.raw(table)} SET due_at = ${nowPlusMs(leaseMs())}
    WHERE account_id = ${claimed.accountId}::uuid AND id = ${claimed.id}::uuid
      AND lease = ${claimed.lease}::uuid`
  return held === 1
}

export function nowPlusMs(ms: number): Prisma.Sql {
  return Prisma.sql`now() + make_interval(secs => ${ms}::float8 / 1000)`
}

/** Makes the row due in `dueInMs`. Returns false if another worker has claimed it since. */
export async function postpone(table: JobTable, claimed: Claim, dueInMs: number): Promise<boolean> {
  const rows = Prisma.raw(table)
  const changed = await db().$executeRaw`
    UPDATE ${rows} SET
      due_at = ${nowPlusMs(dueInMs)},
      lease = NULL
    WHERE account_id = ${claimed.accountId}::uuid AND id = ${claimed.id}::uuid
      AND lease = ${claimed.lease}::uuid`
  return changed === 1
}

/** Leases that this process holds and renews, each with the table of its rows. */
const heldLeases = new Map<string, JobTable>()

/** Claims due rows and renews their lease until `work` ends. Returns the number of rows claimed. */
export async function withLease(
  table: BankTable,
  limit: number,
  work: (due: Claim[]) => Promise<unknown>,
  condition?: Prisma.Sql,
): Promise<number> {
  const due = await claim(table, limit, { condition })
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
      UPDATE ${rows} SET due_at = ${nowPlusMs(durationMs)}
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
