import { isDatabaseUnavailable } from '#lib/base/errors.ts'

type Outcome<Result> = { ok: true; result: Result } | { ok: false; error: unknown }

/**
 * Runs all items together and, if that fails, each item alone, so that a bad item fails no other.
 * If the database is unavailable, all items fail at once. Returns one outcome per item.
 */
export async function runBatch<Item, Result>(
  items: Item[],
  run: (items: Item[]) => Promise<Result[]>,
): Promise<Outcome<Result>[]> {
  try {
    const results = await run(items)
    return items.map((_, nth) => ({ ok: true, result: results[nth] as Result }))
  } catch (error) {
    if (items.length === 1 || isDatabaseUnavailable(error))
      return items.map(() => ({ ok: false, error }))
  }
  const outcomes: Outcome<Result>[] = []
  for (const item of items) outcomes.push(...(await runBatch([item], run)))
  return outcomes
}

interface BatchOptions<Item, Result> {
  /** Runs all items in one statement and returns one result per item, in order. */
  run: (items: Item[]) => Promise<Result[]>
  /** Batches of one queue run one after another; different queues run concurrently. */
  queueOf: (item: Item) => string
  /**
   * Two items with the same key never share a batch: the later must see the writes of the earlier.
   */
  nameOf: (item: Item) => string
  batchMax: number
}

interface QueuedItem<Item, Result> {
  item: Item
  done: (outcome: Outcome<Result>) => void
}

/**
 * Batches writes to contended rows: items that arrive while a statement runs are collected for the
 * next statement. Each caller gets its own result or error.
 */
export function createBatcher<Item, Result>(options: BatchOptions<Item, Result>) {
  const { run, queueOf } = options
  const queues = new Map<string, QueuedItem<Item, Result>[]>()

  async function drainQueue(name: string, queue: QueuedItem<Item, Result>[]): Promise<void> {
    while (queue.length > 0) {
      const batch = takeNextBatch(queue, options)
      const outcomes = await runBatch(
        batch.map(({ item }) => item),
        run,
      )
      for (const [nth, { done }] of batch.entries()) done(outcomes[nth] as Outcome<Result>)
    }
    queues.delete(name)
  }

  return async (item: Item): Promise<Result> => {
    const outcome = await new Promise<Outcome<Result>>(done => {
      const name = queueOf(item)
      const queue = queues.get(name)
      if (queue) return queue.push({ item, done })
      const newQueue = [{ item, done }]
      queues.set(name, newQueue)
      return drainQueue(name, newQueue)
    })
    if (outcome.ok) return outcome.result
    throw outcome.error
  }
}

/**
 * Removes the next batch from the queue, oldest first. An item with a repeated key waits for a
 * later batch.
 */
function takeNextBatch<Item, Result>(
  queue: QueuedItem<Item, Result>[],
  { nameOf, batchMax }: BatchOptions<Item, Result>,
): QueuedItem<Item, Result>[] {
  const names = new Set<string>()
  const batch: QueuedItem<Item, Result>[] = []
  const rest: QueuedItem<Item, Result>[] = []
  for (const queued of queue) {
    const name = nameOf(queued.item)
    const belongsToBatch = batch.length < batchMax && !names.has(name)
    names.add(name)
    ;(belongsToBatch ? batch : rest).push(queued)
  }
  queue.splice(0, queue.length, ...rest)
  return batch
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
