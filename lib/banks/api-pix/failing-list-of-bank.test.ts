import { lookup } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { BankClient } from '#lib/banks/api-pix/client.ts'
import { listEntries, listPayments } from '#lib/banks/api-pix/payments.ts'
import type { GatewayResult, Listing } from '#lib/banks/gateway.ts'
import { type BankResponse, StandardBank } from '#lib/testing/standard-bank.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
let bank: StandardBank
beforeEach(async () => {
  bank = await new StandardBank().open()
})
afterEach(() => bank.close())

const profile = { hasMilliseconds: true, pageSize: 100 }
const openClient = () =>
  new BankClient({ ...bank.clientOptions(), lookup: lookup as LookupFunction })
const signal = () => AbortSignal.timeout(60_000)
const lengthOf = (query: URLSearchParams) => {
  const [from = 0, to = 0] = ['inicio', 'fim'].map(name => Date.parse(query.get(name) ?? ''))
  return to - from
}
const lengths = () =>
  bank.requests.filter(({ path }) => path === '/v2/pix').map(({ query }) => lengthOf(query))

/** Periods above `limitMs` fail. */
function failAbove(limitMs: number, reply: BankResponse) {
  const shift = () => {
    const last = bank.requests.at(-1)
    return last?.path === '/v2/pix' && lengthOf(last.query) > limitMs ? reply : undefined
  }
  Object.assign(bank.script, { shift })
}

/** Reads a list as the worker does. Returns null if it does not end. */
async function readAll(read: (cursor: string | null) => Promise<GatewayResult<Listing<unknown>>>) {
  const found: unknown[] = []
  let [failures, cursor] = [0, null as string | null]
  for (let calls = 0; calls < 60; calls++) {
    const page = await read(cursor)
    if (page.outcome === 'ok') {
      found.push(...page.value.items)
      cursor = page.value.nextCursor
      if (cursor === null) return { found, failures }
      continue
    }
    failures++
    cursor = (page.outcome === 'unknown' && page.retryCursor) || null
  }
  return null
}

const HTML = '<html>Gateway Timeout</html>'
test.each<[string, BankResponse]>([
  ['a 504 of its proxy', { status: 504, text: HTML }],
  ['a 500', { status: 500, body: { title: 'Erro interno', status: 500 } }],
  ['more than 8 MiB', { status: 200, text: ' '.repeat(9 * 1024 * 1024) }],
])('a bank that answers long periods with %s is read in shorter ones', async (_, reply) => {
  const paid = bank.receive('10.00', new Date(Date.now() - 3 * HOUR_MS))
  failAbove(HOUR_MS, reply)
  const since = new Date(Date.now() - 5 * HOUR_MS)
  const client = openClient()
  const result = await readAll(cursor => listPayments({ client, profile }, since, cursor, signal()))
  expect(result?.found).toMatchObject([{ endToEndId: paid.endToEndId }])
  // The first failure repeats the period, each one after it halves it, and none is tried again.
  expect(result?.failures).toBe(4)
  const [first = 0, second] = lengths()
  expect(second).toBe(first)
})

test('one failure does not shorten the period', async () => {
  bank.script.push({ status: 503, text: HTML })
  const since = new Date(Date.now() - 5 * HOUR_MS)
  const client = openClient()
  const result = await readAll(cursor => listPayments({ client, profile }, since, cursor, signal()))
  expect(result).toMatchObject({ failures: 1 })
  expect(new Set(lengths()).size).toBe(1)
})

test('a bank that does not respond in time is read in shorter periods', async () => {
  const since = new Date(Date.now() - 4 * HOUR_MS)
  const client = openClient()
  await listPayments({ client, profile }, since, null, signal())
  bank.isHanging = true
  const read = async (cursor: string | null) => {
    const [abort, before] = [new AbortController(), bank.requests.length]
    const page = listPayments({ client, profile }, since, cursor, abort.signal)
    await expect.poll(() => bank.requests.length).toBeGreaterThan(before)
    abort.abort()
    return page
  }
  let cursor: string | null = null
  for (let failures = 0; failures < 3; failures++) {
    const page = await read(cursor)
    if (page.outcome !== 'unknown') expect.unreachable()
    cursor = page.retryCursor ?? expect.unreachable()
  }
  const hours = lengths().map(ms => Math.round(ms / HOUR_MS))
  expect(hours).toEqual([4, 4, 4, 2])
})

test('a period above a day is halved at its first failure, within one reading', async () => {
  failAbove(DAY_MS, { status: 504, text: HTML })
  const client = openClient()
  const list = {
    path: '/pix',
    windowMs: 30 * DAY_MS,
    read: () => ({ items: [], count: 0, unreadable: 0 }),
  }
  const since = new Date(Date.now() - 40 * DAY_MS)
  const result = await readAll(cursor =>
    listEntries({ client, profile }, list, since, cursor, signal()),
  )
  expect(result).toMatchObject({ failures: 0 })
  expect(Math.max(...lengths().slice(5))).toBeLessThanOrEqual(DAY_MS)
})
