import { isDatabaseGone } from '#lib/base/errors.ts'

type Outcome<Result> = { ok: true; result: Result } | { ok: false; error: unknown }

/**
 * Each item's own outcome: all in one go, or each alone where that is refused, so that one which
 * cannot be done stands in nobody's way. A database that is gone is not asked item by item.
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
  /** Does them in one statement; gives a result for each, in their order. */
  run: (items: Item[]) => Promise<Result[]>
  /** Items of one queue wait for each other; different queues run side by side. */
  queueOf: (item: Item) => string
  /** Two of one name never go in one batch: the second sees what the first has done. */
  nameOf: (item: Item) => string
  most: number
}

interface Waiting<Item, Result> {
  item: Item
  done: (outcome: Outcome<Result>) => void
}

/**
 * For rows that everybody writes at once: while one statement is under way, what arrives waits and
 * goes together in the next. Each caller gets its own result, or its own error.
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

/** The oldest, in their order; the second of a name stays where it is. */
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

/** Works on all of them, some at a time: one that takes long holds up no more than its own lane. */
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
