import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { call } from '#lib/testing/call.ts'
import { deliverDue, makeRetriesDue } from '#lib/testing/deliveries.ts'
import {
  type Api,
  CHARGE,
  expectBalancedLedger,
  fundMerchant,
  inOwnDatabase,
  makeMerchant,
  makeToken,
  startApi,
} from '#lib/testing/fixtures.ts'
import { expireDueCharges, sendDueRefunds, sendDueWithdrawals } from '#lib/testing/orders.ts'
import { openReceiver, type Receiver } from '#lib/testing/receiver.ts'
import { readResourceSecret } from '#lib/webhooks/secrets.ts'

inOwnDatabase()

const PARENT_ID = '00f067aa0ba902b7'

let api: Api
let merchant: Account
let token: string
let receiver: Receiver
let traceId: string
let requestId: string

beforeAll(async () => {
  api = await startApi()
  merchant = await makeMerchant()
  token = await makeToken(merchant.id)
  receiver = await openReceiver()
})
afterAll(async () => {
  await api.close()
  await receiver.close()
  await expectBalancedLedger(merchant.id)
})
beforeEach(() => {
  receiver.calls.length = 0
  traceId = newId().replaceAll('-', '')
  requestId = `order-${newId()}`
})

async function request(path: string, body: unknown, traceparent = `00-${traceId}-${PARENT_ID}-01`) {
  const headers = { 'x-request-id': requestId, traceparent }
  const response = await call(api.url, 'POST', path, { token, body, headers })
  expect(response.status, response.text).toBeLessThan(300)
  return response.body
}

async function createCharge(headers: Record<string, string> = {}): Promise<string> {
  const body = { ...CHARGE, webhook_url: receiver.url }
  const response = await call(api.url, 'POST', '/transactions', { token, body, headers })
  expect(response.status, response.text).toBe(200)
  return response.body.data.transaction_id
}

/** Returns the headers of the only webhook of this type, whose signature is right. */
async function deliverOne(type: string) {
  await deliverDue()
  const calls = receiver.calls.filter(({ text }) => JSON.parse(text).type === type)
  expect(calls).toHaveLength(1)
  const { headers = {}, text = '' } = calls[0] ?? {}
  const secret = (await readResourceSecret(merchant.id, 'test')) ?? ''
  new Webhook(secret).verify(text, headers as Record<string, string>)
  return headers
}

async function untilEvent(
  where: { subjectId?: string; type: string },
  work: () => Promise<unknown>,
) {
  const find = () => db().event.findFirst({ where: { accountId: merchant.id, ...where } })
  await expect
    .poll(async () => {
      await work()
      return find()
    })
    .not.toBeNull()
  return find()
}

function expectCaused(headers: Awaited<ReturnType<typeof deliverOne>>): void {
  expect(headers['troco-request-id']).toBe(requestId)
  const [version, trace, span, flags] = String(headers.traceparent).split('-')
  expect([version, trace, flags]).toEqual(['00', traceId, '01'])
  expect(span).not.toBe(PARENT_ID)
}

test('the webhook of a payment continues the trace of the request that made it, and names it', async () => {
  const id = await createCharge()
  await request(`/sandbox/transactions/${id}`, { outcome: 'paid' })
  expectCaused(await deliverOne('transaction.paid'))
})

test('each attempt continues the same trace with a span of its own, and is stored with it', async () => {
  receiver.respondWith((_received, response) => response.writeHead(500).end())
  const id = await createCharge()
  await request(`/sandbox/transactions/${id}`, { outcome: 'failed' })
  await deliverDue()
  receiver.respondWith((_received, response) => response.writeHead(200).end())
  await makeRetriesDue()
  await deliverDue()
  expect(receiver.calls).toHaveLength(2)
  const sent = receiver.calls.map(({ headers }) => String(headers.traceparent))
  expect(new Set(sent).size).toBe(2)
  for (const traceparent of sent) expect(traceparent.split('-')[1]).toBe(traceId)
  const attempts = await db().deliveryAttempt.findMany({
    where: { accountId: merchant.id, delivery: { subjectId: id } },
    orderBy: { number: 'asc' },
  })
  const stored = attempts.map(({ requestHeaders }) => requestHeaders as Record<string, string>)
  expect(stored.map(({ traceparent }) => traceparent)).toEqual(sent)
})

test('a withdrawal passes its request on to the webhook, although a worker sends it', async () => {
  await fundMerchant(merchant, 5_000)
  const order = { amount: 1_000, pix_key: 'ana@example.com', pix_key_type: 'email' }
  await request('/withdrawals', { ...order, webhook_url: receiver.url })
  await untilEvent({ type: 'withdrawal.approved' }, sendDueWithdrawals)
  expectCaused(await deliverOne('withdrawal.approved'))
})

test('a refund passes its request on to its event', async () => {
  const id = await createCharge()
  await call(api.url, 'POST', `/sandbox/transactions/${id}`, { token, body: { outcome: 'paid' } })
  await request(`/transactions/${id}/refunds`, { amount: 100 })
  const event = await untilEvent({ subjectId: id, type: 'transaction.refunded' }, sendDueRefunds)
  expect(event?.trace).toMatch(new RegExp(`^${traceId}-[0-9a-f]{16}-01-${requestId}$`))
})

test('what a job finds out has no request: the trace begins with the event', async () => {
  const headers = { 'x-request-id': requestId, traceparent: `00-${traceId}-${PARENT_ID}-01` }
  const id = await createCharge(headers)
  await db()
    .$executeRaw`UPDATE charges SET expires_at = now(), due_at = now() WHERE id = ${id}::uuid`
  await expireDueCharges()
  const sent = await deliverOne('transaction.expired')
  expect(sent).not.toHaveProperty('troco-request-id')
  const event = await db().event.findFirstOrThrow({ where: { subjectId: id } })
  expect(event.trace).toBeNull()
  expect(String(sent.traceparent).split('-')[1]).toBe(event.id.replaceAll('-', ''))
})

test('a malformed traceparent refuses nothing, and is not sent on', async () => {
  const id = await createCharge({ traceparent: 'nonsense' })
  await request(
    `/sandbox/transactions/${id}`,
    { outcome: 'paid' },
    `00-${traceId}-${'0'.repeat(16)}-01`,
  )
  const sent = await deliverOne('transaction.paid')
  expect(sent['troco-request-id']).toBe(requestId)
  expect(sent.traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/)
  expect(sent.traceparent).not.toContain(traceId)
})

test('payments of several requests in one statement keep each its own', async () => {
  const ids = await Promise.all([1, 2, 3, 4, 5, 6].map(() => createCharge()))
  const paid = await Promise.all(
    ids.map(id =>
      call(api.url, 'POST', `/sandbox/transactions/${id}`, {
        token,
        body: { outcome: 'paid' },
        headers: { 'x-request-id': `pays-${id}` },
      }),
    ),
  )
  expect(paid.map(({ status }) => status)).toEqual(Array(6).fill(200))
  const events = await db().event.findMany({ where: { subjectId: { in: ids } } })
  expect(events).toHaveLength(6)
  for (const { subjectId, trace } of events)
    expect(trace).toMatch(new RegExp(`-pays-${subjectId}$`))
})
