import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { receivePayments } from '#lib/charges/receive.ts'
import { supplyEnv } from '#lib/core/settings.ts'
import { db, Prisma } from '#lib/db/client.ts'
import { storeTestUsage } from '#lib/db/test-usage.ts'
import { StubBank } from '#lib/testing/bank.ts'
import { call } from '#lib/testing/call.ts'
import { connectBank, openLiveCharge } from '#lib/testing/connection.ts'
import { deliverDue } from '#lib/testing/deliveries.ts'
import {
  type Api,
  CHARGE,
  inOwnDatabase,
  makeMerchant,
  makeToken,
  startApiWithMerchant,
} from '#lib/testing/fixtures.ts'
import { expireDueCharges } from '#lib/testing/orders.ts'
import { makePayment } from '#lib/testing/payments.ts'
import { openReceiver } from '#lib/testing/receiver.ts'

inOwnDatabase()

let api: Api
let merchant: Awaited<ReturnType<typeof makeMerchant>>
let token: string
beforeAll(async () => {
  ;({ api } = await startApiWithMerchant())
})
beforeEach(async () => {
  merchant = await makeMerchant()
  token = await makeToken(merchant.id)
})
afterAll(() => api.close())

const send = (path: string, body: unknown, more: { key?: string; token?: string } = {}) =>
  call(api.url, 'POST', path, { token, body, ...more })
const post = async (path: string, body: unknown, key?: string) => {
  const response = await send(path, body, { ...(key && { key }) })
  expect(response.status, response.text).toBe(200)
  return response.body.data
}
const openCharge = async (more: object = {}) =>
  (await post('/transactions', { ...CHARGE, ...more })).transaction_id
const pay = async (more: object = {}) => {
  const id = await openCharge(more)
  await post(`/sandbox/transactions/${id}`, { outcome: 'paid' })
  return id
}
const read = async (id: string) =>
  (await call(api.url, 'GET', `/transactions/${id}`, { token })).body.data

/** Ends the hour of everything that the account moved. */
const letHourPass = () => db().$executeRaw`
  UPDATE sandbox_controls SET created_at = created_at - interval '1 hour', ends_at = ends_at - interval '1 hour'
  WHERE account_id = ${merchant.id}::uuid`

test('time passes for the open charges and keys of one account; what has happened keeps its times', async () => {
  const other = await makeToken((await makeMerchant()).id)
  const [open, paid] = [await openCharge(), await pay({ external_id: 'paid' })]
  const body = { ...CHARGE, external_id: 'with-key' }
  const first = await post('/transactions', body, 'key-1')
  const { body: foreign } = await send('/transactions', CHARGE, { token: other })
  const before = await read(paid)
  expect(await post('/sandbox/clock', { advance: '25h' })).toMatchObject({ advanced_s: 90_000 })
  await expireDueCharges()
  expect((await read(open)).status).toBe('expired')
  expect(await read(paid)).toEqual(before)
  const again = await post('/transactions', { ...body, external_id: 'another' }, 'key-1')
  expect(again.transaction_id).not.toBe(first.transaction_id)
  const path = `/transactions/${foreign.data.transaction_id}`
  expect((await call(api.url, 'GET', path, { token: other })).body.data.status).toBe('pending')
})

test('the time for refunds is over for payments before the time passed, and only while it is moved', async () => {
  const early = await pay({ external_id: 'early' })
  await post('/sandbox/clock', { advance: '60d' })
  const late = await pay({ external_id: 'late' })
  await post('/sandbox/clock', { advance: '31d' })
  const refund = (id: string) => send(`/transactions/${id}/refunds`, { amount: 1 })
  expect((await refund(early)).headers.get('x-error-code')).toBe('refund_window_closed')
  expect((await refund(late)).status).toBe(200)
  const ended = await call(api.url, 'DELETE', '/sandbox/controls', { token })
  expect(ended.body.data).toEqual({
    advanced_s: 0,
    webhook_fault: null,
    webhooks_left: 0,
    ends_at: null,
  })
  expect((await refund(early)).status).toBe(200)
  await post('/sandbox/clock', { advance: '91d' })
  expect((await refund(early)).status).toBe(409)
  await letHourPass()
  expect((await refund(early)).status).toBe(200)
})

test('a repeated request lets time pass once, although it lets its own key grow old', async () => {
  for (const _ of [1, 2]) {
    const state = await post('/sandbox/clock', { advance: '25h' }, 'advance-1')
    expect(state).toMatchObject({ advanced_s: 90_000 })
  }
})

test('no more than ten years pass in an hour, and what is moved counts toward the quota', async () => {
  await openCharge()
  supplyEnv({ TEST_BYTES_PER_DAY: '1000000' })
  onTestFinished(() => supplyEnv({ TEST_BYTES_PER_DAY: '0' }))
  for (let year = 0; year < 10; year++) await post('/sandbox/clock', { advance: '366d' })
  const refused = await send('/sandbox/clock', { advance: '1s' })
  expect([refused.status, Object.keys(refused.body.errors)]).toEqual([422, ['advance']])
  const unreadable = await send('/sandbox/clock', { advance: '25 hours' })
  expect(unreadable.body.errors.advance).toHaveLength(1)
  await storeTestUsage()
  const { bytes } = await db().testUsage.findFirstOrThrow({ where: { accountId: merchant.id } })
  const bodies = 10 * (4_096 + 2 * JSON.stringify({ advance: '366d' }).length)
  expect(Number(bytes)).toBeGreaterThan(bodies)
})

test('a webhook that failed is sent again when time passes', async () => {
  const { url, calls } = await receive()
  await post('/sandbox/webhooks', { fault: 'unavailable' })
  await pay({ webhook_url: url })
  await deliverDue()
  expect(calls).toHaveLength(0)
  await post('/sandbox/clock', { advance: '1h' })
  await deliverDue()
  expect(calls).toHaveLength(1)
  const { body } = await call(api.url, 'GET', '/webhooks/deliveries', { token })
  const one = await call(api.url, 'GET', `/webhooks/deliveries/${body.data[0].id}`, { token })
  const [sent, failed] = one.body.data.attempts.toSorted(
    (a: { number: number }, b: { number: number }) => b.number - a.number,
  )
  expect([failed.response_status, sent.response_status]).toEqual([503, 200])
  expect(failed.response_body).toBe('Not sent: POST /sandbox/webhooks asked for this failure')
})

test.each([
  ['timeout', 1, 'pending'],
  ['duplicate', 2, 'delivered'],
])('of the next webhooks, as many as were asked for meet a %s', async (fault, count, status) => {
  const { url, calls } = await receive()
  expect(await post('/sandbox/webhooks', { fault })).toMatchObject({
    webhook_fault: fault,
    webhooks_left: 1,
  })
  await pay({ external_id: 'one', webhook_url: url })
  await deliverDue()
  expect(calls).toHaveLength(count)
  const { body } = await call(api.url, 'GET', '/webhooks/deliveries', { token })
  expect(body.data[0].status).toBe(status)
  await pay({ external_id: 'two', webhook_url: url })
  await deliverDue()
  expect(calls).toHaveLength(count + 1)
})

test('after an hour, webhooks fail no longer', async () => {
  const { url, calls } = await receive()
  await post('/sandbox/webhooks', { fault: 'unavailable', count: 100 })
  await letHourPass()
  await pay({ webhook_url: url })
  await deliverDue()
  expect(calls).toHaveLength(1)
})

test('live mode has none of it: neither its requests, nor its charges, keys and webhooks', async () => {
  await connectBank(new StubBank(), merchant)
  const live = await makeToken(merchant.id, { mode: 'live' })
  for (const [method, name, body] of [
    ['POST', 'clock', { advance: '25h' }],
    ['POST', 'webhooks', { fault: 'timeout' }],
    ['DELETE', 'controls', undefined],
  ] as const) {
    const refused = await call(api.url, method, `/sandbox/${name}`, { token: live, body })
    expect([refused.status, refused.headers.get('x-error-code')]).toEqual([404, 'test_mode_only'])
  }
  await openLiveCharge(merchant)
  const { id } = await openLiveCharge(merchant)
  await db().$executeRaw`
    UPDATE charges SET webhook_url = 'https://127.0.0.1:1/hook', webhook_host = '127.0.0.1' WHERE id = ${id}::uuid`
  await receivePayments([
    { accountId: merchant.id, chargeId: id, payments: [makePayment(CHARGE.amount)] },
  ])
  await db().$executeRaw`
    INSERT INTO idempotency_keys (account_id, mode, path, key, request_hash, resource_id, expires_at)
    VALUES (${merchant.id}::uuid, 'live', '/', 'k', '', ${id}::uuid, now() + interval '1 day')`
  const before = await readLive()
  expect(before.map(({ source }) => source)).toEqual(['charge', 'charge', 'delivery', 'key'])
  await post('/sandbox/clock', { advance: '91d' })
  await post('/sandbox/webhooks', { fault: 'unavailable', count: 100 })
  expect(await readLive()).toEqual(before)
  const [now] = await db().$queryRaw<{ isReal: boolean }[]>`
    SELECT troco_test_now(${merchant.id}::uuid, 'live', now() - interval '1 hour') = now() AS "isReal"`
  expect(now?.isReal).toBe(true)
  await deliverDue()
  const attempts = await db().$queryRaw<{ status: number | null; code: string }[]>`
    SELECT response_status AS status, problem_code AS code FROM delivery_attempts
    WHERE account_id = ${merchant.id}::uuid`
  expect(attempts).toEqual([{ status: null, code: 'port_low' }])
})

async function readLive() {
  const due = (source: string, table: string, columns: string) => Prisma.sql`
    SELECT ${source} AS source, ${Prisma.raw(columns)}::text AS due FROM ${Prisma.raw(table)}
    WHERE account_id = ${merchant.id}::uuid AND mode = 'live'`
  return db().$queryRaw<{ source: string; due: string }[]>`
    ${due('charge', 'charges', 'ROW(expires_at, due_at)')}
    UNION ALL ${due('key', 'idempotency_keys', 'expires_at')}
    UNION ALL ${due('delivery', 'deliveries', 'due_at')} ORDER BY 1, 2`
}

test.each([
  ['/sandbox/clock', { advance: '367d' }, 'advance'],
  ['/sandbox/clock', { advance: '-1h' }, 'advance'],
  ['/sandbox/clock', { advance: 'soon' }, 'advance'],
  ['/sandbox/clock', {}, 'advance'],
  ['/sandbox/webhooks', { fault: 'lost' }, 'fault'],
  ['/sandbox/webhooks', { fault: 'timeout', count: 101 }, 'count'],
])('%s refuses %j', async (path, body, field) => {
  const refused = await send(path, body)
  expect(refused.status).toBe(422)
  expect(Object.keys(refused.body.errors)).toEqual([field])
})

async function receive() {
  const receiver = await openReceiver()
  onTestFinished(receiver.close)
  return receiver
}
