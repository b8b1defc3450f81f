import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { newId } from '#lib/core/ids.ts'
import type { Trace } from '#lib/dashboard/schema.ts'
import { findTraces, readRequestTraces, readTrace } from '#lib/dashboard/trace.ts'
import { db } from '#lib/db/client.ts'
import { storeRequests } from '#lib/http/request-log.ts'
import { call } from '#lib/testing/call.ts'
import { CANARY } from '#lib/testing/canary.ts'
import { deliverDue, makeRetriesDue } from '#lib/testing/deliveries.ts'
import {
  type Api,
  CHARGE,
  fundMerchant,
  inOwnDatabase,
  makeMerchant,
  makeToken,
  startApi,
} from '#lib/testing/fixtures.ts'
import { sendDueWithdrawals } from '#lib/testing/orders.ts'
import { openReceiver, type Receiver } from '#lib/testing/receiver.ts'

inOwnDatabase()

let api: Api
let merchant: Account
let token: string
let receiver: Receiver

beforeAll(async () => {
  api = await startApi()
  merchant = await makeMerchant()
  token = await makeToken(merchant.id)
  receiver = await openReceiver()
})
// Other tests of this process may have filled the buffer of the log of requests.
beforeEach(storeRequests)
afterAll(async () => {
  await api.close()
  await receiver.close()
})

async function request(path: string, body: unknown, requestId: string) {
  const headers = { 'x-request-id': requestId }
  const response = await call(api.url, 'POST', path, { token, body, headers })
  expect(response.status, response.text).toBeLessThan(300)
  return response.body.data
}

const scope = () => ({ accountId: merchant.id, mode: 'test' }) as const
const summarize = ({ steps }: Trace) =>
  steps.map(({ what, name, outcome, request_id }) => [what, name, outcome, request_id])

test('the trace of a charge has its requests, row, events, and deliveries with attempts, by who caused them', async () => {
  receiver.respondWith((_received, response) => response.writeHead(500).end())
  const [creates, pays] = [`creates-${newId()}`, newId()]
  const body = {
    ...CHARGE,
    client_doc: CANARY.document,
    webhook_url: `${receiver.url}/secret-path`,
  }
  const { transaction_id: id } = await request('/transactions', body, creates)
  await request(`/sandbox/transactions/${id}`, { outcome: 'paid' }, pays)
  await call(api.url, 'GET', `/transactions/${id}`, { token })
  await deliverDue()
  receiver.respondWith((_received, response) => response.writeHead(204).end())
  await makeRetriesDue()
  await deliverDue()
  await storeRequests()
  const trace = await readTrace(scope(), id)
  const host = new URL(receiver.url).hostname
  expect(trace).toMatchObject({ account_id: merchant.id, subject: { kind: 'charge', id } })
  expect(trace && summarize(trace)).toEqual([
    ['request', 'POST /transactions', '200', creates],
    ['charge', null, 'paid', creates],
    ['request', 'POST /sandbox/transactions/{id}', '200', pays],
    ['event', 'transaction.paid', null, pays],
    ['delivery', host, 'delivered', pays],
    ['attempt', `${host} #1`, '500', pays],
    ['attempt', `${host} #2`, '204', pays],
  ])
  expect(JSON.stringify(trace)).not.toMatch(
    new RegExp(`${CANARY.document}|${CHARGE.client_name}|secret-path`),
  )
  const [ofPayment, ...others] = await readRequestTraces(scope(), pays)
  expect(others).toEqual([])
  expect(ofPayment && summarize(ofPayment)).toEqual(
    trace && summarize(trace).filter(([, , , caused]) => caused === pays),
  )
  expect(ofPayment?.steps.at(-1)?.trace_id).toBe(pays.replaceAll('-', ''))
  for (const staffId of [id, id.toUpperCase(), pays, creates])
    expect((await findTraces(staffId))[0]?.subject).toEqual({ kind: 'charge', id })
})

test('the trace of a withdrawal has the calls of the bank that its request caused', async () => {
  await fundMerchant(merchant, 9_000)
  const requestId = newId()
  const order = { amount: 1_000, pix_key: CANARY.pixKey, pix_key_type: 'email' }
  const { id } = await request('/withdrawals', { ...order, webhook_url: receiver.url }, requestId)
  await expect
    .poll(async () => {
      await sendDueWithdrawals()
      return (await db().withdrawal.findFirstOrThrow({ where: { id } })).status
    })
    .toBe('approved')
  // The simulated bank is not called, so its journal has no entry.
  const { createdAt: at } = await db().withdrawal.findFirstOrThrow({ where: { id } })
  const createdAt = new Date(at.getTime() + 1)
  await db().gatewayCall.create({
    data: {
      id: newId(),
      accountId: merchant.id,
      mode: 'test',
      gateway: 'efi',
      request: {},
      subjectId: id,
      operation: 'sendPix',
      outcome: 'ok',
      createdAt,
      finishedAt: new Date(createdAt.getTime() + 120),
    },
  })
  await deliverDue()
  await storeRequests()
  const [trace] = await findTraces(requestId)
  const kinds = trace?.steps.map(({ what, request_id }) => [what, request_id])
  const calls = trace?.steps.filter(({ what }) => what === 'bank_call') ?? []
  expect(calls).toMatchObject([{ name: 'sendPix', outcome: 'ok', duration_ms: 120 }])
  expect(kinds).toEqual([
    ['request', requestId],
    ['withdrawal', requestId],
    ['bank_call', requestId],
    ['event', requestId],
    ['delivery', requestId],
    ['attempt', requestId],
  ])
  expect(await findTraces(id)).toEqual([trace])
  expect(JSON.stringify(trace)).not.toContain(CANARY.pixKey)
})

test('a request that changed nothing, also a refused one, is its own trace', async () => {
  const requestId = newId()
  const headers = { 'x-request-id': requestId }
  await call(api.url, 'POST', '/withdrawals', { token, body: {}, headers })
  await storeRequests()
  const traces = await findTraces(requestId)
  expect(traces).toHaveLength(1)
  expect(traces[0]).toMatchObject({
    subject: null,
    steps: [{ what: 'request', name: 'POST /withdrawals', outcome: '422 invalid_input' }],
  })
})

test('no trace shows another account, and an unknown id has none', async () => {
  const requestId = newId()
  const { transaction_id: id } = await request('/transactions', CHARGE, requestId)
  await storeRequests()
  const other = await makeMerchant()
  expect(await readTrace({ accountId: other.id, mode: 'test' }, id)).toBeNull()
  expect(await readTrace({ accountId: merchant.id, mode: 'live' }, id)).toBeNull()
  expect(await readRequestTraces({ accountId: other.id, mode: 'test' }, requestId)).toEqual([])
  for (const unknown of [newId(), '', "'; DROP TABLE events", 'x'.repeat(65)])
    expect(await findTraces(unknown)).toEqual([])
})
