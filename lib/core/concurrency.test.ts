import { expect, test, vi } from 'vitest'
import { Pool } from '#lib/core/concurrency.ts'

const logFailure = vi.fn()

test('each key has its own limit', async () => {
  const pool = new Pool({ perKeyMax: 2 })
  const hanging = Promise.withResolvers<void>()
  pool.start(hanging.promise, logFailure, 'a')
  pool.start(hanging.promise, logFailure, 'a')
  expect([pool.free('a'), pool.free('b')]).toEqual([0, 2])
  hanging.resolve()
  await pool.idle()
  expect(pool.free('a')).toBe(2)
})

test('work that fails is reported, and stops no other', async () => {
  const pool = new Pool()
  const error = new Error('failed')
  const failed = pool.start(Promise.reject(error), logFailure)
  const other = vi.fn()
  pool.start(Promise.resolve().then(other), logFailure, 'other')
  await expect(failed).resolves.toBeUndefined()
  await pool.idle()
  expect(logFailure).toHaveBeenCalledWith(error)
  expect(other).toHaveBeenCalledOnce()
})

test('idle awaits also what begins meanwhile', async () => {
  const pool = new Pool()
  const order: string[] = []
  const second = async () => void order.push('second')
  const first = Promise.resolve().then(() => {
    order.push('first')
    pool.start(Promise.resolve().then(second), logFailure, 'second')
  })
  pool.start(first, logFailure, 'first')
  await pool.idle()
  expect(order).toEqual(['first', 'second'])
})

test('freed capacity is reported once for what ends together, and at once when nothing is left', async () => {
  const onCapacity = vi.fn()
  const pool = new Pool({ perKeyMax: 10, onCapacity })
  const slow = Promise.withResolvers<void>()
  for (let count = 0; count < 5; count++) pool.start(Promise.resolve(), logFailure)
  pool.start(slow.promise, logFailure)
  await expect.poll(() => onCapacity.mock.calls.length).toBe(1)
  slow.resolve()
  await pool.idle()
  expect(onCapacity).toHaveBeenCalledTimes(2)
})

test('abort passes a signal to the work, and does not end it', async () => {
  const pool = new Pool()
  const work = Promise.withResolvers<void>()
  pool.signal.addEventListener('abort', () => work.resolve())
  pool.start(work.promise, logFailure)
  pool.abort()
  await pool.idle()
  expect(pool.signal.aborted).toBe(true)
})
