import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { newId } from '#lib/core/ids.ts'
import { db, Prisma, transaction } from '#lib/db/client.ts'
import { listOpenItems } from '#lib/differences/differences.ts'
import { call } from '#lib/testing/call.ts'
import {
  type Api,
  CHARGE,
  expectBalancedLedger,
  inOwnDatabase,
  makeMerchant,
  makeToken,
  startApiWithMerchant,
} from '#lib/testing/fixtures.ts'
import { makeOrdersDue, sendDueRefunds, sendDueWithdrawals } from '#lib/testing/orders.ts'
import { untilLocked } from '#lib/testing/waiting.ts'

const HOOK = 'https://shop.example/hook'

inOwnDatabase()

let api: Api
let accountId: string
let token: string
beforeAll(async () => {
  ;({ api } = await startApiWithMerchant())
})
beforeEach(async () => {
  accountId = (await makeMerchant()).id
  token = await makeToken(accountId)
})
afterAll(() => api.close())

const callApi = (method: string, path: string, body?: unknown, key?: string) =>
  call(api.url, method, path, { token, body, ...(key && { key }) })
const post = async (path: string, body: unknown) => (await callApi('POST', path, body)).body.data
const readBalance = async () => (await callApi('GET', '/account')).body.balance
const readEvents = async () => (await callApi('GET', '/events')).body.data

/** Pays a charge of 100 reais, whose events also have a webhook_url; returns its id. */
async function pay(client_email = 'ana@example.com'): Promise<string> {
  const charge = { ...CHARGE, amount: 10_000, client_email, webhook_url: HOOK }
  const { transaction_id } = await post('/transactions', charge)
  await post(`/sandbox/transactions/${transaction_id}`, { outcome: 'paid' })
  return transaction_id
}

/** Sends the bodies at once; each waits for the locked row, so that all have passed what is checked before. */
async function race(table: string, id: string, path: string, bodies: object[]) {
  const items = (await listOpenItems()).length
  const responses = await transaction(async tx => {
    await tx.$queryRaw`
      SELECT FROM ${Prisma.raw(table)} WHERE account_id = ${accountId}::uuid AND id = ${id}::uuid FOR UPDATE`
    const sent = Promise.all(bodies.map(body => callApi('POST', path, body)))
    await untilLocked(bodies.length)
    return { sent }
  })
  const statuses = (await responses.sent).map(({ status }) => status)
  expect(await listOpenItems()).toHaveLength(items)
  await expectBalancedLedger(accountId)
  return statuses.sort((a, b) => a - b)
}

async function settleRefunds(): Promise<void> {
  await sendDueRefunds()
  await db().$executeRaw`UPDATE simulator_orders SET settles_at = now() WHERE kind = 'refund'`
  await makeOrdersDue()
  await sendDueRefunds()
}

test('a refund of a charge of hold@ waits until it is decided, and a rejected one is told with its code', async () => {
  const charge = await pay('hold@example.com')
  const refund = await post(`/transactions/${charge}/refunds`, { amount: 4_000 })
  await settleRefunds()
  const read = () => callApi('GET', `/transactions/${charge}/refunds/${refund.id}`)
  expect((await read()).body.data).toMatchObject({ status: 'pending', rejection_code: null })
  const path = `/sandbox/refunds/${refund.id}`
  const { status, body } = await callApi('POST', path, { outcome: 'rejected' }, 'decision')
  expect([status, body]).toEqual([200, (await read()).body])
  expect(body.data).toMatchObject({ status: 'rejected', rejection_code: 'simulated' })
  expect(await readBalance()).toBe(10_000)
  expect((await readEvents()).at(-1)).toMatchObject({
    type: 'transaction.refund_failed',
    refund: { id: refund.id, rejection_code: 'simulated' },
  })
  expect((await callApi('POST', path, { outcome: 'rejected' }, 'decision')).body).toEqual(body)
  const again = await callApi('POST', path, { outcome: 'completed' })
  expect([again.status, again.text]).toEqual([409, '{"error":"Refund is already rejected"}'])
  await expectBalancedLedger(accountId)
})

test('a refund is completed by its decision, and refused by itself for reject@', async () => {
  const held = await post(`/transactions/${await pay('hold@example.com')}/refunds`, {})
  expect(await post(`/sandbox/refunds/${held.id}`, { outcome: 'completed' })).toMatchObject({
    status: 'completed',
    return_id: expect.stringMatching(/^\w{32}$/),
  })
  const charge = await pay('reject@example.com')
  const refund = await post(`/transactions/${charge}/refunds`, {})
  await settleRefunds()
  const { data } = (await callApi('GET', `/transactions/${charge}/refunds/${refund.id}`)).body
  expect(data).toMatchObject({ status: 'rejected', rejection_code: 'simulated' })
  await expectBalancedLedger(accountId)
})

test('an approved withdrawal is returned in parts, never more than was sent', async () => {
  await pay()
  const order = { amount: 5_000, pix_key: 'hold@example.com', pix_key_type: 'email' }
  const { id } = await post('/withdrawals', order)
  const path = `/sandbox/withdrawals/${id}`
  const early = await callApi('POST', path, { outcome: 'returned' })
  expect(early.body.errors.outcome).toEqual([
    'outcome must not be returned: the withdrawal is pending',
  ])
  await post(path, { outcome: 'approved' })
  expect(await post(path, { outcome: 'returned', amount: 2_000 })).toMatchObject({
    status: 'approved',
    returned_amount: 2_000,
  })
  const above = await callApi('POST', path, { outcome: 'returned', amount: 3_001 })
  expect(above.body.errors.amount).toEqual([
    'amount must be at most 3000, what is left of the withdrawal',
  ])
  expect(await post(path, { outcome: 'returned' })).toMatchObject({ returned_amount: 5_000 })
  expect(await readBalance()).toBe(10_000)
  const types = (await readEvents()).map(({ type }: { type: string }) => type)
  expect(types.filter((type: string) => type === 'withdrawal.returned')).toHaveLength(2)
  await expectBalancedLedger(accountId)
})

test('a dispute is opened and lost, read by token, and told to endpoints and the feed only', async () => {
  const charge = await pay()
  const endpoint = { url: 'https://shop.example/all', event_types: ['transaction.dispute_closed'] }
  await post('/webhooks/endpoints', endpoint)
  const path = `/sandbox/transactions/${charge}/disputes`
  const { body } = await callApi('POST', path, { amount: 6_000 }, 'a-dispute')
  const opened = body.data
  expect(opened).toMatchObject({ transaction_id: charge, amount: 6_000, status: 'open' })
  expect((await callApi('POST', path, { amount: 6_000 }, 'a-dispute')).body).toEqual(body)
  expect(await readBalance()).toBe(4_000)
  const lost = await post(`/sandbox/disputes/${opened.id}`, { outcome: 'lost', amount: 2_000 })
  expect(lost).toMatchObject({ status: 'lost', lost_amount: 2_000 })
  expect(await readBalance()).toBe(8_000)
  expect((await callApi('GET', `/disputes/${opened.id}`)).body.data).toEqual(lost)
  const list = await callApi('GET', '/disputes?status=lost')
  expect(list.body).toEqual({ data: [lost], next_cursor: null })
  expect((await callApi('GET', '/disputes?status=won')).body.data).toEqual([])
  const events = await readEvents()
  expect(events.slice(-2)).toMatchObject([
    { type: 'transaction.dispute_opened', event: 'dispute_opened', dispute: opened },
    { type: 'transaction.dispute_closed', transaction: { id: charge }, dispute: lost },
  ])
  const deliveries = await db().delivery.findMany({
    where: { accountId },
    orderBy: { sequence: 'asc' },
  })
  expect(deliveries.map(({ url, sequence }) => [url, Number(sequence)])).toEqual([
    [HOOK, 1],
    [endpoint.url, 3],
  ])
  await expectBalancedLedger(accountId)
})

test('a dispute is won once, and more than is left of a charge is refused without a note to the operator', async () => {
  const charge = await pay()
  const path = `/sandbox/transactions/${charge}/disputes`
  const items = (await listOpenItems()).length
  const above = await callApi('POST', path, { amount: 10_001 })
  expect(above.body.errors.amount).toEqual([
    'amount must be at most 10000, what is left of the charge',
  ])
  const { id } = await post(path, {})
  expect((await callApi('POST', path, {})).status).toBe(422)
  expect(await post(`/sandbox/disputes/${id}`, { outcome: 'won' })).toMatchObject({
    status: 'won',
    lost_amount: null,
  })
  expect(await readBalance()).toBe(10_000)
  const again = await callApi('POST', `/sandbox/disputes/${id}`, { outcome: 'lost' })
  expect([again.status, again.text]).toEqual([409, '{"error":"Dispute is already won"}'])
  expect(await listOpenItems()).toHaveLength(items)
  await expectBalancedLedger(accountId)
})

test('disputes and refunds of another account are not found, and a token needs transactions:read', async () => {
  const { id } = await post(`/sandbox/transactions/${await pay()}/disputes`, {})
  const stranger = await makeToken((await makeMerchant()).id)
  for (const path of [`/disputes/${id}`, `/disputes/${newId()}`, '/disputes/none']) {
    const { status, text } = await call(api.url, 'GET', path, { token: stranger })
    expect([status, text]).toEqual([404, '{"error":"Dispute not found"}'])
  }
  for (const [path, name] of [
    [`/sandbox/disputes/${id}`, 'Dispute'],
    [`/sandbox/refunds/${newId()}`, 'Refund'],
  ]) {
    const body = { outcome: name === 'Dispute' ? 'won' : 'rejected' }
    const { text } = await call(api.url, 'POST', path ?? '', { token: stranger, body })
    expect(text).toBe(`{"error":"${name} not found"}`)
  }
  const poor = await makeToken(accountId, { permissions: ['account:read'] })
  const { status, headers } = await call(api.url, 'GET', '/disputes', { token: poor })
  expect([status, headers.get('x-required-permission')]).toEqual([403, 'transactions:read'])
})

test('a pending withdrawal says that it waits for its turn, then for the bank; an ended one for nothing', async () => {
  await pay()
  const order = { amount: 5_000, pix_key: 'hold@example.com', pix_key_type: 'email' }
  const { id } = await post('/withdrawals', order)
  const read = async () => (await callApi('GET', `/withdrawals/${id}`)).body.data
  expect(await read()).toMatchObject({ status: 'pending', awaiting: 'balance_window' })
  await sendDueWithdrawals()
  expect(await read()).toMatchObject({ status: 'pending', awaiting: 'bank' })
  await post(`/sandbox/withdrawals/${id}`, { outcome: 'rejected', reason: 'No such account' })
  expect(await read()).toMatchObject({ awaiting: null, rejection_code: 'other' })
})

test('returns of one withdrawal at once send back what was sent, once, without a note to the operator', async () => {
  await pay()
  const order = { amount: 5_000, pix_key: 'hold@example.com', pix_key_type: 'email' }
  const { id } = await post('/withdrawals', order)
  const path = `/sandbox/withdrawals/${id}`
  await post(path, { outcome: 'approved' })
  const bodies = [{ outcome: 'returned' }, { outcome: 'returned' }, { outcome: 'returned' }]
  expect(await race('withdrawals', id, path, bodies)).toEqual([200, 422, 422])
  expect(await readBalance()).toBe(10_000)
})

test('disputes of one charge opened at once hold no more than it, without a note to the operator', async () => {
  for (const bodies of [
    [{}, {}, {}],
    [{ amount: 6_000 }, { amount: 6_000 }],
  ]) {
    const charge = await pay()
    const path = `/sandbox/transactions/${charge}/disputes`
    const [first, ...others] = await race('charges', charge, path, bodies)
    expect([first, new Set(others)]).toEqual([200, new Set([422])])
  }
  expect(await readBalance()).toBe(4_000)
})

test('a dispute that is won and lost at once ends once, without a note to the operator', async () => {
  for (const bodies of [
    [{ outcome: 'won' }, { outcome: 'lost' }],
    [
      { outcome: 'lost', amount: 1 },
      { outcome: 'lost', amount: 2 },
    ],
  ]) {
    const charge = await pay()
    const { id } = await post(`/sandbox/transactions/${charge}/disputes`, {})
    expect(await race('charges', charge, `/sandbox/disputes/${id}`, bodies)).toEqual([200, 409])
  }
})

test('a refund that the bank has is decided by its id in capitals too, as one order', async () => {
  const { id } = await post(`/transactions/${await pay('hold@example.com')}/refunds`, {})
  await sendDueRefunds()
  const count = () => db().simulatorOrder.count({ where: { kind: 'refund' } })
  const orders = await count()
  const decided = await post(`/sandbox/refunds/${id.toUpperCase()}`, { outcome: 'rejected' })
  expect(decided).toMatchObject({ id, status: 'rejected' })
  expect(await count()).toBe(orders)
  await expectBalancedLedger(accountId)
})
