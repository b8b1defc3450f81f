import { randomUUID } from 'node:crypto'
import { log } from '#lib/core/log.ts'
import type { Mode } from '#lib/core/mode.ts'
import { env } from '#lib/core/settings.ts'
import { db, Prisma, retryOnConflict, type Tx } from '#lib/db/client.ts'

const ACCOUNT_ROW = ['account_id', 'id']

/** Tables whose rows are jobs, each with `due_at` and `lease`: the columns of their keys. */
const KEYS = {
  charges: ACCOUNT_ROW,
  bank_orders: ACCOUNT_ROW,
  delivery_queues: ['account_id'],
  mails: ['id'],
  payment_readings: ['connection_id', 'pace'],
  reconciled_days: ['connection_id', 'day'],
  restore_closures: ['connection_id', 'restore_id'],
}
export type JobTable = keyof typeof KEYS

export interface Claim {
  accountId: string
  id: string
  mode: Mode
  /** Connection to the bank that has the row's charge. */
  connectionId: string
  status: string
  /** Fencing token: an update of the row must match it. */
  lease: string
  attempts: number
  /** The request that caused it: see `currentCause` in lib/core/trace.ts. */
  trace?: string | null
}

/** Lease duration. A row held by a dead worker becomes claimable again after it. */
export function leaseMs(): number {
  return env().WORKER_LEASE_SECONDS * 1_000
}

/** Columns of a Claim, from a row `r`. */
const claimedColumns = Prisma.sql`
  r.account_id AS "accountId", r.id, r.mode, r.connection_id AS "connectionId", r.status, r.lease,
  r.attempts`

/** Rows of one claim. As a constant it also tells the planner, which knows no parameter, how few rows change. */
const CLAIMED_MAX = 250

interface ClaimedAs {
  /** The time at which rows are due. Default: the database's. */
  at?: Prisma.Sql
  durationMs?: number
  /** Further assignments to a row `r`. Default: counts the attempt. */
  set?: Prisma.Sql | null
  /** Columns of a row `r`, `lease` included. Default: those of a Claim. */
  returning?: Prisma.Sql
}

export interface ClaimOptions extends ClaimedAs {
  /** SQL condition of a row `r`. */
  condition?: Prisma.Sql
  /** Replaces `r.due_at <= at`. */
  isDue?: Prisma.Sql
  order?: Prisma.Sql
}

/**
 * Claims due rows, the longest due first: the row is the job, and `due_at` moves to the end of the lease, so a
 * crash needs no cleanup. Apart are deliveries, of which a worker claims the queue (lib/webhooks/queue.ts), and
 * what stores the time of the next question instead of a lease: notices, ended orders, mails to approvers.
 */
export function claim<Row extends { lease: string } = Claim>(
  table: JobTable,
  limit: number,
  { condition, isDue, order = Prisma.sql`r.due_at`, ...as }: ClaimOptions = {},
): Promise<Row[]> {
  const { at = Prisma.sql`now()` } = as
  const picked = Prisma.sql`WITH picked AS MATERIALIZED (
    SELECT * FROM (
      SELECT ${keysOf(table)} FROM ${Prisma.raw(table)} r
      WHERE ${isDue ?? Prisma.sql`r.due_at <= ${at}`} ${condition ? Prisma.sql`AND ${condition}` : Prisma.empty}
      ORDER BY ${order} LIMIT ${limit}::int FOR UPDATE SKIP LOCKED) d
    LIMIT ${Prisma.raw(String(CLAIMED_MAX))})`
  return claimPicked(table, picked, as)
}

const keysOf = (table: JobTable) => Prisma.raw(KEYS[table].map(key => `r.${key}`).join(', '))

/**
 * Gives a lease to the rows whose keys the WITH clause `picked` has selected and locked. `tx`: a transaction of
 * several claims, of which the caller gives the lease.
 */
export function claimPicked<Row>(
  table: JobTable,
  picked: Prisma.Sql,
  {
    at = Prisma.sql`now()`,
    durationMs = leaseMs(),
    set = Prisma.sql`attempts = attempts + 1`,
    returning = claimedColumns,
    lease = randomUUID(),
    tx,
  }: ClaimedAs & { lease?: string | undefined; tx?: Tx | undefined } = {},
): Promise<Row[]> {
  const isPicked = KEYS[table].map(key => `r.${key} = p.${key}`).join(' AND ')
  const run = (client: Tx) => client.$queryRaw<Row[]>`
    ${picked}
    UPDATE ${Prisma.raw(table)} r SET due_at = ${plusMs(at, durationMs)}, lease = ${lease}::uuid${set ? Prisma.sql`, ${set}` : Prisma.empty}
    FROM picked p WHERE ${Prisma.raw(isPicked)}
    RETURNING ${returning}`
  return tx ? run(tx) : retryOnConflict(() => run(db()))
}

export function nowPlusMs(ms: number): Prisma.Sql {
  return plusMs(Prisma.sql`now()`, ms)
}

function plusMs(at: Prisma.Sql, ms: number): Prisma.Sql {
  return Prisma.sql`${at} + make_interval(secs => ${ms}::float8 / 1000)`
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
export async function withLease<Row extends { lease: string } = Claim>(
  table: JobTable,
  limit: number,
  work: (due: Row[]) => Promise<unknown>,
  options?: ClaimOptions,
): Promise<number> {
  const due = await claim<Row>(table, limit, options)
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

/** Renews a lease until the returned function is called. */
export function renewLease(table: JobTable, lease: string): () => void {
  const durationMs = leaseMs()
  const renew = async () => {
    const assignments = Prisma.sql`due_at = ${nowPlusMs(durationMs)}`
    // First those that nobody has locked: a lock that lasts must end the lease of no other row.
    await changeHeld(table, lease, assignments, Prisma.sql`SKIP LOCKED`)
    await changeHeld(table, lease, assignments)
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
    await releaseLease(table, lease)
  }
}

/** Ends a lease. Its rows are due at once. */
export async function releaseLease(table: JobTable, lease: string): Promise<void> {
  await changeHeld(table, lease, Prisma.sql`due_at = now(), lease = NULL`)
}

/** Locks the rows in the order of their keys: other statements wait for several of them, too. */
async function changeHeld(
  table: JobTable,
  lease: string,
  assignments: Prisma.Sql,
  locked = Prisma.empty,
): Promise<void> {
  const isHeld = KEYS[table].map(key => `r.${key} = h.${key}`).join(' AND ')
  await db().$executeRaw`
    WITH held AS MATERIALIZED (
      SELECT ${keysOf(table)} FROM ${Prisma.raw(table)} r WHERE r.lease = ${lease}::uuid
      ORDER BY ${keysOf(table)} FOR NO KEY UPDATE ${locked})
    UPDATE ${Prisma.raw(table)} r SET ${assignments} FROM held h WHERE ${Prisma.raw(isHeld)}`
}
