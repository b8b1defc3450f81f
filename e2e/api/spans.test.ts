import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { newId } from '#lib/core/ids.ts'
import { StubBank } from '#lib/testing/bank.ts'
import { call } from '#lib/testing/call.ts'
import { CANARY } from '#lib/testing/canary.ts'
import { type Collector, openCollector, type ReadSpan } from '#lib/testing/collector.ts'
import { connectBank, fundLive } from '#lib/testing/connection.ts'
import { addEndpoint, deliverDue, makeRetriesDue } from '#lib/testing/deliveries.ts'
import {
  type Api,
  CHARGE,
  fundMerchant,
  inOwnDatabase,
  makeMerchant,
  makeToken,
  startApi,
} from '#lib/testing/fixtures.ts'
import { sendDueRefunds, sendDueWithdrawals } from '#lib/testing/orders.ts'
import { openReceiver, type Receiver, status } from '#lib/testing/receiver.ts'

inOwnDatabase()

const PARENT_ID = '00f067aa0ba902b7'
const [SERVER, CLIENT, PRODUCER] = [2, 3, 4]
const [UNSET, ERROR] = [0, 2]
/** Clocks are read in whole milliseconds. */
const CLOCK_MS = 1

let api: Api
let collector: Collector
let receiver: Receiver
let merchant: Account
let token: string
let traceId: string
let requestId: string

beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.close())
beforeEach(async () => {
  collector = await openCollector({ OTEL_SERVICE_NAME: 'pix-gateway' })
  receiver = await openReceiver()
  merchant = await makeMerchant()
  token = await makeToken(merchant.id)
  traceId = newId().replaceAll('-', '')
  requestId = `order-${newId()}`
  return async () => {
    await collector.close()
    await receiver.close()
  }
})

async function send(path: string, body: object, flags = '01') {
  const headers = { 'x-request-id': requestId, traceparent: `00-${traceId}-${PARENT_ID}-${flags}` }
  return call(api.url, 'POST', path, { token, body, headers })
}

async function createCharge(): Promise<string> {
  const body = { ...CHARGE, webhook_url: `${receiver.url}/${CANARY.password}` }
  const { body: created, text } = await call(api.url, 'POST', '/transactions', { token, body })
  expect(created.data, text).toBeDefined()
  return created.data.transaction_id
}

/** Waits for the span of the last request, which ends when its response has left. */
async function readTrace(last: string, id = traceId): Promise<ReadSpan[]> {
  let spans: ReadSpan[] = []
  const readNames = async () => {
    spans = (await collector.readSpans()).filter(span => span.traceId === id)
    return spans.map(({ name }) => name)
  }
  await expect.poll(readNames).toContain(last)
  return spans
}

function find(spans: ReadSpan[], name: string): ReadSpan {
  const found = spans.filter(span => span.name === name)
  expect(found, `${name} among ${spans.map(span => span.name)}`).toHaveLength(1)
  return found[0] as ReadSpan
}

function expectOrder(...times: number[]): void {
  for (const [index, time] of times.slice(1).entries())
    expect(time).toBeGreaterThanOrEqual((times[index] ?? 0) - CLOCK_MS)
}

test('one trace leads from the request of a withdrawal by its event to the 2xx of the receiver', async () => {
  await fundMerchant(merchant, 5_000)
  receiver.respondWith(status(500))
  const began = Date.now()
  const order = { amount: 1_000, pix_key: 'ana@example.com', webhook_url: receiver.url }
  const ordered = await send('/withdrawals', order)
  expect(ordered.status, ordered.text).toBe(200)
  await expect
    .poll(async () => {
      await sendDueWithdrawals()
      await deliverDue()
      return receiver.calls.length
    })
    .toBe(1)
  receiver.respondWith(status(204))
  await makeRetriesDue()
  await deliverDue()
  const ended = Date.now()

  const spans = await readTrace('deliver withdrawal.approved')
  const request = find(spans, 'POST /withdrawals')
  const event = find(spans, 'event withdrawal.approved')
  const attempts = spans.filter(({ name }) => name === 'deliver withdrawal.approved')
  expect(request).toMatchObject({ parentSpanId: PARENT_ID, kind: SERVER, statusCode: UNSET })
  expect(event).toMatchObject({ parentSpanId: request.spanId, kind: PRODUCER, statusCode: UNSET })
  expect(attempts).toMatchObject([
    { parentSpanId: event.spanId, kind: CLIENT, statusCode: ERROR },
    { parentSpanId: event.spanId, kind: CLIENT, statusCode: UNSET },
  ])
  expect(attempts.map(({ spanId }) => spanId)).toEqual(
    receiver.calls.map(({ headers }) => String(headers.traceparent).split('-')[2]),
  )
  expect(spans).toHaveLength(4)
  expectOrder(began, ...[request, event, ...attempts].map(({ startMs }) => startMs), ended)
  for (const { startMs, endMs } of spans) expectOrder(startMs, endMs, ended)
  const common = { 'troco.account_id': merchant.id, 'troco.mode': 'test' }
  expect(request.attributes).toEqual({
    ...common,
    'troco.request_id': requestId,
    'http.request.method': 'POST',
    'http.route': '/withdrawals',
    'http.response.status_code': '200',
  })
  const called = { ...common, 'troco.request_id': requestId, 'server.address': '127.0.0.1' }
  expect(attempts.map(({ attributes }) => attributes)).toMatchObject([
    { ...called, 'http.response.status_code': '500', 'error.type': 'status', 'troco.attempt': '1' },
    { ...called, 'http.response.status_code': '204', 'troco.attempt': '2' },
  ])
  expect(request.service).toMatchObject({ 'service.name': 'pix-gateway', 'troco.role': 'web' })
})

test('calls of a bank about a withdrawal or a refund belong to its request, although a worker makes them', async () => {
  const bank = new StubBank()
  await connectBank(bank, merchant)
  const chargeId = await fundLive(merchant, 5_000)
  token = await makeToken(merchant.id, { mode: 'live' })
  await send('/withdrawals', { amount: 1_000, pix_key: 'ana@example.com' })
  await send(`/transactions/${chargeId}/refunds`, { amount: 500 })
  await sendDueWithdrawals()
  await sendDueRefunds()
  const spans = await readTrace('bank refundCharge')
  const calls = [
    ['POST /withdrawals', 'bank sendPayout'],
    ['POST /transactions/{id}/refunds', 'bank refundCharge'],
  ] as const
  for (const [request, made] of calls) {
    const span = find(spans, made)
    expect(span.parentSpanId).toBe(find(spans, request).spanId)
    expect(span.kind).toBe(CLIENT)
  }
})

test('the event of several deliveries is one span, and names neither payer, token nor path', async () => {
  await addEndpoint(merchant, `${receiver.url}/${CANARY.password}`)
  const id = await createCharge()
  const paid = await send(`/sandbox/transactions/${id}`, { outcome: 'paid' })
  expect(paid.status, paid.text).toBe(200)
  await deliverDue()
  expect(receiver.calls).toHaveLength(2)
  const spans = await readTrace('deliver transaction.paid')
  const event = find(spans, 'event transaction.paid')
  const request = find(spans, 'POST /sandbox/transactions/{id}')
  expect(event.parentSpanId).toBe(request.spanId)
  expectOrder(request.startMs, event.startMs, request.endMs)
  const attempts = spans.filter(({ name }) => name === 'deliver transaction.paid')
  expect(attempts.map(({ parentSpanId }) => parentSpanId)).toEqual([event.spanId, event.spanId])
  const sent = collector.calls.map(({ text }) => text).join()
  const { client_name, client_email, client_doc } = CHARGE
  for (const secret of [client_name, client_email, client_doc, token, CANARY.password, 'whsec_'])
    expect(sent).not.toContain(secret)
})

test('a refusal names its code, and only a failure of the server is one of the span', async () => {
  expect((await send('/transactions', { ...CHARGE, amount: -1 })).status).toBe(422)
  const refused = find(await readTrace('POST /transactions'), 'POST /transactions')
  expect(refused.statusCode).toBe(UNSET)
  expect(refused.attributes).toMatchObject({
    'http.response.status_code': '422',
    'error.type': 'invalid_input',
  })
  traceId = newId().replaceAll('-', '')
  const body = { ...CHARGE, client_email: 'unavailable@example.com' }
  expect((await send('/transactions', body)).status).toBe(503)
  const failed = find(await readTrace('POST /transactions'), 'POST /transactions')
  expect(failed.statusCode).toBe(ERROR)
  expect(failed.attributes).toMatchObject({ 'error.type': 'service_unavailable' })
})

test('a caller that does not sample its trace has no span here', async () => {
  const id = await createCharge()
  await send(`/sandbox/transactions/${id}`, { outcome: 'paid' }, '00')
  await deliverDue()
  const unsampledId = traceId
  traceId = newId().replaceAll('-', '')
  await send('/transactions', CHARGE)
  await readTrace('POST /transactions')
  const seen = (await collector.readSpans()).map(span => span.traceId)
  expect(seen).not.toContain(unsampledId)
})

test('what no request caused begins a trace with the event', async () => {
  await addEndpoint(merchant, receiver.url)
  await fundMerchant(merchant, 1_000)
  await deliverDue()
  const { id } = JSON.parse(receiver.calls[0]?.text ?? '')
  const spans = await readTrace('deliver transaction.paid', id.replaceAll('-', ''))
  const event = find(spans, 'event transaction.paid')
  expect(event.parentSpanId).toBeUndefined()
  expect(find(spans, 'deliver transaction.paid').parentSpanId).toBe(event.spanId)
})
