import { expect, test } from 'vitest'
import { Pace } from '#lib/banks/api-pix/client.ts'
import fc from '#lib/testing/property.ts'

test('no second has more calls than a burst and its rate, and a call that must wait too long takes no turn', () => {
  const rate = 10
  fc.assert(
    fc.property(fc.array(fc.nat(300), { minLength: 1, maxLength: 200 }), pauses => {
      const pace = new Pace(rate)
      const calls: number[] = []
      let now = 0
      for (const pause of pauses) {
        now += pause
        const waitMs = pace.take(500, now)
        if (waitMs <= 500) calls.push(now + waitMs)
      }
      for (const start of calls) {
        const within = calls.filter(at => at >= start && at < start + 1_000)
        expect(within.length).toBeLessThanOrEqual(2 * rate)
      }
    }),
  )
})

test('a burst of one second is not delayed, and an idle time earns no more', () => {
  const pace = new Pace(5)
  const take = (now: number) => Math.round(pace.take(10_000, now))
  expect(Array.from({ length: 7 }, () => take(0))).toEqual([0, 0, 0, 0, 0, 200, 400])
  expect(Array.from({ length: 6 }, () => take(60_000))).toEqual([0, 0, 0, 0, 0, 200])
})
