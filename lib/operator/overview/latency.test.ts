import { expect, test } from 'vitest'
import { LATENCY_BOUNDS_MS, latencyClassOf, percentileOf } from '#lib/operator/overview/latency.ts'
import fc from '#lib/testing/property.ts'

test('each response time has one class, and a percentile lies in the class of its rank', () => {
  fc.assert(
    fc.property(
      fc.array(fc.double({ min: 0, max: 20_000, noNaN: true }), { minLength: 1, maxLength: 200 }),
      fc.constantFrom(0.5, 0.99, 1),
      (times, part) => {
        const counts = Array<number>(LATENCY_BOUNDS_MS.length + 1).fill(0)
        for (const time of times) {
          const nth = latencyClassOf(time)
          counts[nth] = (counts[nth] ?? 0) + 1
        }
        const exact = times.toSorted((one, other) => one - other)[
          Math.ceil(part * times.length) - 1
        ]
        const nth = latencyClassOf(exact ?? 0)
        const found = percentileOf(counts, part) ?? -1
        expect(found).toBeGreaterThanOrEqual(LATENCY_BOUNDS_MS[nth - 1] ?? 0)
        expect(found).toBeLessThanOrEqual(LATENCY_BOUNDS_MS[nth] ?? 10_000)
      },
    ),
  )
  expect(percentileOf([0, 0], 0.5)).toBeNull()
})
