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
  /** Runs all items in one statement and returns one result per item, in order. */
  run: (items: Item[]) => Promise<Result[]>
  /** Batches of one queue run one after another; different queues run concurrently. */
  queueOf: (item: Item) => string
  /** Items with one key never share a batch: the later must see the writes of the earlier. */
  keyOf: (item: Item) => string
  batchMax: number
  /** Longest wait for a batch. Default: the limit of a request for the database. */
  waitMaxMs?: number
}

/** An item that waits for its batch since `at`. */
interface Queued<Item, Result> extends Waiting<Item, Result> {
  at: number
}

/**
 * Batches writes to contended rows: items that arrive during a statement, or in the turn of the event loop in which it
 * ends, as those of callers that got its results, join the next one.
 */
export function createBatcher<Item, Result>(options: BatchOptions<Item, Result>) {
  const { run, queueOf } = options
  const waitMaxMs = () => options.waitMaxMs ?? env().DATABASE_TIMEOUT_MS
  const queues = new Map<string, Queued<Item, Result>[]>()
  let isTimed = false

  async function drainQueue(queueName: string, queue: Queued<Item, Result>[]): Promise<void> {
    while (queue.length > 0) {
      await serve(takeNextBatch(queue, options), run)
      await new Promise(setImmediate)
    }
    queues.delete(queueName)
  }

  /** Fails what has waited for the whole limit, as if it had waited for a connection. */
  function failExpired(): void {
    const now = performance.now()
    const limitMs = waitMaxMs()
    let oldest = now
    for (const queue of queues.values()) {
      const isExpired = ({ at }: Queued<Item, Result>) => now - at >= limitMs
      const expired = queue.filter(isExpired)
      if (expired.length > 0) queue.splice(0, queue.length, ...queue.filter(q => !isExpired(q)))
      for (const { reject } of expired) reject(connectionTimeout())
      oldest = Math.min(oldest, queue[0]?.at ?? now)
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
      const queueName = queueOf(item)
      const queued = { ...waiting, at: performance.now() }
      const queue = queues.get(queueName)
      if (queue) {
        if (!isTimed) failExpiredAfter(waitMaxMs())
        return queue.push(queued)
      }
      const newQueue = [queued]
      queues.set(queueName, newQueue)
      return drainQueue(queueName, newQueue)
    })
}

/** Removes the next batch, oldest first. An item with a repeated key waits for a later batch. */
function takeNextBatch<Item, Result>(
  queue: Queued<Item, Result>[],
  { keyOf, batchMax }: BatchOptions<Item, Result>,
): Queued<Item, Result>[] {
  const keys = new Set<string>()
  const batch: Queued<Item, Result>[] = []
  const rest: Queued<Item, Result>[] = []
  for (const queued of queue) {
    const key = keyOf(queued.item)
    const belongsToBatch = batch.length < batchMax && !keys.has(key)
    keys.add(key)
    ;(belongsToBatch ? batch : rest).push(queued)
  }
  queue.splice(0, queue.length, ...rest)
  return batch
}

interface SharingOptions<Item, Result> {
  /** Runs all items in one statement and returns one result per item, in order. */
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
