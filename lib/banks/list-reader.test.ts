import { setImmediate } from 'node:timers/promises'
import { beforeAll, expect, test } from 'vitest'
import { createListReader, type ListTask } from '#lib/banks/list-reader.ts'
import { StubBank } from '#lib/testing/bank.ts'
import { addConnection } from '#lib/testing/connection.ts'
import { inOwnDatabase } from '#lib/testing/fixtures.ts'

inOwnDatabase()

const HOUR_MS = 3_600_000
const DOWN = { outcome: 'retryable', reason: 'down' } as const
const page = (items: string[], nextCursor: string | null) =>
  ({ outcome: 'ok', value: { items, nextCursor } }) as const

let good: string
let bad: string
beforeAll(async () => {
  good = await addConnection(new StubBank())
  bad = await addConnection(new StubBank())
})

/** A reader of the lists `readPage`, with a clock, what it booked and the positions it read. */
function observe(
  readPage: (connectionId: string, cursor: string | null) => ReturnType<typeof page> | typeof DOWN,
  changes: Partial<ListTask<string>> = {},
) {
  const [booked, positions] = [[] as string[], [] as (string | null)[]]
  const clock = { at: 0 }
  const reader = createListReader<string>({
    name: 'items',
    everyMs: HOUR_MS,
    findSince: async () => new Date(0),
    open: ({ id }) =>
      id === good || id === bad
        ? async (_, cursor) => {
            positions.push(cursor)
            await setImmediate()
            return readPage(id, cursor)
          }
        : undefined,
    book: async (_, item) => booked.push(item),
    now: () => clock.at,
    ...changes,
  })
  const run = async (signal?: AbortSignal) => {
    await reader.run(signal)
    await reader.idle()
  }
  return { reader, run, clock, booked, positions }
}

test('a list that never ends holds up no other, and ends with the process', async () => {
  const stop = new AbortController()
  const { promise: isGoodRead, resolve } = Promise.withResolvers()
  const { reader, booked } = observe(id => (id === bad ? page([], 'on') : page(['x'], null)), {
    book: async (_, item) => resolve(booked.push(item)),
  })
  await reader.run(stop.signal)
  await isGoodRead
  stop.abort()
  await reader.idle()
  expect(booked).toEqual(['x'])
})

test('a list that never ends is given up after a number of pages', async () => {
  const { run, positions } = observe(id => (id === bad ? page([], 'on') : page([], null)), {
    pagesMax: 7,
  })
  await run()
  expect(positions).toHaveLength(7 + 1)
})

test('a page that cannot be read is read again after a minute, and those before are not', async () => {
  let isDown = true
  const { run, clock, positions, booked } = observe((id, cursor) => {
    if (id === good) return page([], null)
    if (cursor === null) return page(['1'], '2')
    return isDown ? DOWN : page(['2'], null)
  })
  await run()
  isDown = false
  clock.at = 59_999
  await run()
  expect(booked).toEqual(['1'])
  clock.at = 60_000
  await run()
  expect(booked).toEqual(['1', '2'])
  expect(positions.filter(position => position === null)).toHaveLength(2)
  clock.at += HOUR_MS
  await run()
  expect(booked).toEqual(['1', '2', '1', '2'])
})

test('a position that leads nowhere five times is given up', async () => {
  const { run, clock, booked } = observe((id, cursor) =>
    id === good ? page([], null) : cursor === null ? page(['1'], 'gone') : DOWN,
  )
  for (let times = 0; times < 6; times++, clock.at += 60_000) await run()
  expect(booked).toEqual(['1', '1'])
})

test('an item that cannot be booked keeps no other from being booked', async () => {
  const booked: string[] = []
  const { run } = observe(id => page(id === bad ? ['1', 'bad', '3'] : [], null), {
    async book(_, item) {
      if (item === 'bad') throw new Error('cannot be stored')
      booked.push(item)
    },
  })
  await run()
  expect(booked).toEqual(['1', '3'])
})
