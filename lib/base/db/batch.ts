import { isDatabaseGone } from '#lib/base/errors.ts'

type Outcome<Result> = { ok: true; result: Result } | { ok: false; error: unknown }

/**
 * Runs all items together and, if that fails, each one alone, so that one bad item cannot fail the
 * others. If the database is unavailable, all fail at once. Returns one outcome per item.
 */
export async function together<Item, Result>(
  items: Item[],
  run: (items: Item[]) => Promise<Result[]>,
): Promise<Outcome<Result>[]> {
  try {
    const results = await run(items)
    return items.map((_, nth) => ({ ok: true, result: results[nth] as Result }))
  } catch (error) {
    if (items.length === 1 || isDatabaseGone(error)) return items.map(() => ({ ok: false, error }))
  }
  const outcomes: Outcome<Result>[] = []
  for (const item of items) outcomes.push(...(await together([item], run)))
  return outcomes
}

interface Batching<Item, Result> {
  /** Runs all items in one statement and returns one result per item, in order. */
  run: (items: Item[]) => Promise<Result[]>
  /** Batches of one queue run one after another; different queues run concurrently. */
  queueOf: (item: Item) => string
  /** Two items of the same name never share a batch: the second must see the first one's writes. */
  nameOf: (item: Item) => string
  most: number
}

interface Waiting<Item, Result> {
  item: Item
  done: (outcome: Outcome<Result>) => void
}

/**
 * Batches writes to contended rows: items that arrive while a statement runs are collected into the
 * next one. Each caller gets its own result or error.
 */
export function batched<Item, Result>(batching: Batching<Item, Result>) {
  const { run, queueOf } = batching
  const queues = new Map<string, Waiting<Item, Result>[]>()

  async function work(name: string, queue: Waiting<Item, Result>[]): Promise<void> {
    while (queue.length > 0) {
      const batch = takeNext(queue, batching)
      const outcomes = await together(
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
      const fresh = [{ item, done }]
      queues.set(name, fresh)
      return work(name, fresh)
    })
    if (outcome.ok) return outcome.result
    throw outcome.error
  }
}

/** Removes the next batch from the queue, oldest first; a repeated name waits for a later batch. */
function takeNext<Item, Result>(
  queue: Waiting<Item, Result>[],
  { nameOf, most }: Batching<Item, Result>,
): Waiting<Item, Result>[] {
  const names = new Set<string>()
  const batch: Waiting<Item, Result>[] = []
  const left: Waiting<Item, Result>[] = []
  for (const waiting of queue) {
    const name = nameOf(waiting.item)
    const goes = batch.length < most && !names.has(name)
    names.add(name)
    ;(goes ? batch : left).push(waiting)
  }
  queue.splice(0, queue.length, ...left)
  return batch
}

export async function sideBySide<Item>(
  items: Item[],
  most: number,
  work: (item: Item) => Promise<unknown>,
): Promise<void> {
  const left = items.values()
  const lane = async () => {
    for (const item of left) await work(item)
  }
  await Promise.all(Array.from({ length: Math.min(most, items.length) }, lane))
}
