import type { Mode } from '#lib/core/mode.ts'
import { claimPicked, leaseMs, nowPlusMs } from '#lib/db/claim.ts'
import { db, Prisma, retryOnConflict } from '#lib/db/client.ts'
import { clockFrom } from '#lib/db/clock.ts'
import { queryRows } from '#lib/db/sql.ts'
import { wake } from '#lib/db/wake.ts'
import type { EventRow } from '#lib/webhooks/events.ts'

/** Maximum concurrent attempts per account: no account uses up the capacity of a worker. */
const PER_ACCOUNT_MAX = 64
export const PER_HOST_MAX = 16
export const PER_URL_MAX = 4
/** Calls to a URL in progress and results being stored: at most so many events arrive again after a kill. */
export const ATTEMPTS_PER_URL_MAX = 16
/** A delivery that was read longer ago is read anew before it is sent: it may have been stopped or sent elsewhere. */
const FRESH_MS = 1_000
/** Deliveries left when the next are read, so that calls do not wait for the statement. */
const LOW = 16
/** Pages of URLs without a due delivery that are read in a row, at most once per FRESH_MS: each costs a few ms. */
const EMPTY_PAGES_MAX = 16

/** A due delivery, as it was read. */
export interface DueDelivery {
  accountId: string
  id: string
  mode: Mode
  host: string
  url: string
  endpointId: string | null
  /** Ended attempts: the fencing token. */
  attempts: number
  /** Failed attempts since the delivery was enqueued or last resent. */
  tried: number
  event: EventRow
  /** Whether the account lets its next webhooks fail, in test mode: lib/webhooks/sandbox.ts. */
  hasFault: boolean
  /** See `currentCause` in lib/core/trace.ts. */
  trace: string | null
  /**
   * In which form the endpoint gets its events; null without endpoint. Whether it receives payers' documents in full
   * (docs/decisions/023) is for its present URL: a delivery to an earlier one, which a member without the permission
   * may have set, is masked.
   */
  form: { showsDocuments: boolean; isApiPix: boolean } | null
  /** Body of the first attempt, null before it: every later attempt sends the same bytes. */
  body: string | null
  /** Active secrets, newest first, encrypted, base64. */
  secrets: { id: string; sealed: string }[] | null
  /** The database's clock, which signs: a worker's may be wrong by more than a receiver tolerates. */
  now: () => Date
}

interface Waiting {
  due: DueDelivery
  readAt: number
}

interface Attempt {
  due: DueDelivery
  startedAt: number
  /** False while the result is being stored. */
  isCalling: boolean
}

/** Where the search for URLs beyond the oldest deliveries continues: a host and the hash of a URL. */
type Position = [host: string, urlHash: string]
const START: Position = ['', '0']

/** The queue of an account while this process holds its lease. All its limits are kept here, because one worker has it. */
export class Queue {
  readonly accountId: string
  /** Whether to read due deliveries. */
  needsRead = true
  /** Whether another worker has the queue since. */
  isLost = false
  #readAt = 0
  #hasMore = false
  #after = START
  #emptyPages = 0
  #waiting: Waiting[] = []
  readonly #attempts = new Map<string, Attempt>()
  readonly #callsOfUrl = new Counter()
  readonly #callsOfHost = new Counter()
  readonly #attemptsOfUrl = new Counter()

  constructor(accountId: string) {
    this.accountId = accountId
  }

  get isBusy(): boolean {
    return this.#attempts.size > 0
  }

  get isIdle(): boolean {
    return this.#attempts.size + this.#waiting.length === 0 && !this.needsRead
  }

  /** Removes and returns the next delivery that may start within the limits. */
  take(): DueDelivery | undefined {
    this.#dropStale()
    if (this.#attempts.size >= PER_ACCOUNT_MAX) return
    const index = this.#waiting.findIndex(({ due }) => this.#mayStart(due))
    if (index < 0) return
    const [next] = this.#waiting.splice(index, 1)
    this.#noteLow()
    return next?.due
  }

  #mayStart({ host, url }: DueDelivery): boolean {
    return (
      this.#callsOfUrl.of(url) < PER_URL_MAX &&
      this.#callsOfHost.of(host) < PER_HOST_MAX &&
      this.#attemptsOfUrl.of(url) < ATTEMPTS_PER_URL_MAX
    )
  }

  #dropStale(): void {
    const fresh = this.#waiting.filter(({ readAt }) => performance.now() - readAt < FRESH_MS)
    if (fresh.length < this.#waiting.length) this.needsRead = true
    this.#waiting = fresh
  }

  #noteLow(): void {
    if (this.#hasMore && this.#waiting.length <= LOW) this.needsRead = true
  }

  begin(due: DueDelivery): void {
    this.#attempts.set(due.id, { due, startedAt: performance.now(), isCalling: true })
    this.#callsOfUrl.add(due.url, 1)
    this.#callsOfHost.add(due.host, 1)
    this.#attemptsOfUrl.add(due.url, 1)
  }

  /** The receiver is free for another call; the result is yet to be stored. */
  endCall({ id, url, host }: DueDelivery): void {
    const attempt = this.#attempts.get(id)
    if (attempt) attempt.isCalling = false
    this.#callsOfUrl.add(url, -1)
    this.#callsOfHost.add(host, -1)
    this.#noteLow()
  }

  end({ id, url }: DueDelivery): void {
    this.#attempts.delete(id)
    this.#attemptsOfUrl.add(url, -1)
    this.#noteLow()
  }

  /** Marks the queue for reading if that was long ago: deliveries become due without a signal. */
  noteTime(): void {
    if (performance.now() - this.#readAt >= FRESH_MS) this.needsRead = true
  }

  /** What the next reading is to leave out. */
  describe() {
    this.#dropStale()
    const [hangingUrls, hangingHosts] = [new Counter(), new Counter()]
    const [knownUrls, knownHosts] = [new Counter(), new Counter()]
    const calling = [...this.#attempts.values()].filter(({ isCalling }) => isCalling)
    for (const { due, startedAt } of calling) {
      if (performance.now() - startedAt < FRESH_MS) continue
      hangingUrls.add(due.url, 1)
      hangingHosts.add(due.host, 1)
    }
    for (const { due } of [...calling, ...this.#waiting]) {
      // More than the limit of one URL keeps no more of its host busy.
      if (knownUrls.of(due.url) < PER_URL_MAX) knownHosts.add(due.host, 1)
      knownUrls.add(due.url, 1)
    }
    const [after_host, after_url] = this.#after
    return {
      account_id: this.accountId,
      held: [...this.#attempts.keys(), ...this.#waiting.map(({ due }) => due.id)],
      full_urls: hangingUrls.reaching(PER_URL_MAX),
      full_hosts: hangingHosts.reaching(PER_HOST_MAX),
      busy_urls: knownUrls.reaching(PER_URL_MAX),
      busy_hosts: knownHosts.reaching(PER_HOST_MAX),
      after_host,
      after_url,
    }
  }

  /** Accepts what was read; null: the lease is lost. */
  accept(rows: DueDelivery[], summary: Summary | undefined): void {
    this.isLost = !summary
    this.#readAt = performance.now()
    this.#hasMore = summary?.hasMore ?? false
    this.#after = summary?.after ?? START
    this.#waiting.push(...rows.map(due => ({ due, readAt: this.#readAt })))
    const isEmptyPage = this.#after !== START && rows.length === 0
    this.#emptyPages = isEmptyPage ? this.#emptyPages + 1 : 0
    const searchesOn = isEmptyPage && this.#emptyPages % EMPTY_PAGES_MAX > 0
    this.needsRead = this.#hasMore && (searchesOn || (summary?.putBack ?? 0) > 0)
    if (this.isLost) this.#waiting = []
  }
}

class Counter {
  readonly #counts = new Map<string, number>()

  of(key: string): number {
    return this.#counts.get(key) ?? 0
  }

  add(key: string, difference: 1 | -1): void {
    const count = this.of(key) + difference
    if (count === 0) this.#counts.delete(key)
    else this.#counts.set(key, count)
  }

  reaching(count: number): string[] {
    return [...this.#counts].filter(([, each]) => each >= count).map(([key]) => key)
  }
}

/**
 * Claims queues of other accounts that have been due for `dueForMs`, at most `limit`, the longest due first, and returns
 * their accounts, with those of queues under this lease that got work or are not `known`: the answer to their claim was
 * lost, or the lease was renewed after it had ended. Locks only against other claims: a payment that adds work waits
 * for none.
 */
export async function claimQueues(
  lease: string,
  limit: number,
  known: string[] = [],
  dueForMs = 0,
): Promise<string[]> {
  const picked = Prisma.sql`WITH picked AS MATERIALIZED (
    SELECT * FROM (SELECT q.account_id FROM delivery_queues q WHERE q.due_at <= ${nowPlusMs(-dueForMs)}
      ORDER BY q.due_at LIMIT ${limit}::int FOR NO KEY UPDATE SKIP LOCKED) d
    UNION
    SELECT * FROM (SELECT q.account_id FROM delivery_queues q
      WHERE q.lease = ${lease}::uuid AND (q.has_news OR q.account_id <> ALL (${known}::uuid[]))
      FOR NO KEY UPDATE SKIP LOCKED) n)`
  const claimed = await claimPicked<{ accountId: string }>('delivery_queues', picked, {
    lease,
    set: Prisma.sql`has_news = false`,
    // A crash of the server that loses the claim repeats the calls, as the death of the worker does.
    returning: Prisma.sql`r.account_id AS "accountId", set_config('synchronous_commit', 'off', true)`,
  })
  return claimed.map(({ accountId }) => accountId)
}

type ReadRow = Omit<DueDelivery, 'now'> & { readAtMs: number }
interface Summary {
  accountId: string
  /** Whether more may be due than the oldest, which were read. */
  hasMore: boolean
  /** Deliveries that wait for an earlier event of their resource. */
  putBack: number
  after: Position | null
}

/** Reads due deliveries of queues into them: prisma/functions/troco_read_deliveries.sql. */
export async function readQueues(lease: string, queues: Queue[]): Promise<void> {
  if (queues.length === 0) return
  const described = JSON.stringify(queues.map(queue => queue.describe()))
  const rows = await queryRows<ReadRow | Summary>(Prisma.sql`
    SELECT json FROM troco_read_deliveries(${lease}::uuid, ${described}::json,
      ${PER_HOST_MAX}::integer, ${PER_URL_MAX}::integer) AS json`)
  const summaries = new Map<string, Summary>()
  const found = Map.groupBy(
    rows.flatMap(row => {
      if ('id' in row) return [toDue(row)]
      summaries.set(row.accountId, row)
      return []
    }),
    ({ accountId }) => accountId,
  )
  for (const queue of queues) {
    queue.accept(found.get(queue.accountId) ?? [], summaries.get(queue.accountId))
  }
}

function toDue({ readAtMs, ...due }: ReadRow): DueDelivery {
  return { ...due, now: clockFrom(readAtMs) }
}

/** Releases idle queues: prisma/functions/troco_release_queues.sql. Returns the accounts, and whether one is due. */
export async function releaseQueues(
  lease: string,
  accounts: string[],
): Promise<{ released: string[]; isDue: boolean }> {
  if (accounts.length === 0) return { released: [], isDue: false }
  const rows = await retryOnConflict(
    () => db().$queryRaw<{ account_id: string; is_due: boolean }[]>`
      SELECT account_id, is_due FROM troco_release_queues(${lease}::uuid, ${accounts}::uuid[])`,
  )
  return {
    released: rows.map(({ account_id }) => account_id),
    isDue: rows.some(({ is_due }) => is_due),
  }
}

/** Makes a delivery due after the duration of a lease: an error here, not at its receiver, stopped it. */
export async function postponeDelivery({ accountId, id }: DueDelivery): Promise<void> {
  await db().$executeRaw`
    UPDATE deliveries SET due_at = now() + make_interval(secs => ${leaseMs()}::float8 / 1000)
    WHERE account_id = ${accountId}::uuid AND id = ${id}::uuid AND status = 'pending'
      AND due_at IS NOT NULL`
}

/** Accounts with pending deliveries, first those whose deliveries have been due for longest. */
export const queuedAccountsSql = Prisma.sql`SELECT account_id FROM delivery_queues ORDER BY due_at`

/** Accounts per statement: about 10 ms. */
const STEP_MAX = 1_000
const NO_ACCOUNT = '00000000-0000-0000-0000-000000000000'

/**
 * Makes queues due that are missing or later than their first delivery, because rows were written without the
 * triggers: by a restore, by hand. Calls `rest` between steps. Returns the number restored.
 */
export async function healQueues(rest = async () => {}): Promise<number> {
  let restored = 0
  for (let after: string | undefined = NO_ACCOUNT; after !== undefined; ) {
    const step = await healStep(after)
    restored += step.restored
    after = step.last
    if (after !== undefined) await rest()
  }
  if (restored > 0) wake('deliveries')
  return restored
}

/** Steps from account to account, so that the deliveries of none are read completely. */
async function healStep(after: string): Promise<{ restored: number; last: string | undefined }> {
  const [row] = await retryOnConflict(
    () => db().$queryRaw<{ restored: number; last: string | null }[]>`
      WITH RECURSIVE accounts AS (
        (SELECT d.account_id, d.due_at, 1 AS nth FROM deliveries d
          WHERE d.due_at IS NOT NULL AND d.account_id > ${after}::uuid
          ORDER BY d.account_id, d.due_at LIMIT 1)
        UNION ALL
        SELECT n.account_id, n.due_at, a.nth + 1 FROM accounts a CROSS JOIN LATERAL (
          SELECT d.account_id, d.due_at FROM deliveries d
          WHERE d.due_at IS NOT NULL AND d.account_id > a.account_id
          ORDER BY d.account_id, d.due_at LIMIT 1) n
        WHERE a.nth < ${STEP_MAX}
      ), restored AS (
        INSERT INTO delivery_queues AS q (account_id, due_at)
        SELECT a.account_id, a.due_at FROM accounts a
        LEFT JOIN delivery_queues q ON q.account_id = a.account_id
        WHERE q.account_id IS NULL OR q.lease IS NULL AND q.due_at > greatest(a.due_at, now())
        ORDER BY a.account_id
        ON CONFLICT (account_id) DO UPDATE SET due_at = EXCLUDED.due_at
        WHERE q.lease IS NULL AND q.due_at > EXCLUDED.due_at
        RETURNING 1
      )
      SELECT (SELECT count(*)::int FROM restored) AS restored,
        (SELECT account_id FROM accounts WHERE nth = ${STEP_MAX}) AS last`,
  )
  return { restored: row?.restored ?? 0, last: row?.last ?? undefined }
}
