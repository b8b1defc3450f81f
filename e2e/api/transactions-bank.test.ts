import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import type { ChargeTerms, GatewayResult, OpenedCharge } from '#lib/banks/gateway.ts'
import { newId, removeHyphens } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { REFUSAL, StubBank } from '#lib/testing/bank.ts'
import { call } from '#lib/testing/call.ts'
import { connectBank, restConnection } from '#lib/testing/connection.ts'
import {
  type Api,
  CHARGE,
  inOwnDatabase,
  makeMerchant,
  makeToken,
  startApi,
} from '#lib/testing/fixtures.ts'

inOwnDatabase()

let api: Api
let merchant: Account
let token: string
let bank: StubBank
let connectionId: string
/** Orders that reached the bank. */
let orders: ChargeTerms[]
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.close())
beforeEach(async () => {
  merchant = await makeMerchant()
  token = await makeToken(merchant.id, { mode: 'live' })
  bank = new StubBank()
  orders = []
  connectionId = await connectBank(bank, merchant)
})

const LOST = { outcome: 'unknown', reason: 'the connection broke' } as const

/** The bank creates each charge, and responds with these results in turn, then as it would. */
function respondWith(...results: GatewayResult<OpenedCharge>[]): void {
  const createCharge = bank.createCharge.bind(bank)
  bank.createCharge = async order => {
    orders.push(order)
    const created = await createCharge(order)
    return results.shift() ?? created
  }
}

const post = (headers: Record<string, string> = {}, body: object = CHARGE) =>
  call(api.url, 'POST', '/transactions', { token, body, headers })

test('repeated with its Idempotency-Key after lost responses, a request creates one charge under one txid', async () => {
  respondWith(LOST, LOST, LOST, LOST)
  const headers = { 'idempotency-key': newId() }
  const first = await post(headers)
  expect(first.status).toBe(503)
  expect(first.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
  expect(orders).toHaveLength(3)
  const second = await post(headers)
  expect(second.status, second.text).toBe(200)
  const { transaction_id: id } = second.body.data
  expect(new Set(orders.map(({ txid }) => txid))).toEqual(new Set([removeHyphens(id)]))
  expect((await post(headers)).body).toEqual(second.body)
  expect(orders).toHaveLength(5)
  const rows = await db().charge.findMany({ where: { accountId: merchant.id } })
  expect(rows).toMatchObject([{ id, status: 'pending' }])
})

describe('a charge that the bank refuses', () => {
  test.each([
    ['amount', 'amount'],
    ['document', 'client_doc'],
    ['expiry', 'expires_in'],
  ] as const)('because of its %s is a 422 in the shape of the endpoint', async (field, name) => {
    respondWith({ outcome: 'rejected', field, ...REFUSAL })
    const headers = { 'idempotency-key': newId() }
    const refused = await post(headers, { ...CHARGE, expires_in: 3_600 })
    expect(refused.status).toBe(422)
    expect(refused.body).toEqual({ errors: `${name} was refused by the bank` })
    expect(refused.headers.get('x-error-fields')).toBe(name)
    expect(refused.text).not.toContain(REFUSAL.bankText)
    // Nothing is kept: the corrected request may use the same key.
    expect((await post(headers, CHARGE)).status).toBe(200)
  })

  test.each<[string, GatewayResult<never>, string]>([
    ['without naming a field', { outcome: 'rejected', ...REFUSAL }, '2'],
    ['because it is blocked', { outcome: 'blocked', code: 'key', reason: 'chave_invalida' }, '300'],
    ['because of its rate', { outcome: 'retryable', reason: '429', retryAfterMs: 7_000 }, '7'],
    ['because it is down', { outcome: 'retryable', reason: 'ECONNREFUSED' }, '2'],
  ])(
    '%s is a 503 with the time of the next attempt, which has the same txid',
    async (_, result, retryAfter) => {
      respondWith(result, result)
      const headers = { 'idempotency-key': newId() }
      const refused = await post(headers)
      expect([refused.status, refused.text]).toEqual([503, '{"error":"Service unavailable"}'])
      expect(refused.headers.get('retry-after')).toBe(retryAfter)
      expect(await db().charge.count({ where: { accountId: merchant.id } })).toBe(0)
      expect((await post(headers)).status).toBe(503)
      const { body } = await post(headers)
      const txid = removeHyphens(body.data.transaction_id)
      expect(orders.map(order => order.txid)).toEqual([txid, txid, txid])
      expect((await post(headers)).body).toEqual(body)
      expect(orders).toHaveLength(3)
    },
  )
})

test('while the connection rests, live charges are a 503 and test mode works', async () => {
  respondWith()
  await restConnection(connectionId)
  const refused = await post()
  expect([refused.status, orders]).toEqual([503, []])
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(10)
  token = await makeToken(merchant.id, { mode: 'test' })
  expect((await post()).status).toBe(200)
})
