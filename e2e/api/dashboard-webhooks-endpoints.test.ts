import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { call } from '#lib/testing/call.ts'
import { createPaidCharge } from '#lib/testing/deliveries.ts'
import { type Api, makeMerchant, startApi } from '#lib/testing/fixtures.ts'
import { expectShape, pageHeaders, refusal, signIn } from '#lib/testing/member.ts'
import { readSigningSecrets } from '#lib/webhooks/secrets.ts'
import { EVENT_TYPES } from '#lib/webhooks/states.ts'
import { hostOf } from '#lib/webhooks/target.ts'
import {
  EndpointCreated,
  EndpointDeleted,
  EndpointEnabled,
  EndpointList,
  EndpointRead,
  SecretShown,
  TestRead,
} from '#lib/webhooks/wire.ts'

const ROOT = '/webhooks/endpoints'
const SHOP_URL = 'https://shop.example/hooks'
const ENDPOINT_REQUEST = { url: SHOP_URL, event_types: '*' }
const NOT_FOUND = [404, '{"error":"Endpoint not found"}', 'endpoint_not_found']

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
const create = async (body: object = ENDPOINT_REQUEST) =>
  (await callApi('POST', ROOT, body)).body.data
const listAuditRecords = async () =>
  (
    await db().auditRecord.findMany({
      where: { accountId: merchant.id, action: { startsWith: 'webhook' } },
      orderBy: { createdAt: 'asc' },
    })
  ).map(({ action, target, actorType, before, after }) => ({
    action,
    target,
    actorType,
    before,
    after,
  }))

/** Returns ids that match no endpoint: unknown, malformed, of another account or mode. */
async function makeForeignIds(): Promise<string[]> {
  const other = await makeMerchant()
  const target = { url: SHOP_URL, host: hostOf(SHOP_URL) }
  const foreignEndpoint = { id: newId(), ...target, eventTypes: [...EVENT_TYPES] }
  await db().webhookEndpoint.create({
    data: { ...foreignEndpoint, accountId: other.id, mode: 'test' },
  })
  const liveEndpoint = { ...foreignEndpoint, id: newId(), accountId: merchant.id, mode: 'live' }
  await db().webhookEndpoint.create({ data: liveEndpoint })
  return [newId(), 'x', "'%00", foreignEndpoint.id, liveEndpoint.id].map(encodeURIComponent)
}

async function expectNotFound(method: string, subpath = '', body?: object): Promise<void> {
  for (const id of await makeForeignIds()) {
    const response = await callApi(method, `${ROOT}/${id}${subpath}`, body)
    expect(refusal(response), id).toEqual(NOT_FOUND)
  }
  const { id } = await create()
  await callApi('DELETE', `${ROOT}/${id}`)
  expect(refusal(await callApi(method, `${ROOT}/${id}${subpath}`, body))).toEqual(NOT_FOUND)
}

describe('POST endpoints', () => {
  test('200: creates the endpoint and shows its secret once', async () => {
    const { status, body } = await callApi('POST', ROOT, ENDPOINT_REQUEST)
    expect(status).toBe(200)
    expectShape(EndpointCreated, body)
    expect(body.data).toMatchObject({
      url: SHOP_URL,
      event_types: EVENT_TYPES,
      status: 'enabled',
      disabled_at: null,
      failing_since: null,
      health: { delivered: 0, failed: 0, p95_ms: null },
    })
    const { id, secret: shownSecret } = body.data
    const secretOwner = { accountId: merchant.id, mode: 'test', endpointId: id } as const
    expect(await readSigningSecrets(secretOwner)).toEqual([shownSecret])
    expect((await callApi('GET', `${ROOT}/${id}`)).text).not.toContain('whsec_')
    expect((await callApi('GET', ROOT)).text).not.toContain('whsec_')
    const after = { url: SHOP_URL, mode: 'test', event_types: EVENT_TYPES }
    expect(await listAuditRecords()).toMatchObject([
      { action: 'webhook_endpoint.created', target: id, actorType: 'user', after },
    ])
    expect(JSON.stringify(await listAuditRecords())).not.toContain(shownSecret.slice(6))
  })

  test('200: stores the named event types, each once, in a fixed order', async () => {
    const event_types = ['withdrawal.approved', 'transaction.paid', 'withdrawal.approved']
    const { event_types: stored } = await create({ url: SHOP_URL, event_types })
    expect(stored).toEqual(['transaction.paid', 'withdrawal.approved'])
  })

  test('200: a replay returns the same secret, which is not stored with the idempotency key', async () => {
    const first = await callApi('POST', ROOT, ENDPOINT_REQUEST, 'a-key')
    const replay = await callApi('POST', ROOT, ENDPOINT_REQUEST, 'a-key')
    expect(replay.headers.get('idempotent-replayed')).toBe('true')
    expect(replay.text).toBe(first.text)
    expect((await callApi('GET', ROOT)).body.data).toHaveLength(1)
    const stored = await db().idempotencyKey.findMany({ where: { accountId: merchant.id } })
    expect(stored).toHaveLength(1)
    expect(stored[0]?.answer).toBeNull()
    expect(Buffer.from(JSON.stringify(stored)).includes('whsec_')).toBe(false)
  })

  test('409 for the eleventh endpoint, also when twelve are created at once', async () => {
    const responses = await Promise.all(
      Array.from({ length: 12 }, () => callApi('POST', ROOT, ENDPOINT_REQUEST)),
    )
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(10)
    const [refused] = responses.filter(({ status }) => status !== 200)
    const text = '{"error":"The limit of 10 endpoints is reached: edit or delete one"}'
    expect(refused && refusal(refused)).toEqual([409, text, 'limit_reached'])
    const [first] = (await callApi('GET', ROOT)).body.data
    await callApi('DELETE', `${ROOT}/${first.id}`)
    expect((await callApi('POST', ROOT, ENDPOINT_REQUEST)).status).toBe(200)
  })

  const typesMessage = `event_types must be "*" for all, or a list of one or more of: ${EVENT_TYPES.join(', ')}`
  test.each([
    [{}, { url: ['url is required'], event_types: ['event_types is required'] }],
    [{ ...ENDPOINT_REQUEST, url: 'shop' }, { url: ['url must be an http or https address'] }],
    [{ ...ENDPOINT_REQUEST, url: 'ftp://a.b/' }, { url: ['url must be an http or https address'] }],
    [{ ...ENDPOINT_REQUEST, url: 7 }, { url: ['url must be a string'] }],
    [{ ...ENDPOINT_REQUEST, event_types: [] }, { event_types: [typesMessage] }],
    [{ ...ENDPOINT_REQUEST, event_types: 'all' }, { event_types: [typesMessage] }],
    [{ ...ENDPOINT_REQUEST, event_types: ['transaction.sold'] }, { event_types: [typesMessage] }],
    [{ ...ENDPOINT_REQUEST, event_types: { 0: '*' } }, { event_types: [typesMessage] }],
  ])('422 names the invalid field in %j', async (body, errors) => {
    const response = await callApi('POST', ROOT, body)
    expect([response.status, response.body]).toEqual([422, { errors }])
  })
})

describe('GET endpoints', () => {
  test('200: the endpoints of this account and mode, oldest first, without deleted ones', async () => {
    await makeForeignIds()
    const [one, two, three] = [await create(), await create(), await create()]
    await callApi('DELETE', `${ROOT}/${two.id}`)
    const { status, body } = await callApi('GET', ROOT)
    expect(status).toBe(200)
    expectShape(EndpointList, body)
    expect(body.data.map(({ id }: { id: string }) => id)).toEqual([one.id, three.id])
  })
})

describe('GET endpoints/{id}', () => {
  test('200: the endpoint as it was created, without its secret', async () => {
    const { id, secret: _, ...endpointFields } = await create()
    const { status, body } = await callApi('GET', `${ROOT}/${id}`)
    expect([status, body]).toEqual([200, { data: { id, ...endpointFields } }])
    expectShape(EndpointRead, body)
  })

  test('404 for an unknown or deleted endpoint and an endpoint of another account or mode', () =>
    expectNotFound('GET'))
})

describe('PATCH endpoints/{id}', () => {
  test('200: pending deliveries move to the new URL, finished ones keep theirs', async () => {
    const { id } = await create()
    await createPaidCharge(merchant)
    await createPaidCharge(merchant)
    const [finished] = await db().delivery.findMany({ where: { endpointId: id }, take: 1 })
    await db().$executeRaw`
      UPDATE deliveries SET status = 'exhausted', due_at = NULL WHERE id = ${finished?.id}::uuid`
    const url = 'https://New.Shop.example:8443/hooks'
    const response = await callApi('PATCH', `${ROOT}/${id}`, { url })
    expect(response.status).toBe(200)
    expectShape(EndpointRead, response.body)
    expect(response.body.data).toMatchObject({ id, url, event_types: EVENT_TYPES })
    const rows = await db().delivery.findMany({
      where: { endpointId: id },
      orderBy: { status: 'asc' },
    })
    expect(rows.map(({ status, url, host }) => [status, url, host])).toEqual([
      ['exhausted', SHOP_URL, 'shop.example'],
      ['pending', url, 'new.shop.example'],
    ])
    expect((await listAuditRecords()).at(-1)).toMatchObject({
      action: 'webhook_endpoint.edited',
      before: { url: SHOP_URL },
      after: { url: 'https://new.shop.example:8443/hooks' },
    })
  })

  test('200: new event types apply from now on', async () => {
    const { id } = await create()
    const event_types = ['withdrawal.approved']
    const { body } = await callApi('PATCH', `${ROOT}/${id}`, { event_types })
    expect(body.data).toMatchObject({ url: SHOP_URL, event_types })
    await createPaidCharge(merchant)
    expect(await db().delivery.count({ where: { endpointId: id } })).toBe(0)
  })

  test('404 for an unknown or deleted endpoint and an endpoint of another account or mode', () =>
    expectNotFound('PATCH', '', { url: SHOP_URL }))

  test.each([
    [{}, { body: ['body must contain url, event_types or full_documents'] }],
    [{ url: 'x' }, { url: ['url must be an http or https address'] }],
  ])('422 names the invalid field in %j', async (body, errors) => {
    const { id } = await create()
    const response = await callApi('PATCH', `${ROOT}/${id}`, body)
    expect([response.status, response.body]).toEqual([422, { errors }])
  })
})

test.each([
  'http://203.0.113.9/hooks',
  'http://10.1.2.3/hooks',
  'http://0x0a000001/hooks',
  'http://169.254.169.254/latest',
  'http://[fd00::1]/hooks',
])('an endpoint is neither created with the private address %s nor changed to it', async url => {
  const { id } = await create()
  for (const [method, path] of [
    ['POST', ROOT],
    ['PATCH', `${ROOT}/${id}`],
  ] as const) {
    const { status, body } = await callApi(method, path, { ...ENDPOINT_REQUEST, url })
    expect([status, Object.keys(body.errors)]).toEqual([422, ['url']])
  }
  expect((await callApi('GET', ROOT)).body.data).toMatchObject([{ id, url: SHOP_URL }])
})

describe('DELETE endpoints/{id}', () => {
  test('200: pending deliveries are stopped and new events create none', async () => {
    const { id } = await create()
    await createPaidCharge(merchant)
    const response = await callApi('DELETE', `${ROOT}/${id}`)
    expect([response.status, response.body]).toEqual([200, { data: { id, deleted: true } }])
    expectShape(EndpointDeleted, response.body)
    await createPaidCharge(merchant)
    const rows = await db().delivery.findMany({ where: { endpointId: id } })
    expect(rows.map(({ status, dueAt }) => [status, dueAt])).toEqual([['stopped', null]])
    expect((await listAuditRecords()).at(-1)).toMatchObject({
      action: 'webhook_endpoint.deleted',
      before: { url: SHOP_URL },
    })
  })

  test('404 for an unknown or deleted endpoint and an endpoint of another account or mode', () =>
    expectNotFound('DELETE'))
})

describe('POST endpoints/{id}/disable', () => {
  test('200: pending and new deliveries wait; disabling twice changes nothing', async () => {
    const { id } = await create()
    await createPaidCharge(merchant)
    const response = await callApi('POST', `${ROOT}/${id}/disable`)
    expect(response.status).toBe(200)
    expectShape(EndpointRead, response.body)
    const disabled = { status: 'disabled', disabled_reason: 'Disabled in the dashboard' }
    expect(response.body.data).toMatchObject(disabled)
    await createPaidCharge(merchant)
    const again = await callApi('POST', `${ROOT}/${id}/disable`)
    expect(again.body).toEqual(response.body)
    const rows = await db().delivery.findMany({ where: { endpointId: id } })
    expect(rows.map(({ status, dueAt }) => [status, dueAt])).toEqual([
      ['pending', null],
      ['pending', null],
    ])
    expect((await listAuditRecords()).map(({ action }) => action)).toEqual([
      'webhook_endpoint.created',
      'webhook_endpoint.disabled',
    ])
  })

  test('404 for an unknown or deleted endpoint and an endpoint of another account or mode', () =>
    expectNotFound('POST', '/disable'))
})

describe('POST endpoints/{id}/enable', () => {
  test('200: missed deliveries are due, or stopped if send_missed is false', async () => {
    for (const [body, status] of [
      [{}, 'pending'],
      [{ send_missed: false }, 'stopped'],
    ] as const) {
      const { id } = await create()
      await callApi('POST', `${ROOT}/${id}/disable`)
      await createPaidCharge(merchant)
      const response = await callApi('POST', `${ROOT}/${id}/enable`, body)
      expect(response.status).toBe(200)
      expectShape(EndpointEnabled, response.body)
      expect(response.body).toMatchObject({
        data: { status: 'enabled', disabled_at: null, disabled_reason: null },
        missed: 1,
      })
      const [row] = await db().delivery.findMany({ where: { endpointId: id } })
      expect([row?.status, row?.dueAt !== null]).toEqual([status, status === 'pending'])
      const { action, after } = (await listAuditRecords()).at(-1) ?? {}
      expect([action, after]).toEqual([
        'webhook_endpoint.enabled',
        { send_missed: status === 'pending' },
      ])
      await callApi('DELETE', `${ROOT}/${id}`)
    }
  })

  test('200: enabling an enabled endpoint changes nothing and is not audited', async () => {
    const { id } = await create()
    expect((await callApi('POST', `${ROOT}/${id}/enable`)).body.missed).toBe(0)
    expect(await listAuditRecords()).toHaveLength(1)
  })

  test('404 for an unknown or deleted endpoint and an endpoint of another account or mode', () =>
    expectNotFound('POST', '/enable'))

  test('422 for an invalid send_missed', async () => {
    const { id } = await create()
    const response = await callApi('POST', `${ROOT}/${id}/enable`, { send_missed: 'no' })
    const errors = { send_missed: ['send_missed must be true or false'] }
    expect([response.status, response.body]).toEqual([422, { errors }])
  })
})

describe('POST endpoints/{id}/rotate', () => {
  test('200: returns a new secret; the previous secret signs for another day', async () => {
    const { id, secret: before } = await create()
    const { status, body } = await callApi('POST', `${ROOT}/${id}/rotate`, undefined)
    expect(status).toBe(200)
    expectShape(SecretShown, body)
    const { secret: after, created_at, previous_retires_at } = body.data
    const secretOwner = { accountId: merchant.id, mode: 'test', endpointId: id } as const
    expect(await readSigningSecrets(secretOwner)).toEqual([after, before])
    const hours = (Date.parse(previous_retires_at) - Date.parse(created_at)) / 3_600_000
    expect(hours).toBeCloseTo(24, 1)
    expect((await listAuditRecords()).at(-1)).toMatchObject({
      action: 'webhook_endpoint.secret_rotated',
      target: id,
    })
    expect(JSON.stringify(await listAuditRecords())).not.toContain('whsec_')
  })

  test('200: a replay returns the same secret and creates no third secret', async () => {
    const { id } = await create()
    const first = await callApi('POST', `${ROOT}/${id}/rotate`, {}, 'again')
    const replay = await callApi('POST', `${ROOT}/${id}/rotate`, {}, 'again')
    expect(replay.headers.get('idempotent-replayed')).toBe('true')
    expect(replay.text).toBe(first.text)
    expect(await db().webhookSecret.count({ where: { endpointId: id } })).toBe(2)
    const [stored] = await db().idempotencyKey.findMany({ where: { accountId: merchant.id } })
    expect(stored?.answer).toBeNull()
  })

  test('404 for an unknown or deleted endpoint and an endpoint of another account or mode', () =>
    expectNotFound('POST', '/rotate'))

  test('409 while ten secrets are active', async () => {
    const { id } = await create()
    const rotate = () => callApi('POST', `${ROOT}/${id}/rotate`)
    for (let count = 2; count <= 10; count++) expect((await rotate()).status).toBe(200)
    const [status, , code] = refusal(await rotate())
    expect([status, code]).toEqual([409, 'limit_reached'])
    await db().$executeRaw`
      UPDATE webhook_secrets SET retires_at = now() WHERE id = ${id}::uuid`
    expect((await rotate()).status).toBe(200)
  })
})

describe('POST endpoints/{id}/test', () => {
  test('200: reports why the receiver could not be reached', async () => {
    const { id } = await create({ ...ENDPOINT_REQUEST, url: 'http://127.0.0.1:1025/hook' })
    const { status, body } = await callApi('POST', `${ROOT}/${id}/test`)
    expect(status).toBe(200)
    expectShape(TestRead, body)
    expect(body.data).toMatchObject({ delivered: false, status: null, address: null })
    expect(body.data.problem).toContain('refuses connections')
    expect(JSON.parse(body.data.request_body)).toMatchObject({ type: 'transaction.paid' })
  })

  test('404 for an unknown or deleted endpoint and an endpoint of another account or mode', () =>
    expectNotFound('POST', '/test', {}))

  test('422 for an unknown event type', async () => {
    const { id } = await create()
    const response = await callApi('POST', `${ROOT}/${id}/test`, { type: 'ping' })
    const errors = { type: [`type must be one of ${EVENT_TYPES.join(', ')}, troco.ping`] }
    expect([response.status, response.body]).toEqual([422, { errors }])
  })
})

describe('the secret of charges and withdrawals', () => {
  const path = '/dashboard/webhooks/secret'
  const secretOwner = () => ({ accountId: merchant.id, mode: 'test', endpointId: null }) as const

  test('GET 200: shows the active secret', async () => {
    const { status, body } = await callApi('GET', path)
    expect(status).toBe(200)
    expectShape(SecretShown, body)
    expect(await readSigningSecrets(secretOwner())).toEqual([body.data.secret])
    expect(body.data.previous_retires_at).toBeNull()
  })

  test('POST rotate 200: both secrets sign, and GET shows the new one', async () => {
    const before = (await callApi('GET', path)).body.data.secret
    const { status, body } = await callApi('POST', `${path}/rotate`)
    expect(status).toBe(200)
    expectShape(SecretShown, body)
    expect(await readSigningSecrets(secretOwner())).toEqual([body.data.secret, before])
    expect((await callApi('GET', path)).body).toEqual(body)
    const auditFields = { target: merchant.id, after: { mode: 'test' } }
    expect(await listAuditRecords()).toMatchObject([
      { action: 'webhook_secret.shown', ...auditFields },
      { action: 'webhook_secret.rotated', ...auditFields },
      { action: 'webhook_secret.shown', ...auditFields },
    ])
  })

  test('POST rotate 200, eight at once: one secret is current, and every secret shown signs', async () => {
    const before = (await callApi('GET', path)).body.data.secret
    const responses = await Promise.all(
      Array.from({ length: 8 }, () => callApi('POST', `${path}/rotate`)),
    )
    expect(responses.map(({ status }) => status)).toEqual(Array(8).fill(200))
    const shownSecrets = responses.map(({ body }) => body.data.secret as string)
    expect(new Set(shownSecrets).size).toBe(8)
    const signing = await readSigningSecrets(secretOwner())
    expect(signing.toSorted()).toEqual([before, ...shownSecrets].toSorted())
    const where = { accountId: merchant.id, mode: 'test', endpointId: null, retiresAt: null }
    expect(await db().webhookSecret.count({ where })).toBe(1)
    expect((await callApi('GET', path)).body.data.secret).toBe(signing[0])
  })
})

describe('test and live mode', () => {
  const callLive = (method: string, path: string, body?: unknown) =>
    call(api.url, method, path, { headers: pageHeaders(secret, merchant.id, 'live'), body })

  test('live mode shows no endpoint of test mode', async () => {
    const { id } = await create()
    expect((await callLive('GET', ROOT)).body.data).toEqual([])
    expect(refusal(await callLive('GET', `${ROOT}/${id}`))).toEqual(NOT_FOUND)
  })

  test('live mode refuses changes while it is disabled', async () => {
    const text = '{"error":"Live mode is not enabled"}'
    const refused = [403, text, 'live_mode_disabled']
    expect(refusal(await callLive('POST', ROOT, ENDPOINT_REQUEST))).toEqual(refused)
    expect(refusal(await callLive('POST', '/dashboard/webhooks/secret/rotate'))).toEqual(refused)
  })
})

test('the audit records of six changes to an endpoint contain no secret', async () => {
  const { id, secret: first } = await create()
  const { secret: second } = (await callApi('POST', `${ROOT}/${id}/rotate`)).body.data
  await callApi('PATCH', `${ROOT}/${id}`, { event_types: ['transaction.paid'] })
  await callApi('POST', `${ROOT}/${id}/disable`)
  await callApi('POST', `${ROOT}/${id}/enable`)
  await callApi('DELETE', `${ROOT}/${id}`)
  const records = await listAuditRecords()
  expect(records.map(({ action }) => action)).toEqual([
    'webhook_endpoint.created',
    'webhook_endpoint.secret_rotated',
    'webhook_endpoint.edited',
    'webhook_endpoint.disabled',
    'webhook_endpoint.enabled',
    'webhook_endpoint.deleted',
  ])
  for (const secret of [first, second]) {
    expect(JSON.stringify(records)).not.toContain(secret.slice('whsec_'.length))
  }
})
