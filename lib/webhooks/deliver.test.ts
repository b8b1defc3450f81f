import { setTimeout as sleep } from 'node:timers/promises'
import { Webhook } from 'standardwebhooks'
import { Webhook as Svix } from 'svix'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { createCharge } from '#lib/charges/create.ts'
import { createRefund } from '#lib/charges/refunds/refund.ts'
import { simulateCharge } from '#lib/charges/simulate.ts'
import { releaseLeases } from '#lib/db/claim.ts'
import { db } from '#lib/db/client.ts'
import {
  addEndpoint,
  createPaidCharge,
  deliverDue,
  deliveriesOf,
  makeDeliverer,
  makeRetriesDue,
  readAsWorker,
} from '#lib/testing/deliveries.ts'
import { seedDueDeliveries } from '#lib/testing/due-deliveries.ts'
import {
  CHARGE,
  expectBalancedLedger,
  inOwnDatabase,
  makeMerchant,
  openCharge,
} from '#lib/testing/fixtures.ts'
import { makeOrdersDue, sendDueRefunds } from '#lib/testing/orders.ts'
import { openReceiver, type Receiver, status } from '#lib/testing/receiver.ts'
import { createDeliverer, type Deliverer, finishDelivery } from '#lib/webhooks/deliver.ts'
import { disableEndpoint } from '#lib/webhooks/endpoints.ts'
import { readResourceSecret } from '#lib/webhooks/secrets.ts'
import { hostOf } from '#lib/webhooks/target.ts'

inOwnDatabase()

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

let merchant: Account
let receiver: Receiver
beforeEach(async () => {
  await db()
    .$executeRaw`UPDATE deliveries SET status = 'stopped', due_at = NULL WHERE status = 'pending'`
  await db().deliveryQueue.deleteMany()
  merchant = await makeMerchant()
  receiver = await openReceiver()
})
afterEach(async () => {
  await receiver.close()
  await expectBalancedLedger(merchant.id)
})

const secretOf = async ({ id }: Account) => (await readResourceSecret(id, 'test')) ?? ''

/** Refunds a paid charge, which adds a second event of the same charge. */
async function refund(chargeId: string): Promise<void> {
  await createRefund(merchant.id, 'test', chargeId, { amount: 100 })
  const events = () => db().event.count({ where: { subjectId: chargeId } })
  const before = await events()
  await expect
    .poll(
      async () => {
        await makeOrdersDue()
        await sendDueRefunds()
        return events()
      },
      { timeout: 20_000 },
    )
    .toBe(before + 1)
}

describe('a delivery', () => {
  test('to a webhook_url contains the charge, and both published libraries verify its signature', async () => {
    const id = await createPaidCharge(merchant, `${receiver.url}/hook?shop=1`)
    await deliverDue()
    const [call, ...otherCalls] = receiver.calls
    expect(otherCalls).toEqual([])
    expect(call?.path).toBe('/hook?shop=1')
    const event = await db().event.findFirstOrThrow({ where: { subjectId: id } })
    const headers = call?.headers as Record<string, string>
    expect(headers['webhook-id']).toBe(event.id)
    expect(headers['content-type']).toBe('application/json')
    const text = call?.text ?? ''
    const secret = await secretOf(merchant)
    new Svix(secret).verify(text, headers)
    expect(new Webhook(secret).verify(text, headers)).toMatchObject({
      id: event.id,
      type: 'transaction.paid',
      event: 'paid',
      mode: 'test',
      sequence: 1,
      transaction: { id, transaction_id: id, status: 'paid', amount: 1_500 },
    })
    const forged = text.replace('1500', '9500')
    expect(forged).not.toBe(text)
    for (const Verifier of [Webhook, Svix]) {
      expect(() => new Verifier(secret).verify(forged, headers)).toThrow()
      expect(() => new Verifier('whsec_AAAA').verify(text, headers)).toThrow()
    }
  })

  test("to an endpoint adds payer, products and UTMs and is signed with the endpoint's secret", async () => {
    const endpoint = await addEndpoint(merchant, `${receiver.url}/erp`)
    const id = await createPaidCharge(merchant)
    await deliverDue()
    const [call] = receiver.calls
    const headers = call?.headers as Record<string, string>
    const body = new Webhook(endpoint.secret).verify(call?.text ?? '', headers)
    expect(body).toMatchObject({
      type: 'transaction.paid',
      transaction: { id },
      client: { name: 'Ana Beatriz Rocha', email: 'ana@example.com', phone: null },
      products: [],
      utms: {},
    })
    await expect(
      secretOf(merchant).then(secret => new Webhook(secret).verify(call?.text ?? '', headers)),
    ).rejects.toThrow()
  })

  test('is signed with the old and the new secret during a rotation', async () => {
    const old = await addEndpoint(merchant, receiver.url)
    await db().webhookSecret.updateMany({
      where: { endpointId: old.id },
      data: { retiresAt: new Date(Date.now() + HOUR) },
    })
    const other = await addEndpoint(merchant, 'http://127.0.0.1:9/none')
    await db().webhookSecret.updateMany({
      where: { endpointId: other.id },
      data: { endpointId: old.id },
    })
    await createPaidCharge(merchant)
    await deliverDue()
    const call = receiver.calls.find(({ path }) => path === '/')
    for (const secret of [old.secret, other.secret]) {
      const headers = call?.headers as Record<string, string>
      expect(new Webhook(secret).verify(call?.text ?? '', headers)).toBeTruthy()
    }
    await db().webhookSecret.updateMany({
      where: { endpointId: old.id, retiresAt: { not: null } },
      data: { retiresAt: new Date(Date.now() - SECOND) },
    })
    await createPaidCharge(merchant)
    await deliverDue()
    const later = receiver.calls.at(-1)
    const headers = later?.headers as Record<string, string>
    expect(() => new Webhook(old.secret).verify(later?.text ?? '', headers)).toThrow()
    expect(new Webhook(other.secret).verify(later?.text ?? '', headers)).toBeTruthy()
  })
})

test('the largest accepted charge makes a request below 256 KiB', async () => {
  await addEndpoint(merchant, receiver.url)
  const name = '\\"ção'.repeat(150)
  const items = Array.from({ length: 50 }, () => ({ name, price: 1, quantity: 1 }))
  const values = Object.fromEntries(Array.from({ length: 15 }, (_, index) => [`key${index}`, name]))
  const body = { ...CHARGE, items, metadata: values, utms: values }
  expect(Buffer.byteLength(JSON.stringify(body))).toBeGreaterThan(60 * 1024)
  const { id } = await createCharge(merchant, 'test', body, null)
  await simulateCharge(merchant.id, id, 'paid')
  await deliverDue()
  const [call] = receiver.calls
  expect(JSON.parse(call?.text ?? '').products).toEqual(items)
  expect(Buffer.byteLength(call?.text ?? '')).toBeLessThan(256 * 1024)
})

describe('a receiver that fails', () => {
  const pauses = { resource: [5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR] }

  test.each([
    ['at a webhook_url gets 7 attempts', 'resource', pauses.resource],
    ['at an endpoint gets 4 attempts', 'endpoint', pauses.resource.slice(0, 3)],
  ])('%s, after growing pauses, and is then given up', async (_what, kind, expected) => {
    receiver.respondWith(status(500))
    if (kind === 'endpoint') await addEndpoint(merchant, receiver.url)
    await createPaidCharge(merchant, kind === 'resource' ? receiver.url : undefined)
    for (const pauseMs of expected) {
      const before = Date.now()
      await deliverDue()
      const [delivery] = await deliveriesOf(merchant)
      const waitMs = (delivery?.dueAt?.getTime() ?? 0) - before
      expect(waitMs).toBeGreaterThan(pauseMs * 0.8 - SECOND)
      expect(waitMs).toBeLessThan(pauseMs * 1.2 + 10 * SECOND)
      await makeRetriesDue()
    }
    await deliverDue()
    await makeRetriesDue()
    await deliverDue()
    const [delivery] = await deliveriesOf(merchant)
    expect(delivery).toMatchObject({ status: 'exhausted', dueAt: null })
    expect(delivery?.attempts).toBe(expected.length + 1)
    expect(receiver.calls).toHaveLength(expected.length + 1)
  })

  test('gets the same body and id at each attempt, signed anew, and nothing after a success', async () => {
    receiver.respondWith(status(503))
    await createPaidCharge(merchant, receiver.url)
    await deliverDue()
    await sleep(1_100)
    receiver.respondWith(status(204))
    await makeRetriesDue()
    await deliverDue()
    await makeRetriesDue()
    await deliverDue()
    const [first, second, ...otherCalls] = receiver.calls
    expect(otherCalls).toEqual([])
    expect(second?.text).toBe(first?.text)
    expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id'])
    expect(second?.headers['webhook-timestamp']).not.toBe(first?.headers['webhook-timestamp'])
    expect(second?.headers['webhook-signature']).not.toBe(first?.headers['webhook-signature'])
    const [delivery] = await deliveriesOf(merchant)
    expect(delivery).toMatchObject({ status: 'delivered', attempts: 2, dueAt: null })
  })

  test('leaves a record of each attempt with request and response', async () => {
    receiver.respondWith(status(500, { 'x-reason': 'full' }))
    await createPaidCharge(merchant, receiver.url)
    await deliverDue()
    await makeRetriesDue()
    await receiver.close()
    await deliverDue()
    const [delivery] = await deliveriesOf(merchant)
    expect(delivery?.attemptLog).toMatchObject([
      {
        number: 1,
        requestBody: receiver.calls[0]?.text,
        requestHeaders: { 'webhook-id': delivery?.eventId },
        address: '127.0.0.1',
        responseStatus: 500,
        responseHeaders: { 'x-reason': 'full' },
        responseBody: 'status 500',
      },
      { number: 2, requestBody: null, responseStatus: null, responseBody: null },
    ])
    for (const { problem } of delivery?.attemptLog ?? []) expect(problem).toBeTruthy()
    expect(delivery?.attemptLog[0]).toMatchObject({
      problemCode: 'status',
      problemParams: { status: 500 },
    })
    receiver = await openReceiver()
  })

  test.each([
    ['a longer pause', '600', 10 * MINUTE],
    ['a pause of at most an hour', '86400', HOUR],
    ['no shorter pause', '1', 4 * SECOND],
  ])('may request %s', async (_what, retryAfter, waitMinMs) => {
    receiver.respondWith(status(429, { 'retry-after': retryAfter }))
    await createPaidCharge(merchant, receiver.url)
    const before = Date.now()
    await deliverDue()
    const [delivery] = await deliveriesOf(merchant)
    const waitMs = (delivery?.dueAt?.getTime() ?? 0) - before
    expect(waitMs).toBeGreaterThanOrEqual(waitMinMs - SECOND)
    expect(waitMs).toBeLessThan(waitMinMs * 1.5 + 10 * SECOND)
  })

  test('with 410 gets no further attempt', async () => {
    receiver.respondWith(status(410))
    await createPaidCharge(merchant, receiver.url)
    await deliverDue()
    await makeRetriesDue()
    await deliverDue()
    expect(receiver.calls).toHaveLength(1)
    expect(await deliveriesOf(merchant)).toMatchObject([{ status: 'stopped', attempts: 1 }])
  })

  test('that redirects is not followed', async () => {
    const other = await openReceiver()
    receiver.respondWith(status(302, { location: other.url }))
    await createPaidCharge(merchant, receiver.url)
    await deliverDue()
    expect(other.calls).toEqual([])
    expect(await deliveriesOf(merchant)).toMatchObject([{ status: 'pending', attempts: 1 }])
    await other.close()
  })
})

describe('the events of one charge', () => {
  test('arrive in order: the refund waits until the payment was delivered', async () => {
    receiver.respondWith(status(500))
    await addEndpoint(merchant, receiver.url)
    const id = await createPaidCharge(merchant)
    await deliverDue()
    await refund(id)
    await deliverDue()
    expect(receiver.calls.map(({ text }) => JSON.parse(text).event)).toEqual(['paid'])
    receiver.respondWith(status(200))
    await makeRetriesDue()
    await deliverDue()
    expect(receiver.calls.map(({ text }) => JSON.parse(text).event)).toEqual([
      'paid',
      'paid',
      'refunded',
    ])
  })

  test('continue once an earlier event is given up', async () => {
    receiver.respondWith(status(500))
    await addEndpoint(merchant, receiver.url)
    const id = await createPaidCharge(merchant)
    await refund(id)
    for (let attempt = 0; attempt < 4; attempt++) {
      await db()
        .$executeRaw`UPDATE deliveries SET due_at = now() WHERE sequence = 1 AND due_at > now()`
      const deliverer = makeDeliverer()
      if (attempt === 3)
        receiver.respondWith(({ text }, response) => {
          response.writeHead(JSON.parse(text).event === 'paid' ? 500 : 200).end()
        })
      await deliverDue(deliverer)
    }
    const deliveries = await deliveriesOf(merchant)
    expect(deliveries.map(delivery => delivery.status)).toEqual(['exhausted', 'delivered'])
  })

  test('do not delay the events of another charge', async () => {
    receiver.respondWith(({ text }, response) => {
      response.writeHead(JSON.parse(text).transaction.amount === 1_500 ? 500 : 200).end()
    })
    await createPaidCharge(merchant, receiver.url)
    const { id } = await openCharge(merchant, 2_000)
    const data = { webhookUrl: receiver.url, webhookHost: hostOf(receiver.url) }
    await db().charge.updateMany({ where: { id }, data })
    await simulateCharge(merchant.id, id, 'paid')
    await deliverDue()
    const deliveries = await deliveriesOf(merchant)
    expect(deliveries.map(delivery => delivery.status)).toEqual(['pending', 'delivered'])
  })
})

describe('a receiver that hangs', () => {
  test('gets at most 4 concurrent calls per URL over all workers, and delays no other receiver', async () => {
    const pendingResponses: (() => void)[] = []
    const hangingReceiver = await openReceiver((_received, response) => {
      pendingResponses.push(() => response.writeHead(200).end())
    })
    const [first, second] = [makeDeliverer(), makeDeliverer()]
    for (let count = 0; count < 90; count++)
      await createPaidCharge(merchant, `${hangingReceiver.url}/hangs`)
    await Promise.all([first.run(), second.run(), first.run(), second.run()])
    await expect.poll(() => hangingReceiver.calls.length).toBe(4)
    await createPaidCharge(merchant, receiver.url)
    const other = await makeMerchant()
    await createPaidCharge(other, `${hangingReceiver.url}/another`)
    await Promise.all([first.run(), second.run()])
    await expect.poll(() => receiver.calls.length).toBe(1)
    await expect.poll(() => hangingReceiver.calls.length).toBe(5)
    expect(hangingReceiver.concurrencyMax()).toBe(5)
    hangingReceiver.respondWith(status(200))
    for (const respond of pendingResponses) respond()
    await Promise.all([first.idle(), second.idle()])
    await Promise.all([deliverDue(first), deliverDue(second)])
    expect(hangingReceiver.calls).toHaveLength(91)
    expect(hangingReceiver.concurrencyMax()).toBeLessThanOrEqual(5)
    await hangingReceiver.close()
  })

  test('gets at most 16 concurrent calls per host', async () => {
    const pendingResponses: (() => void)[] = []
    const hangingReceiver = await openReceiver((_received, response) => {
      pendingResponses.push(() => response.writeHead(200).end())
    })
    for (let count = 0; count < 24; count++)
      await createPaidCharge(merchant, `${hangingReceiver.url}/${count}`)
    const deliverer = makeDeliverer()
    expect(await deliverer.run()).toBe(16)
    expect(await deliverer.run()).toBe(0)
    await expect.poll(() => pendingResponses.length).toBe(16)
    hangingReceiver.respondWith(status(200))
    for (const respond of pendingResponses) respond()
    await deliverer.idle()
    await deliverDue(deliverer)
    expect(hangingReceiver.calls).toHaveLength(24)
    await hangingReceiver.close()
  })

  const serializers = { transaction: () => ({}), withdrawal: () => ({}), apiPix: () => ({}) }
  const countOthers = () => receiver.calls.filter(({ path }) => path.startsWith('/other/')).length

  /** Accounts that want more take all but the reserved places; then an account without a call gets eight deliveries. */
  async function fill(worker: Deliverer): Promise<void> {
    receiver.respondWith(() => {})
    const busy = [merchant, ...(await Promise.all([1, 2, 3].map(() => makeMerchant())))]
    const url = `'${receiver.url}/' || n`
    for (const { id } of busy) await seedDueDeliveries({ accountId: id, count: 100, url })
    expect(await worker.run()).toBe(224)
    const { id } = await makeMerchant()
    await seedDueDeliveries({ accountId: id, count: 8, url: `'${receiver.url}/other/' || n` })
  }

  async function stop(...workers: Deliverer[]): Promise<void> {
    for (const worker of workers) worker.abort()
    await Promise.all(workers.map(worker => worker.idle()))
  }

  test('leaves 32 of the 256 places of a worker to accounts without a call in progress', async () => {
    const worker = createDeliverer(serializers, () => worker.run())
    await fill(worker)
    await expect.poll(countOthers).toBe(1)
    // The runs that follow send no other.
    for (let run = 0; run < 3; run++) await worker.run()
    expect(countOthers()).toBe(1)
    await stop(worker)
  })

  test('does not keep a worker with room from an account, of which a full worker could send one delivery', async () => {
    const full = createDeliverer(serializers, undefined, { yieldMs: 3_600_000 })
    await fill(full)
    await full.run()
    const free = createDeliverer(serializers)
    await free.run()
    await expect.poll(countOthers).toBe(8)
    await stop(full, free)
  })
})

describe('a worker that', () => {
  test('lost its lease does not overwrite the result of the new worker', async () => {
    await createPaidCharge(merchant, receiver.url)
    const [stalled] = await readAsWorker(merchant)
    await db().$executeRaw`UPDATE delivery_queues SET due_at = now()`
    await deliverDue()
    const sent = { headers: {}, body: stalled?.body ?? '{}' }
    const problem = { code: 'status', params: { status: 500 } } as const
    const failed = { status: 500, headers: null, body: null, problem }
    const outcome = { ...failed, address: null, durationMs: 1, retryAfterMs: null }
    if (!stalled) throw new Error('nothing was claimed')
    await finishDelivery({ due: stalled, sent, outcome })
    const [delivery] = await deliveriesOf(merchant)
    expect(delivery).toMatchObject({ status: 'delivered', attempts: 1, dueAt: null })
    expect(delivery?.attemptLog.map(({ responseStatus }) => responseStatus)).toEqual([200, 500])
  })

  test('cannot decrypt a secret leaves the delivery unchanged and continues with others', async () => {
    await createPaidCharge(merchant, receiver.url)
    await db().webhookSecret.updateMany({
      where: { accountId: merchant.id, endpointId: null },
      data: { sealed: new Uint8Array(60) },
    })
    const other = await makeMerchant()
    await createPaidCharge(other, receiver.url)
    await deliverDue()
    expect(await deliveriesOf(merchant)).toMatchObject([{ status: 'pending', attempts: 0 }])
    expect(await deliveriesOf(other)).toMatchObject([{ status: 'delivered' }])
  })

  test('stops releases its deliveries, and their interrupted attempts do not count', async () => {
    receiver.respondWith(() => {})
    await createPaidCharge(merchant, receiver.url)
    const deliverer = makeDeliverer()
    await deliverer.run()
    await expect.poll(() => receiver.calls.length).toBe(1)
    deliverer.abort()
    await releaseLeases()
    await deliverer.idle()
    expect(await deliveriesOf(merchant)).toMatchObject([
      { status: 'pending', attempts: 0, attemptLog: [] },
    ])
    receiver.respondWith(status(200))
    await deliverDue()
    expect(await deliveriesOf(merchant)).toMatchObject([{ status: 'delivered', attempts: 1 }])
  })
})

describe('an endpoint', () => {
  const endpointOf = (id: string) => db().webhookEndpoint.findFirstOrThrow({ where: { id } })

  async function failSince(id: string, days: number): Promise<void> {
    await db().$executeRaw`
      UPDATE webhook_endpoints SET failing_since = now() - make_interval(days => ${days}::integer)
      WHERE id = ${id}::uuid`
  }

  async function exhaust(): Promise<void> {
    for (let attempt = 0; attempt < 4; attempt++) {
      await makeRetriesDue()
      await deliverDue()
    }
  }

  test('that is disabled is not called, and its deliveries wait', async () => {
    const { id } = await addEndpoint(merchant, receiver.url)
    await createPaidCharge(merchant)
    await disableEndpoint(merchant.id, id, 'gone')
    await createPaidCharge(merchant)
    await deliverDue()
    expect(receiver.calls).toEqual([])
    const paused = { status: 'pending', dueAt: null }
    expect(await deliveriesOf(merchant)).toMatchObject([paused, paused])
  })

  test('is disabled with a reason after 5 days without success and 10 exhausted events', async () => {
    receiver.respondWith(status(500))
    const { id } = await addEndpoint(merchant, receiver.url)
    for (let count = 0; count < 9; count++) await createPaidCharge(merchant)
    await exhaust()
    await failSince(id, 6)
    expect(await endpointOf(id)).toMatchObject({ exhausted: 9, disabledAt: null })
    await createPaidCharge(merchant)
    await exhaust()
    const endpoint = await endpointOf(id)
    expect(endpoint.disabledAt).not.toBeNull()
    expect(endpoint.disabledCode).toBe('given_up')
  })

  test('is not disabled within an hour, however many events are exhausted', async () => {
    receiver.respondWith(status(500))
    const { id } = await addEndpoint(merchant, receiver.url)
    for (let count = 0; count < 12; count++) await createPaidCharge(merchant)
    await exhaust()
    expect(await endpointOf(id)).toMatchObject({ exhausted: 12, disabledAt: null })
  })

  test('that succeeds once starts counting anew', async () => {
    receiver.respondWith(status(500))
    const { id } = await addEndpoint(merchant, receiver.url)
    for (let count = 0; count < 9; count++) await createPaidCharge(merchant)
    await exhaust()
    await failSince(id, 6)
    receiver.respondWith(status(200))
    await createPaidCharge(merchant)
    await deliverDue()
    expect(await endpointOf(id)).toMatchObject({ exhausted: 0, failingSince: null })
  })

  test('that responds 410 is disabled with that reason', async () => {
    receiver.respondWith(status(410))
    const { id } = await addEndpoint(merchant, receiver.url)
    await createPaidCharge(merchant)
    await deliverDue()
    expect((await endpointOf(id)).disabledCode).toBe('gone')
  })
})
