import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { ChargeDetail } from '#lib/charges/wire.ts'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import {
  type Api,
  CHARGE,
  expectBalancedLedger,
  makeMerchant,
  makeToken,
  openCharge,
  startApiWithMerchant,
} from '#lib/testing/fixtures.ts'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/
const MICROSECONDS = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/

let api: Api
let merchant: Account
let token: string
beforeAll(async () => {
  ;({ api, merchant, token } = await startApiWithMerchant())
})
afterAll(async () => {
  await expectBalancedLedger(merchant.id)
  await api.close()
})

async function callApi(method: string, path: string, body?: unknown, caller = token) {
  const response = await fetch(`${api.url}/api${path}`, {
    method,
    headers: { authorization: `Bearer ${caller}` },
    body: body === undefined ? undefined : Buffer.from(JSON.stringify(body)),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, body: JSON.parse(text) }
}

const create = (extra: object = {}) => callApi('POST', '/transactions', { ...CHARGE, ...extra })
const read = (id: string, caller = token) =>
  callApi('GET', `/transactions/${id}`, undefined, caller)
const countCharges = () => db().charge.count({ where: { accountId: merchant.id } })

describe('POST /transactions', () => {
  test('200 with exactly the five documented fields', async () => {
    const metadata = { order: 'A-1', nested: { list: [1, 'two', null, true] } }
    const { status, body, headers } = await create({ metadata })
    expect(status).toBe(200)
    const transaction_id = expect.stringMatching(UUID)
    const br_code = expect.stringMatching(/^000201.*6304[0-9A-F]{4}$/)
    expect(body).toEqual({
      status: 'success',
      data: { transaction_id, br_code, amount: CHARGE.amount, status: 'pending', metadata },
    })
    expect(Object.keys(body)).toEqual(['status', 'data'])
    expect(headers.get('cache-control')).toBe('private, no-store')
  })

  test('ignores unknown fields, also status, mode, account_id and id', async () => {
    const id = newId()
    const forged = { id, transaction_id: id, status: 'paid', account_id: id, mode: 'live', x: 1 }
    const { body } = await create({ ...forged, paid_at: '2026-01-01', metadata: null })
    expect(body.data).toMatchObject({ status: 'pending', metadata: null })
    expect(body.data.transaction_id).not.toBe(id)
    const detail = (await read(body.data.transaction_id)).body.data
    expect(detail).toMatchObject({ mode: 'test', status: 'pending', paid_at: null })
  })

  const long = (length: number) => 'x'.repeat(length)
  const keys = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, index]))
  const sized = (bytes: number) => ({ a: long(bytes - '{"a":""}'.length) })

  test.each<[string, unknown]>([
    ['amount', 500],
    ['amount', 999_999_999_999],
    ['client_name', 'x'],
    ['client_name', long(255)],
    ['client_name', `  ${long(255)}  `],
    ['client_email', `${long(60)}@${Array(3).fill(long(60)).join('.')}.com.br`],
    ['client_doc', '52998224725'],
    ['client_doc', '529.982.247-25'],
    ['client_doc', '11.222.333/0001-81'],
    ['client_doc', '12.ABC.345/01DE-35'],
    ['client_doc', '12abc34501de35'],
    ['client_doc', '12345678901'],
    ['client_phone', long(30)],
    ['webhook_url', 'http://127.0.0.1:9/hook'],
    ['webhook_url', `https://a.example/${long(2048 - 'https://a.example/'.length)}`],
    ['ip', '203.0.113.7'],
    ['ip', '2001:db8::1'],
    ['metadata', {}],
    ['metadata', keys(20)],
    ['metadata', sized(16 * 1024)],
    ['utms', { utm_source: 'mail', any: { thing: [1] } }],
    ['utms', sized(16 * 1024)],
    ['items', []],
    ['items', Array(50).fill({})],
    ['items', [{ name: 'Pão', price: 12.5, quantity: '2', sku: 7 }]],
    ['items', [{ name: null, price: '10,50', quantity: -1 }]],
    ['external_id', 'x'],
    ['external_id', `${long(200)} ação / 😀 #${long(30)}`],
    ['expires_in', 60],
    ['expires_in', 2_592_000],
  ])('200 for %s = %j', async (field, value) => {
    expect(await create({ [field]: value })).toMatchObject({ status: 200 })
  })

  test.each<[string, unknown]>([
    ['amount', 499],
    ['amount', 1_000_000_000_000],
    ['amount', 500.5],
    ['amount', -1_500],
    ['amount', '1500'],
    ['amount', true],
    ['amount', [1_500]],
    ['amount', {}],
    ['client_name', '   '],
    ['client_name', long(256)],
    ['client_name', 7],
    ['client_email', 'ana'],
    ['client_email', 'ana@'],
    ['client_email', 'ana@localhost'],
    ['client_email', 'ana@example.com, rui@example.com'],
    ['client_email', `${long(64)}@${Array(4).fill(long(60)).join('.')}.com`],
    ['client_email', ['ana@example.com']],
    ['client_doc', '5299822472'],
    ['client_doc', '529982247255'],
    ['client_doc', '1122233300018'],
    ['client_doc', '12ABC34501DEXY'],
    ['client_doc', '5299822472a'],
    ['client_doc', 52_998_224_725],
    ['client_phone', long(31)],
    ['client_phone', 11_999_998_888],
    ['webhook_url', 'hook'],
    ['webhook_url', 'ftp://a.example/'],
    ['webhook_url', 'javascript:alert(1)'],
    ['webhook_url', `https://a.example/${long(2049 - 'https://a.example/'.length)}`],
    ['webhook_url', 1],
    ['metadata', 'text'],
    ['metadata', [1]],
    ['metadata', keys(21)],
    ['metadata', sized(16 * 1024 + 1)],
    ['metadata', { a: 'ç'.repeat(8 * 1024) }],
    ['utms', ['a']],
    ['utms', sized(16 * 1024 + 1)],
    ['items', {}],
    ['items', 'Pão'],
    ['items', ['Pão']],
    ['items', [null]],
    ['items', [[]]],
    ['items', Array(51).fill({})],
    ['external_id', long(256)],
    ['external_id', 'a\nb'],
    ['external_id', 'a\u200bb'],
    ['external_id', '0190a8f0-0000-7000-8000-00000000000A'],
    ['external_id', 4711],
    ['external_id', '.'],
    ['external_id', '..'],
    ['expires_in', 59],
    ['expires_in', 2_592_001],
    ['expires_in', 60.5],
    ['expires_in', '3600'],
    ['ip', 7],
    ['ip', {}],
  ])('422 naming the field for %s = %j, without an effect', async (field, value) => {
    const before = await countCharges()
    const { status, body, headers } = await create({ [field]: value })
    expect(status).toBe(422)
    expect(Object.keys(body)).toEqual(['errors'])
    expect(body.errors).toMatch(new RegExp(`^${field}[ .[].*must `))
    expect(headers.get('x-error-code')).toBe('invalid_input')
    // A field that is refused is not called ignored as well.
    expect(headers.get('x-ignored-fields')).toBeNull()
    expect(await countCharges()).toBe(before)
  })

  test('fields that have no effect are named, also credentials of a URL', async () => {
    const fields = {
      client_nome: 'Ana',
      webhook_url: 'https://u:p@shop.example/x',
      ip: 'localhost',
      'a, b': 1,
    }
    const { status, headers } = await create(fields)
    const named = 'ip, webhook_url, client_nome, a%2C%20b'
    expect([status, headers.get('x-ignored-fields')]).toEqual([200, named])
    const many = Object.fromEntries(Array.from({ length: 300 }, (_, nth) => [`x${nth}`, 1]))
    expect((await create(many)).headers.get('x-ignored-fields')?.split(', ')).toHaveLength(20)
  })

  test('a reference that is a number is refused as no string', async () => {
    const { body } = await create({ external_id: 4711 })
    expect(body.errors).toBe('external_id must be a string, such as "1048"')
  })

  test.each(['256.1.1.1', 'localhost', '203.0.113.7, 10.0.0.1'])(
    'an ip that cannot be read, as %j, counts as absent and is named',
    async ip => {
      const { status, body, headers } = await create({ ip })
      expect([status, headers.get('x-ignored-fields')]).toEqual([200, 'ip'])
      const { body: read } = await callApi('GET', `/transactions/${body.data.transaction_id}`)
      expect(read.data.ip).toBe('127.0.0.1')
      expect((await create({ ip: '203.0.113.7' })).headers.get('x-ignored-fields')).toBeNull()
    },
  )

  test('an empty list as metadata or utms, as PHP writes an empty map, is an empty object', async () => {
    const { status, body } = await create({ metadata: [], utms: [] })
    expect([status, body.data.metadata]).toEqual([200, {}])
    const { body: read } = await callApi('GET', `/transactions/${body.data.transaction_id}`)
    expect([read.data.metadata, read.data.utms]).toEqual([{}, {}])
  })

  test('cancelled with a token, a charge ends as expired, also when the call is repeated', async () => {
    const { body } = await create({ external_id: 'to cancel' })
    const id = body.data.transaction_id
    const path = '/transactions/to%20cancel/cancel'
    const first = await callApi('POST', path)
    expect([first.status, first.body.data.id, first.body.data.status]).toEqual([200, id, 'expired'])
    expect(first.body.data.cancelled_at).not.toBeNull()
    expect((await callApi('POST', path)).body).toEqual(first.body)
    expect((await callApi('GET', `/transactions/${id}`)).body.data).toEqual(first.body.data)
    await callApi('POST', `/sandbox/transactions/${id}`, { outcome: 'paid' })
    const late = await callApi('POST', path)
    expect([late.status, late.body]).toEqual([409, { error: 'Transaction is already paid' }])
  })

  test('the description of a pending charge is changed and removed', async () => {
    const { body } = await create({ external_id: 'to describe' })
    const id = body.data.transaction_id
    const change = (path: string, description: unknown) =>
      callApi('PUT', `/transactions/${path}/description`, { description })
    const changed = await change('to%20describe', 'Mensalidade de novembro')
    expect([changed.status, changed.body.data.id, changed.body.data.description]).toEqual([
      200,
      id,
      'Mensalidade de novembro',
    ])
    const page = await fetch(api.url + new URL(changed.body.data.payment_url).pathname)
    expect(await page.text()).toContain('Mensalidade de novembro')
    for (const none of [null, '', undefined]) {
      await change(id, 'To remove')
      expect((await change(id, none)).body.data).not.toHaveProperty('description')
    }
    await change(id, 'Paid for this')
    await callApi('POST', `/sandbox/transactions/${id}`, { outcome: 'paid' })
    const late = await change(id, 'Something else')
    expect([late.status, late.body]).toEqual([409, { error: 'Transaction is already paid' }])
    const { body: read } = await callApi('GET', `/transactions/${id}`)
    expect(read.data.description).toBe('Paid for this')
  })

  test.each([
    ['a long text', { description: 'x'.repeat(256) }, 'description must'],
    ['a number', { description: 7 }, 'description must'],
  ])('a description of %s is refused and changes nothing', async (_, change, message) => {
    const { body } = await create()
    const path = `/transactions/${body.data.transaction_id}`
    const { status, body: refused } = await callApi('PUT', `${path}/description`, change)
    expect([status, refused.errors.description[0]]).toEqual([422, expect.stringContaining(message)])
    expect((await callApi('GET', path)).body.data).not.toHaveProperty('description')
  })

  test.each(['amount', 'client_name', 'client_email', 'client_doc'])(
    '422 when %s is missing',
    async field => {
      for (const absent of [undefined, null, '']) {
        const { status, body } = await create({ [field]: absent })
        expect({ status, body }).toEqual({
          status: 422,
          body: { errors: `${field} is required` },
        })
      }
    },
  )

  test('409 for an external_id that is used in this account; other accounts may use it', async () => {
    const external_id = 'order 1/2 #3'
    expect((await create({ external_id })).status).toBe(200)
    const again = await create({ external_id })
    expect([again.status, again.text]).toEqual([409, '{"error":"external_id already used"}'])
    const other = await makeToken((await makeMerchant()).id)
    const otherResponse = await callApi('POST', '/transactions', { ...CHARGE, external_id }, other)
    expect(otherResponse.status).toBe(200)
  })

  test('503 from a bank that is down stores nothing and frees the external_id', async () => {
    const before = await countCharges()
    const request = { external_id: 'try-me-again', client_email: 'unavailable@example.com' }
    const { status, text, headers } = await create(request)
    expect([status, text]).toEqual([503, '{"error":"Service unavailable"}'])
    expect(headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
    expect(await countCharges()).toBe(before)
    expect((await create({ external_id: 'try-me-again' })).status).toBe(200)
  })
})

describe('JSON that JavaScript would change', () => {
  const send = (raw: string) =>
    fetch(`${api.url}/api/transactions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(CHARGE).replace(/}$/, `,${raw}}`),
    })

  test('a key named __proto__ in metadata is stored and returned', async () => {
    const response = await send('"metadata":{"__proto__":{"a":1},"b":2}')
    expect(response.status).toBe(200)
    expect(await response.text()).toContain('"metadata":{"__proto__":{"a":1},"b":2}')
  })

  test('a price may be a number or a numeric string; any other value is an error that names the field', async () => {
    for (const price of ['10', '10,50', '1e3', '-2.5']) {
      expect((await send(`"items":[{"price":"${price}"}]`)).status, price).toBe(200)
    }
    const response = await send('"items":[{"price":"abc"}]')
    expect(await response.json()).toEqual({ errors: 'items[0].price must be a number' })
    expect(response.headers.get('x-error-fields')).toBe('items')
  })

  test('items are stored as sent, with unknown keys and in the same order', async () => {
    const items = '[{"sku":1,"quantity":2,"__proto__":{"a":1},"name":"x"}]'
    const response = await (await send(`"items":${items}`)).json()
    const stored = await read(response.data.transaction_id)
    expect(stored.text).toContain(`"items":${items}`)
  })

  test('a URL with spaces or line breaks is refused, not corrected', async () => {
    for (const url of [
      'http://x\\n.com',
      ' http://x.com/a',
      'http://x.com/a b',
      'ftp://x.com',
      'http://',
    ]) {
      const response = await send(`"webhook_url":"${url}"`)
      expect(await response.json(), url).toEqual({
        errors: 'webhook_url must be an http or https address',
      })
    }
  })

  test('an external_id of spaces is refused', async () => {
    expect((await send('"external_id":"  "')).status).toBe(422)
  })
})

describe('GET /transactions/{id}', () => {
  test('200 with the fields of the creation and the other fields as they were sent', async () => {
    const sent = {
      client_phone: '+55 11 99999-8888',
      webhook_url: 'https://example.com/hook?a=1',
      ip: '203.0.113.7',
      metadata: { b: 1, a: { deep: ['ç', null] } },
      utms: { utm_source: 'x' },
      items: [{ name: 'Pão', price: '10,50', quantity: 2, sku: 'P1' }],
      external_id: 'sent-as-is',
      expires_in: 3_600,
    }
    const created = (await create(sent)).body.data
    const { status, body } = await read(created.transaction_id)
    expect(status).toBe(200)
    expect(Object.keys(body)).toEqual(['status', 'data'])
    expect(body.status).toBe('success')
    const { expires_in: _, ...echoed } = sent
    expect(body.data).toMatchObject({
      ...CHARGE,
      ...echoed,
      ...created,
      id: created.transaction_id,
    })
    expect(body.data).toMatchObject({ mode: 'test', paid_at: null, end_to_end_id: null })
    const sometimes = {
      cancelled_at: true,
      description: true,
      payer: true,
      returned_amount: true,
    } as const
    const always = ChargeDetail.omit(sometimes)
    expect(Object.keys(body.data).sort()).toEqual(Object.keys(always.shape).sort())
  })

  test('absent fields are null; external_id is the txid, ip the caller’s address', async () => {
    const { id } = (await read((await create()).body.data.transaction_id)).body.data
    const detail = (await read(id)).body.data
    const absent = {
      client_phone: null,
      items: null,
      utms: null,
      webhook_url: null,
      metadata: null,
    }
    expect(detail).toMatchObject({
      ...absent,
      external_id: id.replaceAll('-', ''),
      ip: '127.0.0.1',
    })
    expect(detail).toMatchObject({ amount: CHARGE.amount, refunded_amount: 0 })
  })

  test('times are UTC with microseconds; a charge expires after a day by default', async () => {
    const details = []
    for (let count = 0; count < 3; count++) {
      const { data } = (await create(count === 0 ? {} : { expires_in: 60 })).body
      await callApi('POST', `/sandbox/transactions/${data.transaction_id}`, { outcome: 'paid' })
      details.push((await read(data.transaction_id)).body.data)
    }
    for (const { created_at, updated_at, expires_at, paid_at } of details) {
      for (const time of [created_at, updated_at, expires_at, paid_at])
        expect(time).toMatch(MICROSECONDS)
      expect(expires_at.slice(-7)).toBe(created_at.slice(-7))
      expect(Math.abs(Date.parse(created_at) - Date.now())).toBeLessThan(60_000)
    }
    expect(details.every(({ created_at }) => created_at.endsWith('000Z'))).toBe(false)
    const lifetimes = details.map(
      detail => Date.parse(detail.expires_at) - Date.parse(detail.created_at),
    )
    expect(lifetimes).toEqual([86_400_000, 60_000, 60_000])
  })

  test('finds by the external_id, whatever characters it has', async () => {
    for (const external_id of ['a/b', 'a b', '50%', 'ação', 'x?y=1', '..', 'A#1', '']) {
      const created = (await create({ external_id: `${external_id}-${newId()}x` })).body.data
      const detail = (await read(created.transaction_id)).body.data
      const found = await read(encodeURIComponent(detail.external_id))
      expect(found.body.data?.id).toBe(created.transaction_id)
    }
  })

  test('404 is the same for a charge of another account and for an unknown one', async () => {
    const foreign = await openCharge(await makeMerchant())
    const responses = await Promise.all(
      [foreign.id, newId(), 'nobody', foreign.id.replaceAll('-', ''), '%F0%9F%98%80'].map(id =>
        read(id),
      ),
    )
    for (const { status, text, headers } of responses) {
      expect([status, text]).toEqual([404, '{"error":"Transaction not found"}'])
      const comparableHeaders = [...headers].filter(([name]) => !/^(date|x-request-id)$/.test(name))
      expect(comparableHeaders).toEqual(
        [...responses[0]!.headers].filter(([name]) => !/^(date|x-request-id)$/.test(name)),
      )
    }
  })
})

describe('POST /sandbox/transactions/{id}', () => {
  const simulateOutcome = async (id: string, outcome: unknown, caller = token) =>
    callApi('POST', `/sandbox/transactions/${id}`, { outcome }, caller)

  test.each(['paid', 'failed', 'expired'])(
    '200 returns the charge, which is then %s',
    async outcome => {
      const { transaction_id } = (await create()).body.data
      const { status, body } = await simulateOutcome(transaction_id, outcome)
      expect(status).toBe(200)
      expect(body.data).toMatchObject({ id: transaction_id, status: outcome })
      expect(body.data.paid_at !== null).toBe(outcome === 'paid')
      if (outcome === 'paid') expect(body.data.end_to_end_id).toMatch(/^[0-9A-Za-z]{32}$/)
      const payer = { name: CHARGE.client_name, document: '***.982.247-**', bank: '00000000' }
      expect(body.data.payer).toEqual(outcome === 'paid' ? payer : undefined)
      expect((await read(transaction_id)).body.data).toEqual(body.data)
    },
  )

  test('409 for a final charge; an expired charge can still be paid', async () => {
    const { transaction_id } = (await create()).body.data
    expect((await simulateOutcome(transaction_id, 'expired')).status).toBe(200)
    expect((await simulateOutcome(transaction_id, 'failed')).status).toBe(409)
    expect((await simulateOutcome(transaction_id, 'paid')).status).toBe(200)
    const again = await simulateOutcome(transaction_id, 'paid')
    expect([again.status, again.text]).toEqual([409, '{"error":"Transaction is already paid"}'])
  })

  test('404 for a charge of another account, without an effect', async () => {
    const stranger = await makeToken((await makeMerchant()).id)
    const { transaction_id } = (await create()).body.data
    const { status, text } = await simulateOutcome(transaction_id, 'paid', stranger)
    expect([status, text]).toEqual([404, '{"error":"Transaction not found"}'])
    expect((await read(transaction_id)).body.data.status).toBe('pending')
  })
})

test.each([
  ['client_name', 'Ana\nBeatriz\u200B', 'AnaBeatriz'],
  ['client_email', 'ana\u200B@example.com', 'ana@example.com'],
  ['client_doc', '529.982.247-25\r\n', '529.982.247-25'],
  ['client_phone', '\u202E+55 11', '+55 11'],
])(
  'control characters in %s are dropped, and X-Ignored-Fields names it',
  async (field, sent, stored) => {
    const response = await create({ [field]: sent })
    expect([response.status, response.headers.get('x-ignored-fields')]).toEqual([200, field])
    expect((await read(response.body.data.transaction_id)).body.data[field]).toBe(stored)
  },
)
