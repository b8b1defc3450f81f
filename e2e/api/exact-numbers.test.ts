import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { newId } from '#lib/core/ids.ts'
import { addEndpoint, deliverForMerchant } from '#lib/testing/deliveries.ts'
import {
  type Api,
  CHARGE,
  expectBalancedLedger,
  inOwnDatabase,
  makeToken,
  startApiWithMerchant,
} from '#lib/testing/fixtures.ts'
import { pageHeaders, signIn } from '#lib/testing/member.ts'
import { openReceiver, type Receiver } from '#lib/testing/receiver.ts'
import { PERMISSIONS } from '#lib/tokens/schema.ts'

inOwnDatabase()

const METADATA =
  '{"order":175928847299117063,"huge":1e400,"price":1.10,"zero":-0,"deep":[{"n":0.10000000000000000000001}],"plain":[1,2.5,"1.10"]}'
const UTMS = '{"id":-12345678901234567890,"E":1E5}'
const ITEMS = '[{"name":"Café","price":12.50,"quantity":1e0,"sku":9007199254740993}]'
const FREE = `"metadata":${METADATA},"utms":${UTMS},"items":${ITEMS}`

let api: Api
let merchant: Account
let token: string
let receiver: Receiver
beforeAll(async () => {
  ;({ api, merchant, token } = await startApiWithMerchant())
  receiver = await openReceiver()
})
afterAll(async () => {
  await expectBalancedLedger(merchant.id)
  await receiver.close()
  await api.close()
})

/** Reads texts, because JSON.parse would round the numbers of a response. */
async function send(
  method: string,
  path: string,
  raw?: string,
  headers: Record<string, string> = { authorization: `Bearer ${token}` },
) {
  const response = await fetch(`${api.url}/api${path}`, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    body: raw,
  })
  return { status: response.status, text: await response.text() }
}

const bodyWith = (fields: string) => JSON.stringify(CHARGE).replace(/}$/, `,${fields}}`)

describe('numbers of metadata, utms and items are returned as sent', () => {
  test('by every response, event and webhook', async () => {
    const webhook_url = `${receiver.url}/charge`
    await addEndpoint(merchant, `${receiver.url}/endpoint`)
    const key = { 'idempotency-key': newId(), authorization: `Bearer ${token}` }
    const body = bodyWith(`"webhook_url":"${webhook_url}",${FREE}`)
    const created = await send('POST', '/transactions', body, key)
    expect(created.status, created.text).toBe(200)
    expect(created.text).toContain(`"metadata":${METADATA}`)
    expect(await send('POST', '/transactions', body, key)).toEqual(created)

    const id = JSON.parse(created.text).data.transaction_id
    const expectWhole = (text: string) => {
      for (const [name, sent] of Object.entries({ metadata: METADATA, utms: UTMS, items: ITEMS }))
        expect(text).toContain(`"${name}":${sent}`)
    }
    const whole = { ...key, prefer: 'return=representation' }
    expectWhole((await send('POST', '/transactions', body, whole)).text)
    const permissions = PERMISSIONS.filter(name => name !== 'payers:read')
    const masked = await makeToken(merchant.id, { permissions })
    const decision = { ...key, 'idempotency-key': newId() }
    const paid = '{"outcome":"paid"}'
    expectWhole((await send('POST', `/sandbox/transactions/${id}`, paid, decision)).text)
    for (const caller of [token, masked]) {
      const headers = { ...decision, authorization: `Bearer ${caller}` }
      expectWhole((await send('POST', `/sandbox/transactions/${id}`, paid, headers)).text)
      for (const path of [`/transactions/${id}`, '/transactions', '/events'])
        expectWhole((await send('GET', path, undefined, headers)).text)
    }

    await deliverForMerchant(merchant)
    const received = receiver.calls.map(({ path, text }) => ({ path, text }))
    expect(received.map(({ path }) => path).toSorted()).toEqual(['/charge', '/endpoint'])
    for (const { text } of received) expectWhole(text)
    expect(received.find(({ path }) => path === '/endpoint')?.text).toContain(`"products":${ITEMS}`)
    const found = await send('GET', '/transactions?metadata[order]=175928847299117063')
    expectWhole(found.text)

    const page = pageHeaders(await signIn(merchant, 'developer'), merchant.id)
    const timeline = await send('GET', `/dashboard/charges/${id}/timeline`, undefined, page)
    expect(timeline.text).toContain('"order":"175928847299117063"')
  })

  test('and a repetition with another text of a number is another request', async () => {
    const key = { 'idempotency-key': newId(), authorization: `Bearer ${token}` }
    const statuses = []
    for (const number of ['1.10', '1.10', '1.1'])
      statuses.push(
        (await send('POST', '/transactions', bodyWith(`"metadata":{"n":${number}}`), key)).status,
      )
    expect(statuses).toEqual([200, 200, 422])
  })
})

describe('an amount is an integer', () => {
  test.each(['500.00000000000000000001', '500.5', '9007199254740993', '1e400', '-0', '"500"'])(
    'and never %s',
    async amount => {
      const { status, text } = await send(
        'POST',
        '/transactions',
        bodyWith('').replace(/"amount":\d+(.*),}/, `"amount":${amount}$1}`),
      )
      expect([status, text]).toEqual([
        422,
        '{"errors":"amount must be a whole number of cents from 500 to 999999999999"}',
      ])
    },
  )

  test.each(['500.0', '5e2', '0.5E+3', '500.00000000000000000000'])('also as %s', async amount => {
    const raw = bodyWith('').replace(/"amount":\d+(.*),}/, `"amount":${amount}$1}`)
    const { status, text } = await send('POST', '/transactions', raw)
    expect([status, text]).toEqual([200, expect.stringContaining('"amount":500,')])
  })

  test('and metadata an object, items objects, also where a number has many digits', async () => {
    for (const [fields, rule] of [
      ['"metadata":175928847299117063', 'metadata must be an object'],
      ['"items":[175928847299117063]', 'items[0] must be an object'],
      ['"items":[{"price":1e400}]', 'items[0].price must be a number'],
      ['"items":[{"name":1.10}]', 'items[0].name must be a string'],
    ] as const)
      expect(await send('POST', '/transactions', bodyWith(fields))).toEqual({
        status: 422,
        text: JSON.stringify({ errors: rule }),
      })
  })
})
