import { expect, test } from 'vitest'
import { payWelcomeCharge, simulateCharge } from '#lib/charges/simulate.ts'
import { db } from '#lib/db/client.ts'
import { countRequest, storeRequestCounts } from '#lib/http/request-counts.ts'
import { LATENCY_BOUNDS_MS, latencyClassOf, percentileOf, sumUp } from '#lib/operator/overview.ts'
import { call } from '#lib/testing/call.ts'
import {
  expectBalancedLedger,
  inOwnDatabase,
  makeMerchant,
  makeToken,
  openCharge,
  startApi,
} from '#lib/testing/fixtures.ts'
import fc from '#lib/testing/property.ts'
import { pruneRequestCounts } from '#lib/worker/prune.ts'

inOwnDatabase()

const HOUR_MS = 3_600_000

test('charges of all accounts are summed by the time of their payment and of their creation', async () => {
  const [first, second] = await Promise.all([makeMerchant(), makeMerchant()])
  const charges = [await openCharge(first, 1_000), await openCharge(second, 2_500)]
  await openCharge(second)
  await simulateCharge(first.id, charges[0]?.id ?? '', 'paid')
  await simulateCharge(second.id, charges[1]?.id ?? '', 'paid')
  // It is a payment, but nobody had to pay it.
  await payWelcomeCharge(first)
  const none = { paid_amount: 0, paid_count: 0, created: 0, converted: 0 }
  const expected = { paid_amount: 103_500, paid_count: 3, created: 3, converted: 2 }
  for (const [span, count] of [
    ['24h', 24],
    ['7d', 28],
    ['30d', 30],
  ] as const) {
    const { intervals, total } = await sumUp(span)
    expect(intervals).toHaveLength(count)
    expect(total.test).toEqual(expected)
    expect(total.live).toEqual(none)
    // The present interval is the last one, unless the hour has just ended.
    expect(intervals.slice(-2).reduce((sum, interval) => sum + interval.test.paid_amount, 0)).toBe(
      103_500,
    )
  }
  const tomorrow = await sumUp('24h', Date.now() + 25 * HOUR_MS)
  expect(tomorrow.total.test).toEqual(none)
  for (const { id } of [first, second]) await expectBalancedLedger(id)
})

test('requests with a token are counted by status and time, once each, also by several processes', async () => {
  // Other test files of this process have sent requests, too.
  await storeRequestCounts()
  await db().requestCount.deleteMany()
  const api = await startApi()
  const token = await makeToken((await makeMerchant()).id)
  const statuses = [
    (await call(api.url, 'GET', '/account', { token })).status,
    (await call(api.url, 'GET', '/transactions/none', { token })).status,
    (await call(api.url, 'GET', '/account', { token: `${token}x` })).status,
    (await call(api.url, 'GET', '/account')).status,
  ]
  expect(statuses).toEqual([200, 404, 401, 401])
  await storeRequestCounts()
  const first = (await sumUp('24h')).total
  expect(first).toMatchObject({ requests: 3, refused: 2, limited: 0, failed: 0 })
  expect(first.p50).toBeGreaterThan(0)

  countRequest(429, 3)
  countRequest(503, 9_000)
  const other = { succeeded: 4, refused: 0, limited: 0, failed: 0, latencies: [4] }
  const hour = new Date(Math.floor(Date.now() / HOUR_MS) * HOUR_MS - HOUR_MS)
  await db().requestCount.create({ data: { hour, ...other } })
  await Promise.all([storeRequestCounts(), storeRequestCounts()])
  await storeRequestCounts()
  const { total } = await sumUp('24h')
  expect(total).toMatchObject({ requests: 9, refused: 2, limited: 1, failed: 1 })
  expect(total.p99).toBeGreaterThan(5_000)
  await api.close()
})

test('counts older than the longest span are pruned, and no others', async () => {
  await db().requestCount.deleteMany()
  const counts = { succeeded: 1, refused: 0, limited: 0, failed: 0, latencies: [1] }
  const hours = [31, 33].map(days => new Date(Date.now() - days * 24 * HOUR_MS))
  await db().requestCount.createMany({ data: hours.map(hour => ({ hour, ...counts })) })
  expect(await pruneRequestCounts()).toBe(1)
  expect((await db().requestCount.findMany()).map(({ hour }) => hour)).toEqual([hours[0]])
})

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
