import { Turns } from '#lib/core/concurrency.ts'
import { connectionTimeout, isDatabaseUnavailable } from '#lib/core/errors.ts'
import { env } from '#lib/core/settings.ts'

type Outcome<Result> = { ok: true; result: Result } | { ok: false; error: unknown }

/**
 * Runs all items together and, if that fails, each item alone, so that a bad item fails no other: one after the other
 * or, with `isParallel`, at the same time. If the database is unavailable, all items fail at once, also after the time
 * limit of the statement: a second one would exceed that of a request. Returns one outcome per item.
 */
export async function runBatch<Item, Result>(
  items: Item[],
  run: (items: Item[]) => Promise<Result[]>,
  isParallel = false,
): Promise<Outcome<Result>[]> {
  try {
    const results = await run(items)
    return items.map((_, index) => ({ ok: true, result: results[index] as Result }))
  } catch (error) {
    if (items.length === 1 || isDatabaseUnavailable(error))
      return items.map(() => ({ ok: false, error }))
  }
  if (isParallel) return (await Promise.all(items.map(item => runBatch([item], run)))).flat()
  const outcomes: Outcome<Result>[] = []
  for (const item of items) outcomes.push(...(await runBatch([item], run)))
  return outcomes
}

/** An item that waits for its statement. */
interface Waiting<Item, Result> {
  item: Item
  resolve: (result: Result) => void
  reject: (error: unknown) => void
}

/** Hands an item over and waits for its outcome. */
function submit<Item, Result>(
  item: Item,
  enqueue: (waiting: Waiting<Item, Result>) => void,
): Promise<Result> {
  return new Promise((resolve, reject) => enqueue({ item, resolve, reject }))
}

/** Runs a statement for waiting items, hands each its outcome, and never rejects. */
function serve<Item, Result>(
  batch: Waiting<Item, Result>[],
  run: (items: Item[]) => Promise<Result[]>,
  isParallel = false,
): Promise<void> {
  const items = batch.map(({ item }) => item)
  const [only] = batch
  if (only && batch.length === 1)
    return run(items).then(([result]) => only.resolve(result as Result), only.reject)
  return runBatch(items, run, isParallel).then(outcomes => {
    for (const [index, { resolve, reject }] of batch.entries()) {
      const outcome = outcomes[index] as Outcome<Result>
      if (outcome.ok) resolve(outcome.result)
      else reject(outcome.error)
    }
  })
}

interface BatchOptions<Item, Result> {
  /** Runs all items in one statement and returns one result per item, in order. Async, so that it never throws. */
  run: (items: Item[]) => Promise<Result[]>
  /** Different queues run concurrently. */
  queueOf: (item: Item) => string
  /** Items with one key never run at the same time: the later must see the writes of the earlier. */
  keyOf: (item: Item) => string
  batchMax: number
  /** Batches of one queue that run at the same time, if each has enough items. Default: one after another. */
  runningMax?: number
  /** Longest wait for a batch. Default: the limit of a request for the database. */
  waitMaxMs?: number
}

/** An item that waits for its batch since `at`. */
interface Queued<Item, Result> extends Waiting<Item, Result> {
  at: number
}

interface Queue<Item, Result> {
  waiting: Queued<Item, Result>[]
  runningKeys: Set<string>
  workers: number
}

/** Items of a batch that runs beside another: for fewer, another statement costs more than the wait for it. */
const BESIDE_MIN = 16

/**
 * Batches writes to contended rows: items that arrive during a statement, or in the turn of the event loop in which it
 * ends, as those of callers that got its results, join the next one.
 */
export function createBatcher<Item, Result>(options: BatchOptions<Item, Result>) {
  const { run, queueOf, keyOf, runningMax = 1 } = options
  const waitMaxMs = () => options.waitMaxMs ?? env().DATABASE_TIMEOUT_MS
  const queues = new Map<string, Queue<Item, Result>>()
  let isTimed = false

  /** Ends when nothing waits, or when another worker runs and takes the few that do. */
  async function drainQueue(name: string, queue: Queue<Item, Result>): Promise<void> {
    queue.workers++
    for (
      let batch = takeNextBatch(queue, options);
      batch.length > 0;
      batch = takeNextBatch(queue, options)
    ) {
      await serve(batch, run)
      for (const { item } of batch) queue.runningKeys.delete(keyOf(item))
      await new Promise(setImmediate)
    }
    queue.workers--
    if (queue.workers === 0) queues.delete(name)
  }

  /** Fails what has waited for the whole limit, as if it had waited for a connection. */
  function failExpired(): void {
    const now = performance.now()
    const limitMs = waitMaxMs()
    let oldest = now
    for (const queue of queues.values()) {
      const isExpired = ({ at }: Queued<Item, Result>) => now - at >= limitMs
      const expired = queue.waiting.filter(isExpired)
      if (expired.length > 0) queue.waiting = queue.waiting.filter(queued => !isExpired(queued))
      for (const { reject } of expired) reject(connectionTimeout())
      oldest = Math.min(oldest, queue.waiting[0]?.at ?? now)
    }
    isTimed = false
    if (oldest < now) failExpiredAfter(oldest + limitMs - now)
  }

  function failExpiredAfter(delayMs: number): void {
    isTimed = true
    setTimeout(failExpired, delayMs).unref()
  }

  return (item: Item): Promise<Result> =>
    submit(item, waiting => {
      const name = queueOf(item)
      const known = queues.get(name)
      const queue = known ?? { waiting: [], runningKeys: new Set<string>(), workers: 0 }
      queue.waiting.push({ ...waiting, at: performance.now() })
      if (!known) queues.set(name, queue)
      else if (!isTimed) failExpiredAfter(waitMaxMs())
      const isBeside =
        queue.workers < runningMax &&
        queue.waiting.length >= BESIDE_MIN &&
        !queue.runningKeys.has(keyOf(item))
      if (!known || isBeside) void drainQueue(name, queue)
    })
}

/** Removes the next batch, oldest first: an even share of all items, if batches can run beside each other. */
function takeNextBatch<Item, Result>(
  queue: Queue<Item, Result>,
  { keyOf, batchMax, runningMax = 1 }: BatchOptions<Item, Result>,
): Queued<Item, Result>[] {
  const { waiting, runningKeys } = queue
  if (runningKeys.size > 0 && waiting.length < BESIDE_MIN) return []
  const share = (waiting.length + runningKeys.size) / runningMax
  const sizeMax = share < BESIDE_MIN ? batchMax : Math.min(batchMax, Math.ceil(share))
  const keys = new Set(runningKeys)
  const batch: Queued<Item, Result>[] = []
  queue.waiting = []
  for (const queued of waiting) {
    const key = keyOf(queued.item)
    const belongsToBatch = batch.length < sizeMax && !keys.has(key)
    keys.add(key)
    ;(belongsToBatch ? batch : queue.waiting).push(queued)
  }
  for (const { item } of batch) runningKeys.add(keyOf(item))
  return batch
}

interface SharingOptions<Item, Result> {
  /** Runs all items in one statement and returns one result per item, in order. Async, so that it never throws. */
  run: (items: Item[]) => Promise<Result[]>
  /** Takes part in turn with others, so that one with many items delays each other by few of them. */
  callerOf: (item: Item) => string
  bytesOf?: (item: Item) => number
}

/** Limits of one statement: what arrives while it runs fills no more at the highest load that was measured. */
const SHARED_MAX = 64
const SHARED_BYTES_MAX = 256 * 1_024
/** Statements of one kind at a time: the database runs one while this process reads requests for the other. */
const RUNNING_MAX = 2
/** Longest wait for slow statements, as those that wait for a lock, before the next one begins. */
const SLOW_MS = 50

/**
 * Returns a function whose calls share statements: those that arrive in one turn of the event loop, or while statements
 * run, go together in the next one. A call that is alone goes at once. If a statement fails, each item is repeated
 * alone, so that a bad one fails no other.
 */
export function createSharing<Item, Result>({
  run,
  callerOf,
  bytesOf = () => 0,
}: SharingOptions<Item, Result>) {
  /** A list: a Map with a deletion for each addition makes V8 keep what its former tables held (`Turns`). */
  let queue: Waiting<Item, Result>[] = []
  let isScheduled = false
  /** Whether the last statement had one item, and nothing waited when it ended. */
  let isAlone = false
  /** Statements that hold up the next one. */
  let running = 0
  let ended = 0
  /** Changes when those that run are slow: from then on, they hold up nothing. */
  let generation = 0
  let isTimed = false

  function takeNext(): Waiting<Item, Result>[] {
    const waiting = queue
    const bytes = waiting.reduce((sum, { item }) => sum + bytesOf(item), 0)
    queue = []
    if (waiting.length <= SHARED_MAX && bytes <= SHARED_BYTES_MAX) return waiting
    const turns = new Turns<Waiting<Item, Result>>()
    for (const each of waiting) turns.add(callerOf(each.item), each)
    const taken: Waiting<Item, Result>[] = []
    let takenBytes = 0
    for (let each = turns.take(); each; each = turns.take()) {
      const hasRoom = taken.length < SHARED_MAX && takenBytes < SHARED_BYTES_MAX
      ;(hasRoom ? taken : queue).push(each)
      takenBytes += bytesOf(each.item)
    }
    return taken
  }

  function goOn(): void {
    if (isScheduled || queue.length === 0) return
    if (running === RUNNING_MAX) passSlow()
    else if (running === 0 && isAlone) runNext()
    else {
      // As soon as all requests have been read that have arrived.
      isScheduled = true
      setImmediate(runNext)
    }
  }

  async function runNext(): Promise<void> {
    const began = generation
    isScheduled = false
    isAlone = queue.length === 1
    running++
    const taken = takeNext()
    goOn()
    await serve(taken, run, true)
    if (queue.length > 0) isAlone = false
    if (began === generation) running--
    ended++
    goOn()
  }

  /** Lets the next statement pass those that run, if none of them ends. */
  function passSlow(): void {
    if (isTimed) return
    isTimed = true
    const endedBefore = ended
    setTimeout(() => {
      isTimed = false
      if (ended === endedBefore) {
        generation++
        running = 0
      }
      goOn()
    }, SLOW_MS)
  }

  return (item: Item): Promise<Result> =>
    submit(item, waiting => {
      queue.push(waiting)
      goOn()
    })
}

export async function runConcurrently<Item>(
  items: Item[],
  concurrencyMax: number,
  work: (item: Item) => Promise<unknown>,
): Promise<void> {
  const remaining = items.values()
  const worker = async () => {
    for (const item of remaining) await work(item)
  }
  await Promise.all(Array.from({ length: Math.min(concurrencyMax, items.length) }, worker))
}
