import { setTimeout as sleep } from 'node:timers/promises'
import { Webhook } from 'standardwebhooks'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { DisputeDetail } from '#lib/charges/disputes/wire.ts'
import { RefundDetail } from '#lib/charges/refunds/wire.ts'
import { ChargeDetail, MismatchedPayment, ReturnDetail } from '#lib/charges/wire.ts'
import { db } from '#lib/db/client.ts'
import { StubBank } from '#lib/testing/bank.ts'
import { call } from '#lib/testing/call.ts'
import { connectBank } from '#lib/testing/connection.ts'
import { type Api, makeMerchant, startApi } from '#lib/testing/fixtures.ts'
import { pageHeaders, signIn } from '#lib/testing/member.ts'
import { openReceiver, type Receiver, status } from '#lib/testing/receiver.ts'
import { type Document, makeStrictValidator } from '#lib/testing/strict-validator.ts'
import { testInTorture } from '#lib/testing/torture.ts'
import { issueToken } from '#lib/tokens/issue.ts'
import { eventPageSchema } from '#lib/webhooks/events.ts'
import { EVENT_TYPES, RECEIVER_CHECKS } from '#lib/webhooks/states.ts'
import { TestRead } from '#lib/webhooks/wire.ts'
import { WithdrawalDetail } from '#lib/withdrawals/wire.ts'

let api: Api
let merchant: Account
let headers: Record<string, string>
let receiver: Receiver
let endpoint: { id: string; secret: string }
beforeAll(async () => {
  api = await startApi()
})
beforeEach(async () => {
  merchant = await makeMerchant()
  headers = pageHeaders(await signIn(merchant, 'owner'), merchant.id)
  receiver = await openReceiver()
  const body = { url: `${receiver.url}/hook?x=1`, event_types: '*' }
  endpoint = (await post('', body)).body.data
})
afterEach(() => receiver.close())
afterAll(() => api.close())

function post(pathSuffix: string, body?: object) {
  return call(api.url, 'POST', `/webhooks/endpoints${pathSuffix}`, { headers, body })
}
const sendTest = (body?: object) => post(`/${endpoint.id}/test`, body)

const Page = eventPageSchema({
  transaction: ChargeDetail,
  refund: RefundDetail,
  dispute: DisputeDetail,
  return: ReturnDetail,
  payment: MismatchedPayment,
  withdrawal: WithdrawalDetail,
})

test.each(EVENT_TYPES)(
  'the test event %s matches the OpenAPI document and is signed',
  async type => {
    const { status, body } = await sendTest({ type })
    expect(status).toBe(200)
    expect(TestRead.parse(body)).toEqual(body)
    const [received] = receiver.calls
    if (!received) throw new Error('Nothing came')
    const sentEvent = JSON.parse(received.text)
    const verified = new Webhook(endpoint.secret).verify(
      received.text,
      received.headers as Record<string, string>,
    )
    expect(verified).toEqual(sentEvent)
    expect(sentEvent).toMatchObject({ type, mode: 'test', sequence: 0 })
    expect(received.headers['webhook-id']).toBe(sentEvent.id)
    const { client, products, utms, ...event } = sentEvent
    const document = await call(api.url, 'GET', '/openapi.json')
    const validate = makeStrictValidator(document.body as Document)({
      $ref: '#/components/schemas/Event',
    })
    expect(validate(event), JSON.stringify(validate.errors)).toBe(true)
    expect(Page.shape.data.element.parse(event)).toEqual(event)
    const { transaction } = event
    if (transaction) {
      expect(client).toEqual({
        name: transaction.client_name,
        email: transaction.client_email,
        doc: transaction.client_doc,
        phone: transaction.client_phone,
      })
      expect([products, utms]).toEqual([transaction.items, transaction.utms])
    } else expect([client, products, utms]).toEqual([undefined, undefined, undefined])
    expect(body.data).toMatchObject({
      delivered: true,
      status: 200,
      problem: null,
      response_body: 'ok',
      request_body: received.text,
      address: '127.0.0.1',
    })
    expect(body.data.request_headers).toMatchObject({ 'webhook-id': sentEvent.id })
    expect(body.data.response_headers).toHaveProperty('date')
  },
)

test('a ping is signed and mentions no resource', async () => {
  await sendTest({ type: 'troco.ping' })
  const [received] = receiver.calls
  const event = JSON.parse(received?.text ?? '')
  const known = { type: 'troco.ping', event: 'ping', mode: 'test', sequence: 0 }
  const id = received?.headers['webhook-id']
  expect(event).toEqual({ id, ...known, created_at: expect.any(String) })
})

test('in live mode only a ping is sent, to a member and to a token alike', async () => {
  await connectBank(new StubBank(), merchant)
  const { token } = await issueToken(
    { accountId: merchant.id, mode: 'live', name: 'x', permissions: ['webhooks:write'] },
    { type: 'system' },
  )
  const live = { ...headers, 'troco-mode': 'live' }
  const url = 'https://nowhere.invalid/hook'
  const body = { url, event_types: ['transaction.paid'] }
  const { id } = (await call(api.url, 'POST', '/webhooks/endpoints', { token, body })).body.data
  for (const by of [{ token }, { headers: live }]) {
    const path = `/webhooks/endpoints/${id}/test`
    for (const type of EVENT_TYPES) {
      const refused = await call(api.url, 'POST', path, { ...by, body: { type } })
      expect([refused.status, refused.body.errors]).toEqual([
        422,
        { type: ['type must be one of troco.ping'] },
      ])
    }
    for (const check of RECEIVER_CHECKS)
      expect((await call(api.url, 'POST', path, { ...by, body: { check } })).status).toBe(422)
    const { data } = (await call(api.url, 'POST', path, { ...by, body: {} })).body
    expect(JSON.parse(data.request_body)).toMatchObject({ type: 'troco.ping', mode: 'live' })
  }
})

test('a failed test event is reported with the response, is not retried and changes nothing', async () => {
  receiver.respondWith(status(410, { 'x-why': 'moved' }))
  const { body } = await sendTest()
  expect(body.data).toMatchObject({ delivered: false, status: 410, response_body: 'status 410' })
  expect(body.data.response_headers['x-why']).toBe('moved')
  expect(body.data.problem).toContain('410')
  expect(receiver.calls).toHaveLength(1)
  const where = { accountId: merchant.id }
  expect(await db().webhookEndpoint.findFirstOrThrow({ where })).toMatchObject({
    disabledAt: null,
    failingSince: null,
  })
  expect([await db().event.count({ where }), await db().delivery.count({ where })]).toEqual([0, 0])
})

test('an unreachable receiver is reported in words', async () => {
  await receiver.close()
  const { body } = await sendTest()
  expect(body.data).toMatchObject({ delivered: false, status: null, response_headers: null })
  expect(body.data.problem).toContain('refuses connections')
  receiver = await openReceiver()
})

test('a disabled endpoint can be tested', async () => {
  await post(`/${endpoint.id}/disable`)
  expect((await sendTest()).body.data.delivered).toBe(true)
})

test('after a rotation both secrets sign', async () => {
  const { secret } = (await post(`/${endpoint.id}/rotate`)).body.data
  await sendTest()
  const [received] = receiver.calls
  for (const signingSecret of [secret, endpoint.secret]) {
    const headers = received?.headers as Record<string, string>
    expect(new Webhook(signingSecret).verify(received?.text ?? '', headers)).toBeTruthy()
  }
})

testInTorture(
  '150 test events at once open at most 4 connections to a URL; the rest wait, then get 429',
  async () => {
    receiver.respondWith(async (_received, response) => {
      await sleep(3_000)
      response.writeHead(200).end('ok')
    })
    const sent = await Promise.all(Array.from({ length: 150 }, () => sendTest()))
    expect(receiver.concurrencyMax()).toBeLessThanOrEqual(4)
    const refused = sent.filter(({ status }) => status === 429)
    expect(refused.length).toBe(sent.length - receiver.calls.length)
    expect(refused[0]?.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
    receiver.respondWith(status(200))
    expect((await sendTest()).body.data.delivered).toBe(true)
  },
)

test('an account sends at most 16 test events at once to a host, whatever the paths', async () => {
  const ids = [endpoint.id]
  for (let index = 1; index < 6; index++) {
    const body = { url: `${receiver.url}/hook${index}`, event_types: '*' }
    ids.push((await post('', body)).body.data.id)
  }
  receiver.respondWith(async (_received, response) => {
    await sleep(3_000)
    response.writeHead(200).end('ok')
  })
  await Promise.all(ids.flatMap(id => Array.from({ length: 4 }, () => post(`/${id}/test`))))
  expect(receiver.concurrencyMax()).toBeLessThanOrEqual(16)
  expect(receiver.calls.length).toBeGreaterThanOrEqual(16)
})

test.each([5432, 6379, 22])(
  'an endpoint on port %i is refused at creation and change',
  async port => {
    const body = { url: `https://shop.example:${port}/hook`, event_types: '*' }
    for (const { status, body: answer } of [
      await post('', body),
      await call(api.url, 'PATCH', `/webhooks/endpoints/${endpoint.id}`, { headers, body }),
    ]) {
      expect(status).toBe(422)
      expect(answer.errors.url[0]).toContain(`url must not go to port ${port}`)
    }
  },
)

/** Runs the checks in the order of a page, and returns those that did not pass. */
async function failedChecks(): Promise<string[]> {
  const failed: string[] = []
  for (const check of RECEIVER_CHECKS) {
    const { status, body } = await sendTest({ check })
    expect([check, status]).toEqual([check, 200])
    expect(TestRead.parse(body)).toEqual(body)
    if (!body.data.passed) failed.push(check)
  }
  return failed
}

test('a receiver that verifies signatures passes every check, each sent as it says', async () => {
  const ids = new Map<string, string[]>()
  receiver.respondWith(({ text, headers: sent }, response) => {
    let code = 204
    try {
      const event = new Webhook(endpoint.secret).verify(text, sent as Record<string, string>) as {
        id: string
        type: string
      }
      ids.set(event.type, [...(ids.get(event.type) ?? []), event.id])
    } catch {
      code = 400
    }
    response.writeHead(code).end()
  })
  expect(await failedChecks()).toEqual([])
  expect(receiver.calls).toHaveLength(RECEIVER_CHECKS.length + 2)
  expect(receiver.calls.some(({ text }) => text.length > 1_000_000)).toBe(true)
  expect([...ids.keys()]).toContain('transaction.settled')
  const paid = ids.get('transaction.paid') ?? []
  expect(paid).toHaveLength(6)
  expect(new Set(paid)).toHaveLength(5)
})

test.each([
  [204, ['wrong_signature', 'changed_body', 'old_timestamp']],
  [400, ['genuine', 'duplicate', 'out_of_order', 'unknown_type', 'large', 'fast']],
  // A receiver that breaks has not refused.
  [500, [...RECEIVER_CHECKS]],
])(
  'a receiver that always responds with %i fails the checks that it must',
  async (code, failed) => {
    receiver.respondWith((_, response) => response.writeHead(code).end())
    expect(await failedChecks()).toEqual(failed)
  },
)
