import { isDatabaseUnavailable } from '#lib/core/errors.ts'

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
    return items.map((_, index) => ({ ok: true, result: results[index] as Result }))
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
  /** Batches of one queue run one after another; different queues run concurrently. Default: one queue. */
  queueOf?: (item: Item) => string
  /** Items with one key never share a batch: the later must see the writes of the earlier. */
  keyOf?: (item: Item) => string
  batchMax: number
}

interface QueuedItem<Item, Result> {
  item: Item
  resolve: (outcome: Outcome<Result>) => void
}

/** Runs items together: those that arrive during a statement join the next one; alone, an item goes at once. */
export function createBatcher<Item, Result>(options: BatchOptions<Item, Result>) {
  const { run, queueOf = () => '' } = options
  const queues = new Map<string, QueuedItem<Item, Result>[]>()

  async function drainQueue(queueName: string, queue: QueuedItem<Item, Result>[]): Promise<void> {
    while (queue.length > 0) {
      const batch = takeNextBatch(queue, options)
      const outcomes = await runBatch(
        batch.map(({ item }) => item),
        run,
      )
      for (const [index, { resolve }] of batch.entries())
        resolve(outcomes[index] as Outcome<Result>)
    }
    queues.delete(queueName)
  }

  return async (item: Item): Promise<Result> => {
    const outcome = await new Promise<Outcome<Result>>(resolve => {
      const queueName = queueOf(item)
      const queue = queues.get(queueName)
      if (queue) return queue.push({ item, resolve })
      const newQueue = [{ item, resolve }]
      queues.set(queueName, newQueue)
      return drainQueue(queueName, newQueue)
    })
    if (outcome.ok) return outcome.result
    throw outcome.error
  }
}

/** Removes the next batch, oldest first. An item with a repeated key waits for a later batch. */
function takeNextBatch<Item, Result>(
  queue: QueuedItem<Item, Result>[],
  { keyOf, batchMax }: BatchOptions<Item, Result>,
): QueuedItem<Item, Result>[] {
  if (!keyOf) return queue.splice(0, batchMax)
  const keys = new Set<string>()
  const batch: QueuedItem<Item, Result>[] = []
  const rest: QueuedItem<Item, Result>[] = []
  for (const queued of queue) {
    const key = keyOf(queued.item)
    const belongsToBatch = batch.length < batchMax && !keys.has(key)
    keys.add(key)
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
