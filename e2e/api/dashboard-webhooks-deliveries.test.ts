import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { newId } from '#lib/core/ids.ts'
import { db, Prisma } from '#lib/db/client.ts'
import { call } from '#lib/testing/call.ts'
import { addEndpoint, createPaidCharge } from '#lib/testing/deliveries.ts'
import { type Api, makeMerchant, startApi } from '#lib/testing/fixtures.ts'
import { expectShape, pageHeaders, refusal, signIn } from '#lib/testing/member.ts'
import { DELIVERY_STATUSES } from '#lib/webhooks/states.ts'
import {
  DeliveriesFailed,
  DeliveriesResent,
  DeliveryPage,
  DeliveryRead,
  DeliveryResent,
} from '#lib/webhooks/wire.ts'

const ROOT = '/webhooks/deliveries'
const HOOK_URL = 'https://shop.example/hook'
const NOT_FOUND = [404, '{"error":"Delivery not found"}', 'delivery_not_found']
const NO_ENDPOINT = [404, '{"error":"Endpoint not found"}', 'endpoint_not_found']
const DISABLED = [
  409,
  '{"error":"The endpoint is disabled or deleted: enable it, or create another"}',
  'endpoint_disabled',
]

let api: Api
let merchant: Account
let secret: string
beforeAll(async () => {
  api = await startApi()
})
beforeEach(async () => {
  merchant = await makeMerchant()
  secret = await signIn(merchant, 'owner')
})
afterAll(() => api.close())

const callApi = (method: string, path: string, body?: unknown, key?: string) =>
  call(api.url, method, path, { headers: pageHeaders(secret, merchant.id), body, key })
const updateDeliveries = (assignment: Prisma.Sql, condition = Prisma.sql`true`) =>
  db().$executeRaw`
    UPDATE deliveries SET ${assignment} WHERE account_id = ${merchant.id}::uuid AND ${condition}`
/** As a worker does that is sending, until the time. */
const holdQueue = (until: string) =>
  db().$executeRaw`
    UPDATE delivery_queues SET lease = ${newId()}::uuid, due_at = ${Prisma.raw(until)}
    WHERE account_id = ${merchant.id}::uuid`
const setStatus = (status: string, condition?: Prisma.Sql) =>
  updateDeliveries(
    Prisma.sql`status = ${status}, due_at = CASE WHEN ${status} = 'pending' THEN now() END,
      delivered_at = CASE WHEN ${status} = 'delivered' THEN now() END`,
    condition,
  )
const listIds = async (query = '') =>
  (await callApi('GET', `${ROOT}${query}`)).body.data.map(({ id }: { id: string }) => id)
const readSingleDelivery = () =>
  db().delivery.findFirstOrThrow({ where: { accountId: merchant.id } })

async function createDelivery(): Promise<{ id: string; subject: string }> {
  const subject = await createPaidCharge(merchant, HOOK_URL)
  const where = { accountId: merchant.id, subjectId: subject, endpointId: null }
  const { id } = await db().delivery.findFirstOrThrow({ where })
  return { id, subject }
}

/** Returns ids that match no delivery of this account and mode. */
async function makeForeignIds(): Promise<string[]> {
  const ownMerchant = merchant
  merchant = await makeMerchant()
  const { id: foreignId } = await createDelivery()
  merchant = ownMerchant
  const { id: liveId } = await createDelivery()
  await updateDeliveries(Prisma.sql`mode = 'live'`, Prisma.sql`id = ${liveId}::uuid`)
  return [newId(), 'x', foreignId, liveId]
}

describe('GET deliveries', () => {
  test('200: deliveries to every URL, newest first, with the result of the last attempt', async () => {
    await addEndpoint(merchant, 'https://erp.example/hooks')
    const older = await createDelivery()
    const newer = await createDelivery()
    const foreign = await makeForeignIds()
    await db().$executeRaw`
      INSERT INTO delivery_attempts (account_id, delivery_id, number, request_headers,
        response_status, problem, duration_ms)
      SELECT account_id, id, n, '{}', 500 + n, 'No. ' || n, 7 FROM deliveries, generate_series(1, 2) n
      WHERE account_id = ${merchant.id}::uuid AND id = ${older.id}::uuid`
    const { status, body } = await callApi('GET', ROOT)
    expect(status).toBe(200)
    expectShape(DeliveryPage, body)
    const receivers = body.data.map((row: Record<string, unknown>) => [row.subject_id, row.url])
    const urls = [HOOK_URL, 'https://erp.example/hooks']
    for (const { subject } of [older, newer]) {
      const receivedUrls = receivers
        .filter(([id]: [string]) => id === subject)
        .map(([, url]: string[]) => url)
      expect(receivedUrls.toSorted()).toEqual(urls.toSorted())
    }
    const first = body.data.find(({ id }: { id: string }) => id === older.id)
    expect(first).toMatchObject({
      type: 'transaction.paid',
      status: 'pending',
      is_under_way: false,
      event_id: older.id,
      endpoint_id: null,
      last_response_status: 502,
      last_problem: 'No. 2',
      last_problem_code: 'other',
      last_problem_params: { text: 'No. 2' },
    })
    expect(first.next_attempt_at).not.toBeNull()
    const listed = body.data.map(({ id }: { id: string }) => id)
    for (const id of foreign) expect(listed).not.toContain(id)
    const sequences = body.data.map(({ sequence }: { sequence: number }) => sequence)
    expect(sequences).toEqual(sequences.toSorted((a: number, b: number) => b - a))
  })

  test('200: pages have each delivery once, also for an event with several endpoints', async () => {
    await addEndpoint(merchant, HOOK_URL)
    await addEndpoint(merchant, HOOK_URL)
    for (let count = 0; count < 3; count++) await createDelivery()
    const all = await listIds()
    expect(all).toHaveLength(9)
    const pagedIds: string[] = []
    for (let cursor = ''; ; ) {
      const { body } = await callApi('GET', `${ROOT}?limit=2${cursor && `&cursor=${cursor}`}`)
      pagedIds.push(...body.data.map(({ id }: { id: string }) => id))
      if (body.next_cursor === null) break
      cursor = body.next_cursor
    }
    expect(pagedIds).toEqual(all)
  })

  test('200: filters by status; deliveries to a disabled endpoint are paused', async () => {
    const idsByStatus = new Map<string, string>()
    for (const status of DELIVERY_STATUSES) {
      const { id } = await createDelivery()
      idsByStatus.set(status, id)
      const condition = Prisma.sql`id = ${id}::uuid`
      if (status === 'paused') await updateDeliveries(Prisma.sql`due_at = NULL`, condition)
      else await setStatus(status, condition)
    }
    for (const [status, id] of idsByStatus) {
      expect(await listIds(`?status=${status}`)).toEqual([id])
      expect((await callApi('GET', `${ROOT}/${id}`)).body.data.status).toBe(status)
    }
  })

  test('200: filters by endpoint, event type, subject and time', async () => {
    const { id: endpoint } = await addEndpoint(merchant, HOOK_URL)
    const { id, subject } = await createDelivery()
    const other = await createDelivery()
    await updateDeliveries(
      Prisma.sql`created_at = '2026-01-01T00:00:00Z'`,
      Prisma.sql`id = ${id}::uuid`,
    )
    await updateDeliveries(
      Prisma.sql`created_at = '2026-01-02T00:00:00Z'`,
      Prisma.sql`id <> ${id}::uuid`,
    )
    expect(await listIds(`?endpoint_id=${endpoint}`)).toHaveLength(2)
    expect(await listIds(`?endpoint_id=${newId()}`)).toEqual([])
    expect(await listIds('?endpoint_id=none')).toEqual([other.id, id])
    expect(await listIds('?type=transaction.paid')).toHaveLength(4)
    expect(await listIds('?type=withdrawal.approved')).toEqual([])
    expect(await listIds('?type=transaction.*')).toEqual(await listIds())
    expect(await listIds('?type=withdrawal.*')).toEqual([])
    expect(await listIds('?type=transaction.*&limit=3')).toEqual((await listIds()).slice(0, 3))
    expect(await listIds(`?subject_id=${subject}`)).toContain(id)
    expect(await listIds(`?subject_id=${subject}`)).toHaveLength(2)
    expect(await listIds('?created_from=2026-01-01&created_to=2026-01-02')).toEqual([id])
    expect(await listIds('?created_from=2026-01-02&limit=100')).toContain(other.id)
    const allFilters = `?type=transaction.paid&subject_id=${subject}&status=pending&created_to=2026-01-02`
    expect(await listIds(allFilters)).toEqual([id])
  })

  test('200: finds by the merchant’s reference, the id of the charge or the id of the event', async () => {
    const { id, subject } = await createDelivery()
    await createDelivery()
    const ownMerchant = merchant
    merchant = await makeMerchant()
    const foreignDelivery = await createDelivery()
    merchant = ownMerchant
    const charge = await db().charge.findFirstOrThrow({ where: { id: subject } })
    const { eventId } = await db().delivery.findFirstOrThrow({ where: { id } })
    for (const reference of [charge.externalId, subject, eventId]) {
      expect(await listIds(`?reference=${reference}`)).toEqual([id])
    }
    for (const reference of ['unknown', newId(), foreignDelivery.subject]) {
      expect(await listIds(`?reference=${reference}`)).toEqual([])
    }
    const [row] = (await callApi('GET', `${ROOT}?reference=${subject}`)).body.data
    expect(row.subject_reference).toBe(charge.externalId)
  })

  test.each([
    ['status=open', 'status must be one of pending, paused, delivered, exhausted, stopped'],
    [
      'endpoint_id=x',
      'endpoint_id must be the id of an endpoint, or "none" for deliveries to a webhook_url',
    ],
    ['subject_id=x', 'subject_id must be a UUID'],
    ['cursor=x', 'cursor must be the next_cursor of a previous page'],
    ['limit=101', 'limit must be a whole number from 1 to 100'],
  ])('422 for ?%s', async (query, message) => {
    const response = await callApi('GET', `${ROOT}?${query}`)
    const [field = ''] = query.split('=')
    expect([response.status, response.body]).toEqual([422, { errors: { [field]: [message] } }])
  })

  test('422 names every invalid field', async () => {
    const { status, body } = await callApi('GET', `${ROOT}?type=x&created_from=x&created_to=x`)
    expect([status, Object.keys(body.errors).toSorted()]).toEqual([
      422,
      ['created_from', 'created_to', 'type'],
    ])
  })
})

describe('GET deliveries/{id}', () => {
  test('200: every attempt, each with the request body that is stored once', async () => {
    const { id } = await createDelivery()
    await db().$executeRaw`
      INSERT INTO delivery_attempts (account_id, delivery_id, number, request_headers, request_body,
        address, response_status, response_headers, response_body, problem, duration_ms)
      VALUES
        (${merchant.id}::uuid, ${id}::uuid, 1, '{"webhook-id":"a"}', '{"id":1}', NULL, NULL, NULL,
          NULL, 'Nobody there', 3),
        (${merchant.id}::uuid, ${id}::uuid, 2, '{"webhook-id":"a"}', NULL, '127.0.0.1', 500,
          '{"server":"x"}', 'broken', 'The receiver answered 500', 5)`
    await updateDeliveries(Prisma.sql`attempts = 2`)
    const { status, body } = await callApi('GET', `${ROOT}/${id}`)
    expect(status).toBe(200)
    expectShape(DeliveryRead, body)
    const common = { request_headers: { 'webhook-id': 'a' }, request_body: '{"id":1}' }
    expect(body.data).toMatchObject({ id, attempt_count: 2, last_response_status: 500 })
    expect(body.data.later_pauses_s).toEqual([1_800, 7_200, 18_000, 36_000])
    expect(body.data.attempts).toMatchObject([
      { number: 1, response_status: null, response_body: null, problem: 'Nobody there', ...common },
      { number: 2, response_status: 500, response_headers: { server: 'x' }, ...common },
    ])
  })

  test('200: a delivery in progress is marked and has no next attempt', async () => {
    const { id } = await createDelivery()
    await holdQueue("now() + interval '1 minute'")
    const { data } = (await callApi('GET', `${ROOT}/${id}`)).body
    expect(data).toMatchObject({ status: 'pending', is_under_way: true, next_attempt_at: null })
  })

  test('404 for an unknown delivery and a delivery of another account or mode', async () => {
    for (const id of await makeForeignIds()) {
      expect(refusal(await callApi('GET', `${ROOT}/${id}`))).toEqual(NOT_FOUND)
    }
  })
})

describe('POST deliveries/{id}/resend', () => {
  test.each(['delivered', 'exhausted', 'stopped'])(
    '200: a delivery that is %s gets a new round of attempts, due now',
    async status => {
      const { id } = await createDelivery()
      await setStatus(status)
      await updateDeliveries(Prisma.sql`attempts = 7, attempts_before = 0`)
      const response = await callApi('POST', `${ROOT}/${id}/resend`)
      expect(response.status).toBe(200)
      expectShape(DeliveryResent, response.body)
      expect(response.body.data).toMatchObject({ id, status: 'pending', delivered_at: null })
      const row = await readSingleDelivery()
      expect([row.attempts, row.attemptsBefore]).toEqual([7, 7])
      expect(row.dueAt?.getTime()).toBeLessThanOrEqual(Date.now() + 60_000)
    },
  )

  test('200: a delivery that waits for its next attempt is due now, in the same round', async () => {
    const { id } = await createDelivery()
    await updateDeliveries(Prisma.sql`attempts = 2, due_at = now() + interval '5 hours'`)
    expect((await callApi('POST', `${ROOT}/${id}/resend`)).status).toBe(200)
    const row = await readSingleDelivery()
    expect([row.attempts, row.attemptsBefore]).toEqual([2, 0])
    expect(row.dueAt?.getTime()).toBeLessThanOrEqual(Date.now() + 3_600_000)
  })

  test('200: while the account’s queue has the lease of a dead worker', async () => {
    const { id } = await createDelivery()
    await holdQueue("now() - interval '1 s'")
    expect((await callApi('POST', `${ROOT}/${id}/resend`)).status).toBe(200)
  })

  test('200: repeated under its idempotency key resends once', async () => {
    const { id } = await createDelivery()
    await setStatus('exhausted')
    const first = await callApi('POST', `${ROOT}/${id}/resend`, {}, 'resend')
    await setStatus('exhausted')
    const again = await callApi('POST', `${ROOT}/${id}/resend`, {}, 'resend')
    expect(again.text).toBe(first.text)
    expect((await readSingleDelivery()).status).toBe('exhausted')
  })

  test('404 for an unknown delivery and a delivery of another account or mode', async () => {
    for (const id of await makeForeignIds()) {
      expect(refusal(await callApi('POST', `${ROOT}/${id}/resend`))).toEqual(NOT_FOUND)
    }
  })

  test('409 while the delivery is in progress', async () => {
    const { id } = await createDelivery()
    await holdQueue("now() + interval '1 minute'")
    const text =
      '{"error":"The delivery is being sent, or waits for its receiver: try again when it has ended"}'
    expect(refusal(await callApi('POST', `${ROOT}/${id}/resend`))).toEqual([409, text, 'under_way'])
  })

  test('409 while its endpoint is disabled or deleted, in every state', async () => {
    const { id: endpoint } = await addEndpoint(merchant, HOOK_URL)
    await createPaidCharge(merchant)
    const { id } = await readSingleDelivery()
    await callApi('POST', `/webhooks/endpoints/${endpoint}/disable`)
    expect(refusal(await callApi('POST', `${ROOT}/${id}/resend`))).toEqual(DISABLED)
    await setStatus('exhausted')
    expect(refusal(await callApi('POST', `${ROOT}/${id}/resend`))).toEqual(DISABLED)
    await callApi('DELETE', `/webhooks/endpoints/${endpoint}`)
    const text = '{"error":"The endpoint is disabled or deleted: enable it, or create another"}'
    const error = refusal(await callApi('POST', `${ROOT}/${id}/resend`))
    expect(error).toEqual([409, text, 'endpoint_disabled'])
  })
})

describe('POST deliveries/resend', () => {
  const hourAgo = () => new Date(Date.now() - 3_600_000).toISOString()

  test('200: resends only the failed deliveries of the period and the account', async () => {
    const ids: string[] = []
    for (const status of ['exhausted', 'stopped', 'delivered', 'pending', 'exhausted']) {
      const { id } = await createDelivery()
      ids.push(id)
      await setStatus(status, Prisma.sql`id = ${id}::uuid`)
    }
    const isOldest = Prisma.sql`id = ${ids[4]}::uuid`
    await updateDeliveries(Prisma.sql`created_at = now() - interval '2 hours'`, isOldest)
    const foreign = (await makeForeignIds()).slice(2)
    const where = { id: { in: foreign } }
    await db().delivery.updateMany({ where, data: { status: 'exhausted', dueAt: null } })
    const response = await callApi('POST', `${ROOT}/resend`, { from: hourAgo() })
    expect([response.status, response.body]).toEqual([200, { resent: 2, more: false }])
    expectShape(DeliveriesResent, response.body)
    expect(await listIds('?status=exhausted')).toEqual([ids[4]])
    expect(await listIds('?status=delivered')).toEqual([ids[2]])
    const remaining = await db().delivery.findMany({ where })
    expect(remaining.map(({ status }) => status)).toEqual(['exhausted', 'exhausted'])
    const again = await callApi('POST', `${ROOT}/resend`, { from: hourAgo() })
    expect(again.body.resent).toBe(0)
  })

  test('200: filters by endpoint, status and end of the period', async () => {
    const { id: endpoint } = await addEndpoint(merchant, HOOK_URL)
    const [first, second] = [await createDelivery(), await createDelivery()]
    await setStatus('exhausted')
    await setStatus('stopped', Prisma.sql`subject_id = ${second.subject}::uuid`)
    const resend = async (filters: object) =>
      (await callApi('POST', `${ROOT}/resend`, { from: hourAgo(), ...filters })).body.resent
    expect(await resend({ to: new Date(Date.now() - 60_000).toISOString() })).toBe(0)
    expect(await resend({ endpoint_id: endpoint, status: 'stopped' })).toBe(1)
    expect(await resend({ endpoint_id: endpoint })).toBe(1)
    expect(await resend({ status: 'exhausted' })).toBe(1)
    expect(await listIds('?status=stopped')).toEqual([second.id])
    expect(first.id).not.toBe(second.id)
  })

  test('200: skips deliveries to a disabled endpoint', async () => {
    const { id: endpoint } = await addEndpoint(merchant, HOOK_URL)
    await createDelivery()
    await callApi('POST', `/webhooks/endpoints/${endpoint}/disable`)
    await setStatus('exhausted')
    const { body } = await callApi('POST', `${ROOT}/resend`, { from: hourAgo() })
    expect(body.resent).toBe(1)
    expect(await listIds(`?status=exhausted&endpoint_id=${endpoint}`)).toHaveLength(1)
  })

  test('200: filters by type, reference and no endpoint; GET returns the number before', async () => {
    await addEndpoint(merchant, HOOK_URL)
    const delivery = await createDelivery()
    await createDelivery()
    await setStatus('exhausted')
    const countFailed = async (query: string) => {
      const response = await callApi('GET', `/dashboard${ROOT}/resend?from=${hourAgo()}${query}`)
      expectShape(DeliveriesFailed, response.body)
      return response.body.failed
    }
    const resend = async (filters: object) =>
      (await callApi('POST', `${ROOT}/resend`, { from: hourAgo(), ...filters })).body.resent
    expect([await countFailed(''), await countFailed('&endpoint_id=none')]).toEqual([4, 2])
    expect([await countFailed('&type=withdrawal.*'), await countFailed('&status=stopped')]).toEqual(
      [0, 0],
    )
    expect(await countFailed(`&reference=${delivery.subject}&type=transaction.paid`)).toBe(2)
    expect(await resend({ type: 'withdrawal.approved' })).toBe(0)
    expect(await resend({ endpoint_id: 'none', reference: delivery.subject })).toBe(1)
    expect(await countFailed('')).toBe(3)
    expect(await resend({ type: 'transaction.*' })).toBe(3)
    expect(await countFailed('')).toBe(0)
  })

  test('404 for an unknown endpoint and an endpoint of another account', async () => {
    for (const endpoint_id of [newId(), (await addEndpoint(await makeMerchant(), HOOK_URL)).id]) {
      const response = await callApi('POST', `${ROOT}/resend`, { from: hourAgo(), endpoint_id })
      expect(refusal(response)).toEqual(NO_ENDPOINT)
    }
  })

  test('409 for a disabled endpoint', async () => {
    const { id: endpoint_id } = await addEndpoint(merchant, HOOK_URL)
    await callApi('POST', `/webhooks/endpoints/${endpoint_id}/disable`)
    const response = await callApi('POST', `${ROOT}/resend`, { from: hourAgo(), endpoint_id })
    expect(refusal(response)).toEqual(DISABLED)
  })

  const fromMessage = 'from must be at most 14 days before to, or before now if to is absent'
  test.each([
    [{}, { from: ['from is required'] }],
    [{ from: '2026-01-01' }, { from: [fromMessage] }],
    [{ from: '2026-01-01', to: '2026-01-16' }, { from: [fromMessage] }],
    [{ from: '2026-01-02', to: '2026-01-02' }, { to: ['to must be after from'] }],
    [{ from: '2999-01-02' }, { from: ['from must be in the past'] }],
    [
      { from: '2026-01-01', to: '2026-01-02', status: 'delivered' },
      { status: ['status must be exhausted or stopped'] },
    ],
    [
      { from: '2026-01-01', to: '2026-01-02', endpoint_id: 7 },
      {
        endpoint_id: [
          'endpoint_id must be the id of an endpoint, or "none" for deliveries to a webhook_url',
        ],
      },
    ],
  ])('422 names the invalid field in %j', async (body, errors) => {
    const response = await callApi('POST', `${ROOT}/resend`, body)
    expect([response.status, response.body]).toEqual([422, { errors }])
  })
})
