import { findCharge } from '#lib/charges/list.ts'
import type { ChargeStatus } from '#lib/charges/states.ts'
import { refuse } from '#lib/core/errors.ts'
import { log } from '#lib/core/log.ts'
import type { Mode } from '#lib/core/mode.ts'
import type { ChargeStatusUpdate } from '#lib/dashboard/schema.ts'
import { Prisma } from '#lib/db/client.ts'
import { queryRows } from '#lib/db/sql.ts'
import { onShutdown, onWake, startListening, type Topic } from '#lib/db/wake.ts'

const WATCHED_TOPICS: Topic[] = ['charges', 'deliveries', 'orders']
/** Minimum interval between reads of all watched charges, however many notifications arrive. */
const READ_INTERVAL_MIN_MS = 250
/** Interval of reads without a notification: some are lost, and minor changes send none. */
const POLL_MS = 5_000
const WATCHERS_MAX = 20

interface Watcher {
  accountId: string
  chargeId: string
  onStatus: (status: ChargeStatus) => void
  onEnd: () => void
}

interface ChargeMark {
  account_id: string
  id: string
  status: ChargeStatus
  /** Text that changes with anything that the page shows. */
  mark: string
}

/** Reports changes of a charge until the returned function is called. */
function watchCharge(watcher: Watcher): () => void {
  return hub.add(watcher)
}

/** Returns whether the account has so many streams open that further pages should poll. */
function hasMaxWatchers(accountId: string): boolean {
  return countWatchers(accountId) >= WATCHERS_MAX
}

export function countWatchers(accountId: string): number {
  return hub.count(accountId)
}

/** Reads the changes of all watched charges with one statement, while there are watchers. */
class Hub {
  readonly #watchers = new Map<Watcher, string | null>()
  #unsubscribes: (() => void)[] = []
  #timer: NodeJS.Timeout | null = null
  #lastReadAt = 0
  #isReading = false
  #isStale = false

  add(watcher: Watcher): () => void {
    if (this.#watchers.size === 0) this.#begin()
    this.#watchers.set(watcher, null)
    this.#scheduleRead()
    return () => {
      if (this.#watchers.delete(watcher) && this.#watchers.size === 0) this.#stop()
    }
  }

  count(accountId: string): number {
    return [...this.#watchers.keys()].filter(watcher => watcher.accountId === accountId).length
  }

  #begin(): void {
    const scheduleRead = () => this.#scheduleRead()
    const poll = setInterval(scheduleRead, POLL_MS)
    poll.unref()
    this.#unsubscribes = [
      ...WATCHED_TOPICS.map(topic => onWake(topic, scheduleRead)),
      onShutdown(() => this.#endAll()),
      () => clearInterval(poll),
      startListening(),
    ]
  }

  #stop(): void {
    for (const unsubscribe of this.#unsubscribes.splice(0)) unsubscribe()
    clearTimeout(this.#timer ?? undefined)
    this.#timer = null
  }

  #endAll(): void {
    for (const watcher of [...this.#watchers.keys()]) watcher.onEnd()
  }

  #scheduleRead(): void {
    if (this.#isReading) this.#isStale = true
    if (this.#isReading || this.#timer) return
    const waitMs = Math.max(0, this.#lastReadAt + READ_INTERVAL_MIN_MS - performance.now())
    this.#timer = setTimeout(() => this.#read(), waitMs)
  }

  async #read(): Promise<void> {
    this.#timer = null
    this.#isReading = true
    this.#isStale = false
    this.#lastReadAt = performance.now()
    try {
      this.#notify(await readMarks([...this.#watchers.keys()]))
    } catch (error) {
      log().warn({ err: error }, 'reading watched charges failed')
    }
    this.#isReading = false
    if (this.#isStale && this.#watchers.size > 0) this.#scheduleRead()
  }

  #notify(marks: ChargeMark[]): void {
    const byKey = new Map(marks.map(mark => [`${mark.account_id} ${mark.id}`, mark]))
    for (const [watcher, mark] of [...this.#watchers]) {
      const current = byKey.get(`${watcher.accountId} ${watcher.chargeId}`)
      if (!current || current.mark === mark || !this.#watchers.has(watcher)) continue
      this.#watchers.set(watcher, current.mark)
      watcher.onStatus(current.status)
    }
  }
}

const hub = new Hub()

/** A mark changes with the charge's row (also for refunds), delivery attempts and their results. */
async function readMarks(watchers: Watcher[]): Promise<ChargeMark[]> {
  if (watchers.length === 0) return []
  const accounts = watchers.map(({ accountId }) => accountId)
  const charges = watchers.map(({ chargeId }) => chargeId)
  return queryRows<ChargeMark>(Prisma.sql`
    SELECT json_build_object('account_id', c.account_id, 'id', c.id, 'status', c.status,
      'mark', concat_ws(' ', c.status, c.updated_at, c.viewed_at, d.mark))::text AS json
    FROM unnest(${accounts}::uuid[], ${charges}::uuid[]) w (account_id, id)
    JOIN charges c ON c.account_id = w.account_id AND c.id = w.id
    CROSS JOIN LATERAL (
      SELECT concat_ws(' ', sum(d.attempts), max(d.updated_at)) AS mark
      FROM deliveries d WHERE d.account_id = c.account_id AND d.subject_id = c.id) d`)
}

/** Interval of access checks and of heartbeats: proxies drop silent connections. */
const HEARTBEAT_MS = 15_000
/** Maximum duration of a stream; then the page opens a new one. */
const DURATION_MAX_MS = 600_000

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'private, no-store, no-transform',
  'x-accel-buffering': 'no',
  // Each stream has its own connection, which closes when the stream ends.
  connection: 'close',
}

interface Listener {
  accountId: string
  mode: Mode
  /** Throws once the listener has lost access. */
  reauthorize: () => Promise<void>
}

export async function streamCharge(
  { accountId, mode, reauthorize }: Listener,
  idOrReference: string,
) {
  const charge = await findCharge(accountId, mode, idOrReference)
  if (!charge) throw refuse('transaction_not_found')
  if (hasMaxWatchers(accountId)) {
    throw refuse('limit_reached', 'Too many live charges are open in this account: close one first')
  }
  const chunks = new ChunkStream(stream => {
    const sendStatus = (status: ChargeStatusUpdate['status']) =>
      stream.push(`data: ${JSON.stringify({ status } satisfies ChargeStatusUpdate)}\n\n`)
    const end = () => stream.end()
    const unwatch = watchCharge({
      accountId,
      chargeId: charge.id,
      onStatus: sendStatus,
      onEnd: end,
    })
    const timers = [
      setInterval(() => reauthorize().then(() => stream.push(':\n\n'), end), HEARTBEAT_MS),
      setTimeout(end, DURATION_MAX_MS),
    ]
    return () => {
      unwatch()
      for (const timer of timers) clearInterval(timer)
    }
  })
  return { headers: HEADERS, chunks }
}

/** Starts at the first read and stops at a disconnect; a generator would stop at its next value. */
class ChunkStream implements AsyncIterableIterator<string> {
  readonly #begin: (outlet: ChunkStream) => () => void
  #stop: (() => void) | null = null
  #isClosed = false
  #chunks: string[] = []
  #resolveNext: ((result: IteratorResult<string>) => void) | null = null

  constructor(start: (outlet: ChunkStream) => () => void) {
    this.#begin = start
  }

  push(text: string): void {
    if (this.#isClosed) return
    this.#chunks.push(text)
    this.#flush()
  }

  end(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#stop?.()
    this.#flush()
  }

  next(): Promise<IteratorResult<string>> {
    if (!this.#isClosed) this.#stop ??= this.#begin(this)
    return new Promise(resolve => {
      this.#resolveNext = resolve
      this.#flush()
    })
  }

  async return(): Promise<IteratorResult<string>> {
    this.#chunks = []
    this.end()
    return { done: true, value: undefined }
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  #flush(): void {
    const resolve = this.#resolveNext
    if (!resolve || (this.#chunks.length === 0 && !this.#isClosed)) return
    this.#resolveNext = null
    const value = this.#chunks.shift()
    resolve(value === undefined ? { done: true, value } : { done: false, value })
  }
}
