import { afterEach, expect, test, vi } from 'vitest'
import { withLogContext } from '#lib/core/log.ts'
import { readWithinBudget } from '#lib/db/sql.ts'

const BUDGET = 1_024 * 1_024

/** Reads that have begun, in this order, each with the call that ends it. */
const begun: { account: string; end: (bytes: number | Error) => void }[] = []
const pending: Promise<unknown>[] = []

function read(account: string, count = 1): void {
  const work = () =>
    new Promise<{ bytes: number }>((resolve, reject) => {
      const end = (bytes: number | Error) =>
        typeof bytes === 'number' ? resolve({ bytes }) : reject(bytes)
      begun.push({ account, end })
    })
  for (let nth = 0; nth < count; nth++) {
    const reading = withLogContext({ accountId: account }, () => readWithinBudget(work))
    reading.catch(() => {})
    pending.push(reading)
  }
}

const endFirst = (bytes: number | Error) => begun.shift()?.end(bytes)
const expectBegun = (...accounts: string[]) =>
  vi.waitFor(() => expect(begun.map(({ account }) => account)).toEqual(accounts))

afterEach(async () => {
  const ending = setInterval(() => endFirst(0))
  await Promise.allSettled(pending.splice(0))
  clearInterval(ending)
  expect(begun).toEqual([])
})

test('large reads of one account follow one another, and another account waits for none', async () => {
  read('noisy', 3)
  for (let nth = 0; nth < 2; nth++) {
    await expectBegun('noisy')
    read('quiet')
    await expectBegun('noisy', 'quiet')
    endFirst(BUDGET)
    endFirst(100)
  }
  await expectBegun('noisy')
})

test('small reads run at the same time, once the first has shown their size', async () => {
  read('small', 60)
  await expectBegun('small')
  endFirst(BUDGET / 16)
  await expectBegun(...Array(16).fill('small'))
})

test('reads after empty ones begin 16 at a time: the next may be large', async () => {
  read('empty')
  await expectBegun('empty')
  endFirst(0)
  await Promise.all(pending)
  read('empty', 40)
  await expectBegun(...Array(16).fill('empty'))
})

test('a small read among large ones does not make them run at the same time', async () => {
  read('mixed', 5)
  await expectBegun('mixed')
  endFirst(BUDGET)
  await expectBegun('mixed')
  endFirst(100)
  await expectBegun('mixed')
})

test('a read that fails makes room for the next', async () => {
  read('unlucky', 2)
  await expectBegun('unlucky')
  endFirst(new Error('the connection was lost'))
  await expectBegun('unlucky')
})

test('work of the process itself is not limited', async () => {
  const reads = Array.from({ length: 2 }, () => {
    const { promise, resolve } = Promise.withResolvers<{ bytes: number }>()
    return { done: readWithinBudget(() => promise), resolve }
  })
  for (const { done, resolve } of reads.reverse()) {
    resolve({ bytes: BUDGET })
    await done
  }
})

test('a read that waits 30 s for its turn is refused with the time to try again', async () => {
  vi.useFakeTimers()
  read('stuck', 2)
  const refused = expect(pending[1]).rejects.toMatchObject({
    code: 'too_many_requests',
    retryAfterS: 1,
  })
  await vi.advanceTimersByTimeAsync(30_000)
  vi.useRealTimers()
  await refused
})
