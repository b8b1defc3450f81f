import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { newRoutableId } from '#lib/core/ids.ts'
import { call } from '#lib/testing/call.ts'
import { type Api, CHARGE, startApiWithMerchant } from '#lib/testing/fixtures.ts'
import { LISTS } from '#lib/testing/lists.ts'

let api: Api
let merchant: Account
let token: string

/** Names of charges by id: `a` is the oldest. */
const names = new Map<string, string>()

async function insert(name: string, fields: Record<string, unknown>) {
  const createdAt = new Date(Date.UTC(2026, 2, 1, names.size))
  const id = newRoutableId(merchant.id, createdAt)
  const [charges] = LISTS
  await charges?.insert(merchant.id, { id, createdAt, externalId: `order-${name}`, ...fields })
  names.set(id, name)
}

function payment(at: string) {
  return {
    status: 'paid',
    paidAt: new Date(at),
    endToEndId: `E${at.replaceAll(/\D/g, '').padStart(31, '0')}`,
  }
}

beforeAll(async () => {
  ;({ api, merchant, token } = await startApiWithMerchant())
  await insert('a', { ...payment('2026-03-10T12:00:00Z'), metadata: { order: 1048 } })
  await insert('b', { status: 'expired', metadata: { order: '1048', store: 'centro' } })
  await insert('c', { ...payment('2026-03-05T00:00:00Z'), metadata: { gift: true } })
  await insert('d', { metadata: { 'a[b]': 'y', nested: { order: 1048 } } })
  await insert('e', { status: 'failed' })
  await insert('f', { ...payment('2026-03-05T23:59:59.999Z'), amount: 9_900 })
})
afterAll(() => api.close())

async function find(query: string): Promise<string> {
  const { status, body, text } = await call(api.url, 'GET', `/transactions?${query}`, { token })
  expect([status, text.slice(0, 300)]).toEqual([200, expect.anything()])
  return body.data.map(({ id }: { id: string }) => names.get(id)).join('')
}

describe('GET /transactions', () => {
  test.each([
    ['status=paid&status=failed', 'feca'],
    ['status=pending&status=expired&status=pending', 'db'],
    ['status=expired', 'b'],
    ['status=&status=failed', 'e'],
    ['min_amount=9900', 'f'],
    ['max_amount=9899&status=paid', 'ca'],
    ['paid_from=2026-03-05&paid_to=2026-03-06', 'fc'],
    ['paid_from=2026-03-05T00:00:00.000001Z', 'fa'],
    ['paid_to=2026-03-05T21:00:00-03:00', 'fc'],
    ['paid_to=2026-03-05T23:59:59.999Z', 'c'],
    ['paid_from=2026-03-11', ''],
    ['paid_to=2026-03-06&min_amount=9900&created_from=2026-03-01', 'f'],
    ['metadata[order]=1048', 'ba'],
    ['metadata%5Border%5D=1048&metadata[store]=centro', 'b'],
    ['metadata[order]=1048&paid_from=2026-03-01', 'a'],
    ['metadata[order]=1048&q=order-c', ''],
    ['metadata[order]=1048&q=order-b', 'b'],
    ['paid_to=2026-03-06&q=order-c', 'c'],
    ['metadata[gift]=true', 'c'],
    ['metadata[a[b]]=y', 'd'],
    ['metadata[order]=10', ''],
    ['metadata[nested]=1048', ''],
  ])('%s', async (query, expected) => {
    expect(await find(query)).toBe(expected)
  })

  test('a key of metadata may be named __proto__', async () => {
    const raw = JSON.stringify(CHARGE).replace('}', ',"metadata":{"__proto__":"x"}}')
    const { body } = await call(api.url, 'POST', '/transactions', { token, raw })
    names.set(body.data.transaction_id, 'g')
    expect(await find('metadata[__proto__]=x')).toBe('g')
    expect(await find('metadata[__proto__]=y')).toBe('')
  })

  test('pages contain each match once', async () => {
    for (const query of [
      'paid_from=2026-03-01',
      'status=paid&status=pending',
      'metadata[order]=1048',
    ]) {
      let found = ''
      let cursor: string | null = ''
      while (cursor !== null) {
        const path: string = `/transactions?${query}&limit=1${cursor && `&cursor=${cursor}`}`
        const { body } = await call(api.url, 'GET', path, { token })
        found += body.data.map(({ id }: { id: string }) => names.get(id)).join('')
        cursor = body.next_cursor
      }
      expect(found).toBe(await find(query))
    }
  })

  test.each([
    ['status=paid&status=open', 'status'],
    ['status=paid,failed', 'status'],
    ['paid_from=yesterday', 'paid_from'],
    ['paid_from=2026-03-01&paid_from=2026-03-02', 'paid_from'],
    ['metadata=1048', 'metadata'],
    ['metadata[]=1048', 'metadata'],
    ['metadata[order]=1&metadata[order]=2', 'metadata[order]'],
    ['metadata[%ff]=1', 'metadata[\ufffd]'],
    ['metadata[a%00]=1', 'metadata'],
    [`metadata[a]=${'x'.repeat(256)}`, 'metadata'],
    [Array.from({ length: 21 }, (_, nth) => `metadata[${nth}]=1`).join('&'), 'metadata'],
    ['metadatas[order]=1', 'metadatas[order]'],
    ['status[a]=paid', 'status[a]'],
    ['amount_from=1', 'amount_from'],
  ])('422 for %s', async (query, name) => {
    const { status, body } = await call(api.url, 'GET', `/transactions?${query}`, { token })
    expect([status, Object.keys(body.errors)]).toEqual([422, [name]])
  })

  test.each([
    ['status=paid,failed', 'status', /; repeat the parameter for several$/],
    ['paid_from=2026-11-21T03:00:00+03:00', 'paid_from', /write \+ as %2B/],
    ['metadata[]=1048', 'metadata', /^metadata must be sent as name\[key\]=value/],
  ])('422 for %s, which says what to do', async (query, name, message) => {
    const { status, body } = await call(api.url, 'GET', `/transactions?${query}`, { token })
    expect([status, body.errors[name]]).toEqual([422, [expect.stringMatching(message)]])
  })
})
