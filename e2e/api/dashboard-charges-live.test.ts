import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { simulateCharge } from '#lib/charges/simulate.ts'
import { newId } from '#lib/core/ids.ts'
import { renderMetrics } from '#lib/core/metrics.ts'
import { env } from '#lib/core/settings.ts'
import { countWatchers } from '#lib/dashboard/live.ts'
import { announceShutdown } from '#lib/db/wake.ts'
import { call } from '#lib/testing/call.ts'
import { createPaidCharge } from '#lib/testing/deliveries.ts'
import { query } from '#lib/testing/embedded.ts'
import { type Api, makeMerchant, openCharge, startApi } from '#lib/testing/fixtures.ts'
import { pageHeaders, refusal, signIn } from '#lib/testing/member.ts'
import { testInTorture } from '#lib/testing/torture.ts'

const NOT_FOUND = [404, '{"error":"Transaction not found"}', 'transaction_not_found']

let api: Api
let merchant: Account
let secret: string
beforeAll(async () => {
  api = await startApi()
})
beforeEach(async () => {
  merchant = await makeMerchant()
  secret = await signIn(merchant, 'viewer')
})
afterAll(() => api.close())

const headers = () => pageHeaders(secret, merchant.id)
const request = (id: string) =>
  call(api.url, 'GET', `/dashboard/charges/${id}/live`, { headers: headers() })

/** Listens as a page does and collects the events with their time. */
async function listen(id: string) {
  const hangUp = new AbortController()
  const { signal } = hangUp
  const address = `${api.url}/api/dashboard/charges/${id}/live`
  const response = await fetch(address, { headers: headers(), signal })
  const heard: { status: string; at: number }[] = []
  let isOver = false
  const reading = (async () => {
    const decoder = new TextDecoder()
    for await (const chunk of response.body ?? []) {
      for (const [, data] of decoder.decode(chunk).matchAll(/^data: (.*)$/gm)) {
        heard.push({ ...JSON.parse(data ?? ''), at: performance.now() })
      }
    }
  })()
    .catch(() => {})
    .then(() => {
      isOver = true
    })
  return { response, heard, hangUp, reading, isOver: () => isOver }
}
const statuses = (heard: { status: string }[]) => heard.map(event => event.status)

/**
 * Returns the median of three measurements: a busy machine may delay one, and regular polling may
 * shorten one.
 */
async function medianMs(measure: () => Promise<number>): Promise<number> {
  const tookMs = [await measure(), await measure(), await measure()]
  return tookMs.toSorted((one, other) => one - other)[1] as number
}

test('a live charge sends its status, and the status paid within a second of the payment', async () => {
  const tookMs = await medianMs(async () => {
    const { id } = await openCharge(merchant)
    const { response, heard, hangUp, reading } = await listen(id)
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    await expect.poll(() => statuses(heard)).toEqual(['pending'])
    const paidAt = performance.now()
    await simulateCharge(merchant.id, id, 'paid')
    await expect.poll(() => statuses(heard)).toContain('paid')
    hangUp.abort()
    await reading
    return (heard.at(-1)?.at ?? Number.POSITIVE_INFINITY) - paidAt
  })
  expect(tookMs).toBeLessThan(1_000)
})

test('a stream is counted once, when it begins: its length is no response time', async () => {
  // Test files share a process: the route has a series per mode and code, in the order of their
  // first request.
  const countStreams = () => {
    const series =
      /^troco_http_requests_total\{route="\/dashboard\/charges\/\{id\}\/live",.* (\d+)$/gm
    const counts = [...renderMetrics([]).matchAll(series)].map(([, count]) => Number(count))
    return counts.reduce((sum, count) => sum + count, 0)
  }
  const before = countStreams()
  const { id } = await openCharge(merchant)
  for (const nth of [1, 2]) {
    const { heard, hangUp, reading } = await listen(id)
    await expect.poll(() => statuses(heard)).toEqual(['pending'])
    await expect.poll(countStreams).toBe(before + nth)
    hangUp.abort()
    await reading
    await expect.poll(() => countWatchers(merchant.id)).toBe(0)
  }
  expect(countStreams()).toBe(before + 2)
})

testInTorture('a live charge receives changes of other processes through NOTIFY', async () => {
  const url = env().DATABASE_URL ?? ''
  const listenersSql = `SELECT 1 FROM pg_stat_activity
    WHERE application_name = 'troco listener' AND datname = current_database() AND state = 'idle'`
  const tookMs = await medianMs(async () => {
    const { id } = await openCharge(merchant)
    const { heard, hangUp, reading } = await listen(id)
    await expect.poll(() => statuses(heard)).toEqual(['pending'])
    await expect.poll(async () => (await query(url, listenersSql)).length).toBeGreaterThan(0)
    // Waits for the read that follows the first event, so that only the notification causes the
    // next.
    await sleep(600)
    const changedAt = performance.now()
    await query(url, `UPDATE charges SET viewed_at = now() WHERE id = '${id}'`)
    await query(url, "SELECT pg_notify('troco', 'somebody deliveries')")
    await expect.poll(() => heard.length).toBe(2)
    hangUp.abort()
    await reading
    return (heard.at(-1)?.at ?? Number.POSITIVE_INFINITY) - changedAt
  })
  expect(tookMs).toBeLessThan(1_000)
})

testInTorture(
  'a live charge detects changes without a notification within seconds',
  async () => {
    const { id } = await openCharge(merchant)
    const { heard, hangUp, reading } = await listen(id)
    await expect.poll(() => heard.length).toBe(1)
    await sleep(300)
    await query(env().DATABASE_URL ?? '', `UPDATE charges SET viewed_at = now() WHERE id = '${id}'`)
    await expect.poll(() => heard.length, { timeout: 7_000 }).toBe(2)
    hangUp.abort()
    await reading
  },
  15_000,
)

test('a live charge sends only events of its own charge', async () => {
  const [first, second] = [await openCharge(merchant), await openCharge(merchant)]
  const listeners = [await listen(first.id), await listen(second.id)]
  for (const { heard } of listeners) await expect.poll(() => heard.length).toBe(1)
  await simulateCharge(merchant.id, first.id, 'paid')
  await expect.poll(() => statuses(listeners[0]?.heard ?? [])).toContain('paid')
  await sleep(500)
  expect(statuses(listeners[1]?.heard ?? [])).toEqual(['pending'])
  for (const { hangUp } of listeners) hangUp.abort()
})

test('a live charge is unsubscribed at once when a client disconnects', async () => {
  const { id } = await openCharge(merchant)
  const listeners = [await listen(id), await listen(id)]
  await expect.poll(() => countWatchers(merchant.id)).toBe(2)
  listeners[0]?.hangUp.abort()
  await expect.poll(() => countWatchers(merchant.id)).toBe(1)
  listeners[1]?.hangUp.abort()
  await expect.poll(() => countWatchers(merchant.id)).toBe(0)
})

test('an account may have at most twenty live charges open; other accounts are not affected', async () => {
  const { id } = await openCharge(merchant)
  const listeners = await Promise.all(Array.from({ length: 20 }, () => listen(id)))
  await expect.poll(() => countWatchers(merchant.id)).toBe(20)
  const refused = await request(id)
  expect([refused.status, refused.headers.get('x-error-code')]).toEqual([409, 'limit_reached'])
  const [ownMerchant, ownSecret] = [merchant, secret]
  merchant = await makeMerchant()
  secret = await signIn(merchant, 'owner')
  const otherListener = await listen((await openCharge(merchant)).id)
  expect(otherListener.response.status).toBe(200)
  otherListener.hangUp.abort()
  ;[merchant, secret] = [ownMerchant, ownSecret]
  for (const { hangUp } of listeners) hangUp.abort()
  await expect.poll(() => countWatchers(merchant.id)).toBe(0)
})

test('a live charge ends when the process shuts down', async () => {
  const { id } = await openCharge(merchant)
  const { heard, reading, isOver } = await listen(id)
  await expect.poll(() => heard.length).toBe(1)
  announceShutdown()
  await reading
  expect(isOver()).toBe(true)
  expect(countWatchers(merchant.id)).toBe(0)
})

testInTorture(
  'a live charge ends after the member has signed out',
  async () => {
    const { id } = await openCharge(merchant)
    const { heard, isOver } = await listen(id)
    await expect.poll(() => heard.length).toBe(1)
    await query(
      env().DATABASE_URL ?? '',
      `UPDATE user_sessions SET revoked_at = now() WHERE user_id IN (
      SELECT user_id FROM memberships WHERE account_id = '${merchant.id}')`,
    )
    await expect.poll(isOver, { timeout: 20_000, interval: 500 }).toBe(true)
  },
  30_000,
)

test('a live charge returns 404 for other accounts and keeps no subscription for HEAD', async () => {
  const foreignId = (await openCharge(await makeMerchant())).id
  for (const id of [newId(), 'x', "'%00", foreignId].map(encodeURIComponent)) {
    expect(refusal(await request(id)), id).toEqual(NOT_FOUND)
  }
  const id = await createPaidCharge(merchant)
  const address = `${api.url}/api/dashboard/charges/${id}/live`
  expect((await fetch(address, { method: 'HEAD', headers: headers() })).status).toBe(200)
  expect(countWatchers(merchant.id)).toBe(0)
})
