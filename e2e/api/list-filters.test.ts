import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId, newRoutableId } from '#lib/core/ids.ts'
import { formatReais } from '#lib/core/money.ts'
import { call } from '#lib/testing/call.ts'
import {
  type Api,
  CHARGE,
  expectBalancedLedger,
  makeMerchant,
  makeToken,
  startApi,
} from '#lib/testing/fixtures.ts'
import { LISTS, type List, makeList, WITHDRAWAL } from '#lib/testing/lists.ts'

const ROW_COUNT = 10

let api: Api
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.close())

describe.each(LISTS)('GET $path', kind => {
  const { path, insert, finalStatuses } = kind
  let fixture: List
  beforeAll(async () => {
    fixture = await makeList(api, kind, ROW_COUNT)
    const simulateOutcome = (index: number, outcome: string) =>
      fixture.send('POST', `/sandbox${path}/${fixture.at(index).id}`, { outcome })
    for (const index of [2, 5]) await simulateOutcome(index, finalStatuses[0])
    await simulateOutcome(7, finalStatuses[1])
  })
  afterAll(() => expectBalancedLedger(fixture.merchant.id))

  const ids = (...indexes: number[]) => indexes.map(index => fixture.at(index).id)

  test('status: each value, also page by page', async () => {
    expect(await fixture.idsOf({ status: finalStatuses[0] })).toEqual(ids(5, 2))
    expect(await fixture.idsOf({ status: finalStatuses[1] })).toEqual(ids(7))
    expect(await fixture.idsOf({ status: 'pending' })).toEqual(ids(9, 8, 6, 4, 3, 1, 0))
    expect(await fixture.walk({ status: finalStatuses[0], limit: 1 })).toEqual([ids(5), ids(2)])
  })

  test('external_id: only an exact match', async () => {
    expect(await fixture.idsOf({ external_id: 'row 7' })).toEqual(ids(7))
    for (const external_id of ['row', 'ROW 7', 'row 7 ', 'row%', "' OR 1=1 --"]) {
      expect(await fixture.idsOf({ external_id })).toEqual([])
    }
  })

  test('q: part of a reference, an id or an amount, as a person searches', async () => {
    expect(await fixture.idsOf({ q: 'ROW 7' })).toEqual(ids(7))
    expect(await fixture.idsOf({ q: 'row' })).toHaveLength(ROW_COUNT)
    expect(await fixture.idsOf({ q: fixture.at(4).id })).toEqual(ids(4))
    expect(await fixture.idsOf({ q: formatReais(Number(kind.body.amount), 'pt-BR') })).toHaveLength(
      ROW_COUNT,
    )
    expect(await fixture.idsOf({ q: 'no such row' })).toEqual([])
  })

  test('created_from is inclusive and created_to exclusive, to the microsecond', async () => {
    const [from, to] = [fixture.at(3).created_at, fixture.at(7).created_at]
    expect(await fixture.idsOf({ created_from: from, created_to: to })).toEqual(ids(6, 5, 4, 3))
    expect(await fixture.idsOf({ created_from: to })).toEqual(ids(9, 8, 7))
    expect(await fixture.idsOf({ created_to: from })).toEqual(ids(2, 1, 0))
    expect(await fixture.idsOf({ created_from: to, created_to: from })).toEqual([])
    const pages = await fixture.walk({ created_from: from, created_to: to, limit: 3 })
    expect(pages).toEqual([ids(6, 5, 4), ids(3)])
  })

  test('a date is midnight UTC, and a time may have any offset', async () => {
    const otherMerchant = await makeMerchant()
    const caller = await makeToken(otherMerchant.id)
    const createdIds: string[] = []
    for (const time of ['09T23:59:59.999Z', '10T00:00:00.000Z', '10T12:00:00.000Z']) {
      const createdAt = new Date(`2026-03-${time}`)
      const id = newRoutableId(otherMerchant.id, createdAt)
      createdIds.push((await insert(otherMerchant.id, { id, createdAt })).id)
    }
    const findIndexes = async (query: Record<string, string>) =>
      (await fixture.idsOf(query, caller)).map(id => createdIds.indexOf(id))
    expect(await findIndexes({ created_from: '2026-03-10' })).toEqual([2, 1])
    expect(await findIndexes({ created_to: '2026-03-10' })).toEqual([0])
    expect(await findIndexes({ created_from: '2026-03-10', created_to: '2026-03-11' })).toEqual([
      2, 1,
    ])
    expect(await findIndexes({ created_from: '2026-03-10T09:00:00-03:00' })).toEqual([2])
    expect(await findIndexes({ created_to: '2026-03-10T21:00:00+09:00' })).toEqual([1, 0])
    expect(
      await findIndexes({ created_from: '1970-01-01', created_to: '9999-12-31' }),
    ).toHaveLength(3)
  })

  test('several filters must all match', async () => {
    const span = { created_from: fixture.at(1).created_at, created_to: fixture.at(6).created_at }
    const both = { ...span, status: finalStatuses[0] }
    expect(await fixture.idsOf(both)).toEqual(ids(5, 2))
    expect(await fixture.idsOf({ ...both, cursor: fixture.at(5).id })).toEqual(ids(2))
    expect(await fixture.idsOf({ ...both, limit: 1 })).toEqual(ids(5))
    expect(await fixture.idsOf({ ...both, external_id: 'row 2', q: 'row 2' })).toEqual(ids(2))
    expect(await fixture.idsOf({ ...both, external_id: 'row 2', q: 'row 5' })).toEqual([])
    expect(await fixture.idsOf({ ...both, external_id: 'row 7' })).toEqual([])
    expect(await fixture.idsOf({ external_id: 'row 7', status: 'pending' })).toEqual([])
  })

  test('an empty parameter counts as absent', async () => {
    const emptyQuery = 'limit=&cursor=&status=&external_id=&created_from=&created_to=&q='
    expect((await fixture.send('GET', `${path}?${emptyQuery}`)).text).toBe(
      (await fixture.list()).text,
    )
  })

  test.each<[string, string[]]>([
    ['limit', ['0', '101', '-1', '1.5', '1e1', 'ten', ' 5', '٣', '9'.repeat(400)]],
    ['cursor', ['1', 'x', 'null', `${newId()}0`, newId().replaceAll('-', ''), '../../x']],
    ['status', ['open', 'opening', 'PENDING', 'pending,x', 'undefined', '\0']],
    ['created_from', ['yesterday', '1763690400', '2026-13-01', '2026-02-30', '1969-12-31', '\0']],
    ['created_from', ['2026-11-21T03:00:00', '2026-11-21 03:00:00Z', '2026-11-21T25:00:00Z']],
    ['created_to', ['now', '2026-11-31', '2026-11-21T03:00Zz', '-2026-11-21', '10000-01-01']],
    ['external_id', ['x'.repeat(256), 'a\0b']],
    ['q', ['x'.repeat(256), 'a\0b']],
  ])('422 under %s for an invalid value', async (field, values) => {
    for (const value of values) {
      const { status, body } = await fixture.list({ [field]: value })
      expect([status, Object.keys(body)], value).toEqual([422, ['errors']])
      expect(Object.keys(body.errors)).toEqual([field])
      expect(body.errors[field][0].startsWith(`${field} must `)).toBe(true)
    }
  })

  test('422 names all invalid values at once', async () => {
    const invalid = { limit: 0, cursor: 'x', status: 'x', created_from: 'x', created_to: 'x' }
    const { status, body } = await fixture.list(invalid)
    expect(status).toBe(422)
    expect(Object.keys(body.errors).sort()).toEqual(Object.keys(invalid).sort())
  })

  test('a time that PostgreSQL cannot read is 422, never 500', async () => {
    const zones = ['+15:59', '-15:59', '+16:00', '-16:00', '+23:59', '-23:59']
    const times = zones.map(zone => `2026-01-01T00:00:00${zone}`)
    for (const digits of [6, 7, 20, 200]) times.push(`2026-01-01T00:00:00.${'1'.repeat(digits)}Z`)
    times.push('9999-12-31T23:59:59.999999-14:00')
    for (const time of times) {
      for (const field of ['created_from', 'created_to']) {
        expect([200, 422], `${field} ${time}`).toContain(
          (await fixture.list({ [field]: time })).status,
        )
      }
    }
  })
})

describe('q', () => {
  let token: string
  beforeAll(async () => {
    const [, withdrawals] = LISTS
    if (withdrawals) token = (await makeList(api, withdrawals, 0)).token
  })
  const send = async (path: string, body: unknown) =>
    (await call(api.url, 'POST', path, { token, body })).body.data
  const find = async (path: string, q: string) => {
    const { body } = await call(api.url, 'GET', `${path}?${new URLSearchParams({ q })}`, { token })
    return body.data.map(({ id }: { id: string }) => id)
  }

  test('finds a charge by identifiers, words in any order, amount and the beginning of the document', async () => {
    const payer = { client_name: 'Zoë 100%_Álvares', client_email: 'ZOE+1@Example.com' }
    const identifiers = { client_doc: '390.533.447-05', external_id: 'order #1' }
    const charge = { ...CHARGE, ...payer, ...identifiers, amount: 44_654 }
    const id = (await send('/transactions', charge)).transaction_id
    const { end_to_end_id } = await send(`/sandbox/transactions/${id}`, { outcome: 'paid' })
    const whole = [id, id.toUpperCase(), end_to_end_id, ...Object.values(identifiers)]
    const parts = [
      'Zoë',
      '100%_á zoë',
      '%_',
      'zoe+1@',
      'ORDER',
      '390.533',
      '446,54 zoe',
      'R$ 446.54',
    ]
    for (const q of [...whole, ...parts]) {
      expect(await find('/transactions', q), q).toEqual([id])
    }
    for (const q of ['order 2', '%zz%', '_o_', id.slice(0, 13), '533.447', '46,54', "'; --"]) {
      expect(await find('/transactions', q), q).toEqual([])
    }
  })

  test('finds a withdrawal by identifiers, part of the reference, amount and PIX key in either form', async () => {
    const order = {
      ...WITHDRAWAL,
      amount: 44_655,
      pix_key: 'HOLD+q@Example.com',
      external_id: 'wage #1',
    }
    const { id } = await send('/withdrawals', order)
    const { end_to_end_id } = await send(`/sandbox/withdrawals/${id}`, { outcome: 'approved' })
    const whole = ['wage #1', id, end_to_end_id, order.pix_key, 'hold+q@example.com']
    const tail = end_to_end_id.slice(-20).toLowerCase()
    for (const q of [...whole, 'WAGE', '446,55', 'R$ 446.55', tail]) {
      expect(await find('/withdrawals', q), q).toEqual([id])
    }
    for (const q of ['wage 2', 'hold', '%', '46,55', tail.slice(0, -1), id.slice(0, 13)]) {
      expect(await find('/withdrawals', q), q).toEqual([])
    }
  })
})
