import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { isDatabaseUnavailable } from '#lib/core/errors.ts'
import { createBatcher, createSharing, runBatch, runConcurrently } from '#lib/db/batch.ts'

interface Item {
  queue: string
  name: string
}

/** Creates a batcher whose statements finish when the test calls `finishAll`. */
function createControlledBatcher(
  max = 200,
  isRefused: (item: Item) => boolean = () => false,
  waitMaxMs?: number,
  runningMax?: number,
) {
  const batches: string[][] = []
  const pendingRuns: (() => void)[] = []
  const submit = createBatcher({
    async run(items: Item[]) {
      batches.push(items.map(item => item.name))
      await new Promise<void>(resolve => pendingRuns.push(resolve))
      const refused = items.find(isRefused)
      if (refused) throw new Error(`${refused.name} is refused`)
      return items.map(item => `${item.name} done`)
    },
    queueOf: item => item.queue,
    keyOf: item => item.name,
    batchMax: max,
    ...(waitMaxMs && { waitMaxMs }),
    ...(runningMax && { runningMax }),
  })
  const finishAll = async () => {
    for (let idleRounds = 0; idleRounds < 3; idleRounds++) {
      await sleep(1)
      for (const finish of pendingRuns.splice(0)) {
        idleRounds = 0
        finish()
      }
    }
  }
  const finishOldest = async () => {
    pendingRuns.shift()?.()
    for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate)
  }
  const submitNamed = (name: string, queue = 'a') => submit({ queue, name })
  return { submit: submitNamed, batches, pendingRuns, finishAll, finishOldest }
}

/** Names from `from` to `to`. */
const numbered = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => `${from + index}`)

describe('batched writes', () => {
  test('the first item runs at once; items that arrive meanwhile share the next batch, in order', async () => {
    const { submit, batches, finishAll } = createControlledBatcher()
    const results = Promise.all(['1', '2', '3', '4'].map(name => submit(name)))
    expect(batches).toEqual([['1']])
    await finishAll()
    expect(batches).toEqual([['1'], ['2', '3', '4']])
    expect(await results).toEqual(['1 done', '2 done', '3 done', '4 done'])
  })

  test('what a caller sends once it has its result joins the batch that follows', async () => {
    const { submit, batches, finishAll } = createControlledBatcher()
    const results = Promise.all([submit('1').then(() => submit('1 again')), submit('2')])
    await finishAll()
    expect(await results).toEqual(['1 again done', '2 done'])
    expect(batches).toEqual([['1'], ['2', '1 again']])
  })

  test('no batch exceeds the maximum size', async () => {
    const { submit, batches, finishAll } = createControlledBatcher(2)
    const results = Promise.all(['1', '2', '3', '4', '5'].map(name => submit(name)))
    await finishAll()
    await results
    expect(batches).toEqual([['1'], ['2', '3'], ['4', '5']])
  })

  test('two items with the same key never share a batch', async () => {
    const { submit, batches, finishAll } = createControlledBatcher()
    const results = Promise.all(['x', '1', '1', '2', '1'].map(name => submit(name)))
    await finishAll()
    await results
    expect(batches).toEqual([['x'], ['1', '2'], ['1'], ['1']])
  })

  test('different queues run concurrently', async () => {
    const { submit, batches, finishAll } = createControlledBatcher()
    const results = Promise.all([submit('1', 'a'), submit('2', 'b'), submit('3', 'a')])
    expect(batches).toEqual([['1'], ['2']])
    await finishAll()
    expect(await results).toEqual(['1 done', '2 done', '3 done'])
  })

  test('a refused item gets the error; the other items get their results', async () => {
    const { submit, finishAll } = createControlledBatcher(200, item => item.name === '3')
    const results = Promise.allSettled(['1', '2', '3', '4'].map(name => submit(name)))
    await finishAll()
    expect(await results).toMatchObject([
      { value: '1 done' },
      { value: '2 done' },
      { reason: { message: '3 is refused' } },
      { value: '4 done' },
    ])
  })

  test('an idle or failed queue runs the next item at once', async () => {
    const { submit, batches, finishAll } = createControlledBatcher(200, item => item.name === 'bad')
    const bad = submit('bad').catch(error => error.message)
    await finishAll()
    expect(await bad).toBe('bad is refused')
    const good = submit('good')
    expect(batches.at(-1)).toEqual(['good'])
    await finishAll()
    expect(await good).toBe('good done')
  })

  test('two batches of a queue run at a time, with an even share of all items', async () => {
    const made = createControlledBatcher(200, undefined, undefined, 2)
    const { submit, batches, pendingRuns, finishAll, finishOldest } = made
    const sizes = () => batches.map(({ length }) => length)
    const results = Promise.all(numbered(1, 64).map(name => submit(name).then(() => submit(name))))
    expect(sizes()).toEqual([1, 16])
    for (let ended = 0; ended < 3; ended++) await finishOldest()
    // Callers of a batch that ended send again: from then on, each batch has half of the 64.
    expect(sizes()).toEqual([1, 16, 32, 32, 32])
    expect(pendingRuns).toHaveLength(2)
    await finishAll()
    expect(await results).toEqual(numbered(1, 64).map(name => `${name} done`))
  })

  test('few items wait for the batch that runs', async () => {
    const made = createControlledBatcher(200, undefined, undefined, 2)
    const { submit, batches, finishAll, finishOldest } = made
    const results = Promise.all(numbered(1, 20).map(name => submit(name)))
    await finishOldest()
    expect(batches).toEqual([['1'], numbered(2, 17)])
    await finishAll()
    await results
    expect(batches.at(-1)).toEqual(numbered(18, 20))
  })

  test('an item waits for one with its key that runs, and for no other', async () => {
    const made = createControlledBatcher(200, undefined, undefined, 2)
    const { submit, batches, finishAll, finishOldest } = made
    const results = Promise.all(['1', '1', ...numbered(2, 17)].map(name => submit(name)))
    expect(batches).toEqual([['1'], numbered(2, 16)])
    await finishOldest()
    await finishOldest()
    expect(batches).toEqual([['1'], numbered(2, 16), ['1', '17']])
    await finishAll()
    await results
  })

  test('what has waited for the whole limit fails as without a database, and never runs', async () => {
    const { submit, batches, finishAll } = createControlledBatcher(200, undefined, 20)
    const first = submit('1')
    await expect(submit('2')).rejects.toSatisfy(isDatabaseUnavailable)
    const next = submit('3')
    await finishAll()
    expect(await Promise.all([first, next])).toEqual(['1 done', '3 done'])
    expect(batches).toEqual([['1'], ['3']])
  })
})

test('if the database is unavailable, a failed batch is not retried item by item', async () => {
  let runs = 0
  const unavailable = Object.assign(new Error('gone'), { code: 'ECONNREFUSED' })
  const outcomes = await runBatch(['a', 'b', 'c'], async () => {
    runs++
    throw unavailable
  })
  expect(outcomes).toEqual(Array(3).fill({ ok: false, error: unavailable }))
  expect(runs).toBe(1)
})

describe('work with limited concurrency', () => {
  test('handles each item once and never exceeds the limit', async () => {
    let running = 0
    let runningMax = 0
    const finished: number[] = []
    await runConcurrently([1, 2, 3, 4, 5, 6, 7], 3, async item => {
      runningMax = Math.max(runningMax, ++running)
      await sleep(item % 2)
      running--
      finished.push(item)
    })
    expect(finished.toSorted()).toEqual([1, 2, 3, 4, 5, 6, 7])
    expect(runningMax).toBe(3)
  })

  test('an item that hangs does not block the other items', async () => {
    const finished: number[] = []
    let release = () => {}
    const blocked = new Promise<void>(resolve => {
      release = resolve
    })
    const all = runConcurrently([0, 1, 2, 3, 4, 5], 2, async item => {
      if (item === 0) await blocked
      finished.push(item)
    })
    await expect.poll(() => finished.length).toBe(5)
    release()
    await all
    expect(finished.at(-1)).toBe(0)
  })
})

describe('shared statements', () => {
  /** Statements wait for `finish` of the test, in order. */
  function createControlledSharing(isRefused: (name: string) => Error | null = () => null) {
    const batches: string[][] = []
    const pending: (() => void)[] = []
    const submit = createSharing<string, string>({
      callerOf: name => name[0] ?? '',
      bytesOf: name => (name.endsWith('large') ? 200_000 : 1),
      async run(items) {
        batches.push(items)
        await new Promise<void>(resolve => pending.push(resolve))
        const error = items.map(isRefused).find(found => found !== null)
        if (error) throw error
        return items.map(item => `${item} done`)
      },
    })
    const finish = async () => {
      pending.shift()?.()
      // The first turn ends the statement, the second begins the next one.
      await nextTurn()
      await nextTurn()
    }
    return { submit, batches, pending, finish }
  }

  /** Two statements run until `finish`, so that what follows waits. */
  async function occupy(submit: (name: string) => Promise<string>) {
    const first = submit('x')
    await nextTurn()
    const second = submit('y')
    await nextTurn()
    return [first, second]
  }

  test('two statements run at a time; what arrives meanwhile goes in the next one, callers in turn, by number and size', async () => {
    const { submit, batches, finish } = createControlledSharing()
    const first = ['a0', 'b0'].map(submit)
    await nextTurn()
    const second = submit('c0')
    await nextTurn()
    expect(batches).toEqual([['a0', 'b0'], ['c0']])
    const names = [
      ...Array.from({ length: 71 }, (_, nth) => `a${nth + 1}`),
      'b1',
      'c1 large',
      'd1 large',
    ]
    const results = Promise.all([...first, second, ...names.map(submit)])
    await nextTurn()
    expect(batches).toHaveLength(2)
    await finish()
    expect(batches[2]).toEqual(['a1', 'b1', 'c1 large', 'd1 large'])
    await finish()
    expect(batches[3]).toHaveLength(64)
    for (let statement = 0; statement < 3; statement++) await finish()
    expect(await results).toEqual(['a0', 'b0', 'c0', ...names].map(name => `${name} done`))
  })

  test('a call that is alone goes at once, unless the one before was not', async () => {
    const { submit, batches, finish } = createControlledSharing()
    const results = [submit('a')]
    await nextTurn()
    await finish()
    results.push(submit('b'))
    expect(batches).toEqual([['a'], ['b']])
    results.push(submit('c'), submit('d'))
    await nextTurn()
    await finish()
    await finish()
    results.push(submit('e'))
    expect(batches).toEqual([['a'], ['b'], ['c', 'd']])
    await nextTurn()
    expect(batches).toEqual([['a'], ['b'], ['c', 'd'], ['e']])
    await finish()
    await Promise.all(results)
  })

  test('statements that wait for a lock do not hold up the next one', async () => {
    const { submit, batches, pending } = createControlledSharing()
    const locked = await occupy(submit)
    const results = Promise.all([...locked, submit('b')])
    await expect.poll(() => batches).toEqual([['x'], ['y'], ['b']])
    for (const finish of pending.toReversed()) finish()
    expect(await results).toEqual(['x done', 'y done', 'b done'])
  })

  test('a refused item fails alone', async () => {
    const { submit, finish } = createControlledSharing(name =>
      name === 'bad' ? new Error('refused') : null,
    )
    const results = Promise.allSettled([submit('a'), submit('bad'), submit('c')])
    await nextTurn()
    for (let statement = 0; statement < 5; statement++) await finish()
    expect((await results).map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'fulfilled',
    ])
  })

  test('without a database, all items of a statement fail at once', async () => {
    const lost = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })
    const { submit, batches, finish } = createControlledSharing(() => lost)
    const results = Promise.allSettled([submit('a'), submit('b'), submit('c')])
    await nextTurn()
    await finish()
    expect((await results).map(({ status }) => status)).toEqual(Array(3).fill('rejected'))
    expect(batches).toEqual([['a', 'b', 'c']])
  })
})
