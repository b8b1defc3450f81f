import { expect, test } from 'vitest'
import { drain, type FullTimes, listOpenKeyTypes, takeToken } from '#lib/rooms/withdrawals/pace.ts'
import fc from '#lib/testing/property.ts'

const DOCUMENTS = {
  name: 'A',
  keyTypes: ['cpf', 'cnpj', 'random'],
  capacity: 3,
  refillMs: 1_000,
} as const
const CONTACTS = { name: 'B', keyTypes: ['phone', 'email'], capacity: 1, refillMs: 60_000 } as const
const BUCKETS = [DOCUMENTS, CONTACTS]

test('each type of key takes from its bucket, and from no other', () => {
  const fullTimes = takeToken(BUCKETS, {}, 0, 'email')
  expect(listOpenKeyTypes(BUCKETS, fullTimes, 0)).toEqual(['cpf', 'cnpj', 'random'])
  expect(listOpenKeyTypes(BUCKETS, fullTimes, 59_999)).not.toContain('phone')
  expect(listOpenKeyTypes(BUCKETS, fullTimes, 60_000)).toContain('phone')
})

test('without buckets every type is open, however many payouts are sent', () => {
  const fullTimes = takeToken([], {}, 0, 'cpf')
  expect(fullTimes).toEqual({})
  expect(listOpenKeyTypes([], fullTimes, 0)).toHaveLength(5)
})

test('a bucket that the bank reports as empty opens for one payout after the pause', () => {
  const drained = drain(DOCUMENTS, {}, 0, 5_000)
  expect(listOpenKeyTypes(BUCKETS, drained, 4_999)).not.toContain('cpf')
  expect(listOpenKeyTypes(BUCKETS, drained, 5_000)).toContain('cpf')
  const taken = takeToken(BUCKETS, drained, 5_000, 'cpf')
  expect(listOpenKeyTypes(BUCKETS, taken, 5_999)).not.toContain('cpf')
  expect(listOpenKeyTypes(BUCKETS, taken, 6_000)).toContain('cpf')
})

test('in any time a bucket gives at most its capacity and what is refilled meanwhile', () => {
  const pauses = fc.array(fc.integer({ min: 0, max: 2_500 }), { minLength: 1, maxLength: 60 })
  fc.assert(
    fc.property(pauses, steps => {
      const taken: number[] = []
      let [now, fullTimes]: [number, FullTimes] = [0, {}]
      for (const pauseMs of steps) {
        now += pauseMs
        if (!listOpenKeyTypes(BUCKETS, fullTimes, now).includes('cpf')) continue
        fullTimes = takeToken(BUCKETS, fullTimes, now, 'cpf')
        taken.push(now)
      }
      for (const [first, from] of taken.entries())
        for (const [last, to] of taken.entries())
          if (last >= first)
            expect(last - first + 1).toBeLessThanOrEqual(DOCUMENTS.capacity + (to - from) / 1_000)
      // A bucket that was not used for long enough is full again.
      expect(listOpenKeyTypes(BUCKETS, fullTimes, now + 1_000)).toContain('cpf')
    }),
  )
})
