import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { call } from '#lib/testing/call.ts'
import {
  type Api,
  expectBalancedLedger,
  makeMerchant,
  makeToken,
  startApi,
} from '#lib/testing/fixtures.ts'
import { LISTS, type List, makeList, type Row } from '#lib/testing/lists.ts'
import { issueToken } from '#lib/tokens/issue.ts'
import { PERMISSIONS } from '#lib/tokens/schema.ts'

const ROW_COUNT = 23

let api: Api
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.close())

describe.each(LISTS)('GET $path', kind => {
  const { path, insert } = kind
  let fixture: List
  beforeAll(async () => {
    fixture = await makeList(api, kind, ROW_COUNT)
  })
  afterAll(() => expectBalancedLedger(fixture.merchant.id))

  test('200: twenty rows, newest first, each equal to its own GET, and a next_cursor', async () => {
    const { status, body, headers } = await fixture.list()
    expect(status).toBe(200)
    expect(Object.keys(body)).toEqual(['data', 'next_cursor'])
    expect(body.data.map(({ id }: Row) => id)).toEqual(fixture.newest().slice(0, 20))
    expect(body.next_cursor).toMatch(/./)
    expect(headers.get('cache-control')).toBe('private, no-store')
    for (const row of body.data.slice(10, 14)) {
      const single = await fixture.send('GET', `${path}/${row.id}`)
      expect(JSON.stringify(row)).toBe(JSON.stringify(single.body.data))
    }
  })

  test('a limit from 1 to 100 sets the page size; the cursor visits every row exactly once', async () => {
    for (const limit of [1, 7, ROW_COUNT - 1, ROW_COUNT, ROW_COUNT + 1, 100]) {
      const pages = await fixture.walk({ limit })
      expect(pages.flat()).toEqual(fixture.newest())
      expect(pages).toHaveLength(Math.ceil(ROW_COUNT / limit))
      for (const page of pages.slice(0, -1)) expect(page).toHaveLength(limit)
    }
  })

  test('next_cursor is null at the end, also of a full last page and of an empty list', async () => {
    const { length } = fixture.rows
    expect((await fixture.list({ limit: length })).body.next_cursor).toBeNull()
    expect((await fixture.list({ limit: length - 1 })).body.next_cursor).not.toBeNull()
    const empty = '{"data":[],"next_cursor":null}'
    expect((await fixture.list({ cursor: fixture.at(0).id })).text).toBe(empty)
    const otherToken = await makeToken((await makeMerchant()).id)
    expect((await fixture.list({}, otherToken)).text).toBe(empty)
  })

  test('paging returns each row once although new rows arrive meanwhile', async () => {
    const before = fixture.newest()
    const pages = await fixture.walk({ limit: 4 }, async () => {
      await fixture.add()
    })
    expect(pages.flat()).toEqual(before)
    expect(fixture.rows.length).toBe(before.length + pages.length)
  })

  test('rows of another account or mode are in no list, whatever the filter', async () => {
    const [merchant, other] = [await makeMerchant(), await makeMerchant()]
    const ownRow = await insert(merchant.id, {})
    const live = await insert(merchant.id, { mode: 'live', externalId: 'shared' })
    await insert(other.id, { externalId: 'shared' })
    const caller = await makeToken(merchant.id)
    const tokenOptions = { accountId: merchant.id, mode: 'live' as const, name: 'live' }
    const all = { ...tokenOptions, permissions: [...PERMISSIONS] }
    const { token: liveToken } = await issueToken(all, { type: 'system' })
    expect(await fixture.idsOf({}, caller)).toEqual([ownRow.id])
    expect(await fixture.idsOf({}, liveToken)).toEqual([live.id])
    for (const query of [{ external_id: 'shared' }, { q: 'shared' }, { q: live.id }]) {
      expect(await fixture.idsOf(query, caller)).toEqual([])
      expect(await fixture.idsOf(query, liveToken)).toEqual([live.id])
    }
    expect(await fixture.idsOf({ cursor: live.id }, caller)).toEqual([ownRow.id])
  })
})

test('a charge that is still being opened at a bank is in no list', async () => {
  const [charges] = LISTS
  const merchant = await makeMerchant()
  const token = await makeToken(merchant.id)
  const { id } = (await charges?.insert(merchant.id, { status: 'opening', brCode: null })) ?? {}
  for (const query of ['', `?q=${id}`, '?status=pending', `?external_id=${id}`]) {
    const { text } = await call(api.url, 'GET', `/transactions${query}`, { token })
    expect(text).toBe('{"data":[],"next_cursor":null}')
  }
})
