import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { listCharges } from '#lib/charges/list.ts'
import { simulateCharge } from '#lib/charges/simulate.ts'
import { newId } from '#lib/core/ids.ts'
import { Prisma } from '#lib/db/client.ts'
import { readPage } from '#lib/db/page.ts'
import { call } from '#lib/testing/call.ts'
import { type Api, expectBalancedLedger, startApiWithMerchant } from '#lib/testing/fixtures.ts'
import { LISTS } from '#lib/testing/lists.ts'

const ROWS = 100
const PAGE_BYTES_MAX = 262_144
/** The largest rows that the API stores: about 58 KB as JSON, with two bytes per character. */
const LARGE_CHARGE_FIELDS = {
  metadata: { note: 'é'.repeat(8_000) },
  utms: { utm_campaign: 'é'.repeat(8_000) },
  items: [{ name: 'ç'.repeat(13_000) }],
}
/** Names, brackets and cursor around the rows. */
const ENVELOPE_BYTES = 100

let api: Api
let merchant: { id: string }
let token: string
const ids: string[] = []
beforeAll(async () => {
  ;({ api, merchant, token } = await startApiWithMerchant())
  for (let nth = 0; nth < ROWS; nth++) {
    const row = await LISTS[0]?.insert(merchant.id, {
      ...LARGE_CHARGE_FIELDS,
      clientName: 'Zélia Gorda',
    })
    ids.unshift(row?.id ?? '')
  }
})
afterAll(async () => {
  await expectBalancedLedger(merchant.id)
  await api.close()
})

/** Follows the cursors from the first page; returns the page sizes in bytes and all rows. */
async function walk(path: string, parameter: string, field: string) {
  const sizes: number[] = []
  const rows: { id: string }[] = []
  for (let cursor = ''; ; ) {
    const { text, body } = await call(api.url, 'GET', `${path}${cursor}`, { token })
    sizes.push(Buffer.byteLength(text))
    rows.push(...body.data)
    const next = body[field]
    if (next === null || body.data.length === 0) return { sizes, rows }
    cursor = `&${parameter}=${next}`
  }
}

describe('a page is at most 256 KiB', () => {
  test.each([
    ['newest first', ''],
    ['filtered', '&status=pending'],
    ['found by a name', '&q=gorda'],
  ])('100 charges of 58 KB, %s: the cursors visit every row once', async (_, filter) => {
    const { sizes, rows } = await walk(`/transactions?limit=100${filter}`, 'cursor', 'next_cursor')
    expect(rows.map(({ id }) => id)).toEqual(ids)
    expect(Math.max(...sizes)).toBeLessThanOrEqual(PAGE_BYTES_MAX + ENVELOPE_BYTES)
    // Each page is filled up to the limit.
    const total = sizes.reduce((sum, size) => sum + size, 0)
    expect(total).toBeGreaterThan(5_500_000)
    // 4 rows of 58 KB.
    expect(sizes.length).toBeLessThanOrEqual(ROWS / 4 + 1)
  })

  test('a limit below the size keeps its meaning, and the last page ends with null', async () => {
    const { sizes, rows } = await walk('/transactions?limit=4', 'cursor', 'next_cursor')
    expect(rows.map(({ id }) => id)).toEqual(ids)
    expect(sizes).toHaveLength(ROWS / 4)
  })

  test('the operation returns no more than a page', async () => {
    const page = await listCharges(merchant.id, 'test', { limit: 100 })
    expect(Buffer.byteLength(JSON.stringify(page.rows))).toBeLessThan(PAGE_BYTES_MAX + 1_000)
    expect(page.nextCursor).toBe(page.rows.at(-1)?.id)
  })

  test('events of 58 KB: next_after visits every one once', async () => {
    for (const id of ids.slice(0, 40)) await simulateCharge(merchant.id, id, 'paid')
    const { sizes, rows } = await walk('/events?limit=100', 'after', 'next_after')
    expect(new Set(rows.map(({ id }) => id)).size).toBe(40)
    expect(rows).toHaveLength(40)
    expect(Math.max(...sizes)).toBeLessThanOrEqual(PAGE_BYTES_MAX + ENVELOPE_BYTES)
    expect(sizes.length).toBeGreaterThan(2)
  })

  test('an error in a row fails the page, and the next page works', async () => {
    const rowsUntil = (failing: number) => Prisma.sql`
      SELECT json_build_object('id', 1 / (n - ${failing}::int))::text AS json
      FROM generate_series(1, 100) AS n`
    await expect(readPage(rowsUntil(50), 100)).rejects.toThrow('division by zero')
    const pages = await Promise.all(Array.from({ length: 20 }, () => readPage(rowsUntil(101), 100)))
    for (const { rows } of pages) expect(rows).toHaveLength(100)
  })

  test('a page has at least one row, however large', async () => {
    const row = (size: number) => Prisma.sql`
      SELECT json_build_object('id', ${newId()}::text, 'text', repeat('x', ${size}::int))::text AS json`
    const rows = Prisma.sql`(${row(2 * PAGE_BYTES_MAX)}) UNION ALL (${row(10)})`
    const page = await readPage(rows, 2)
    expect(page.rows).toHaveLength(1)
    expect(page.nextCursor).not.toBeNull()
  })
})
