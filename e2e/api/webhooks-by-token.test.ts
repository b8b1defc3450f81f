import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { newId } from '#lib/core/ids.ts'
import { hashSecret } from '#lib/core/keys.ts'
import { env, supplyEnv } from '#lib/core/settings.ts'
import { db } from '#lib/db/client.ts'
import { storeRequests } from '#lib/http/request-log.ts'
import { DEFAULT_PERMISSIONS, PERMISSIONS, type Permission } from '#lib/people/roles.ts'
import { call } from '#lib/testing/call.ts'
import { CANARY } from '#lib/testing/canary.ts'
import { createPaidCharge } from '#lib/testing/deliveries.ts'
import { type Api, CHARGE, makeMerchant, makeToken, startApi } from '#lib/testing/fixtures.ts'
import { pageHeaders, refusal, signIn } from '#lib/testing/member.ts'
import { issueToken } from '#lib/tokens/issue.ts'

/** Permissions that a session may grant only after a proof of identity. */
const SENSITIVE: Permission[] = ['webhooks:write', 'tokens:write']
/** Longer than a request takes to reach the lock that the test holds. */
const REACHED_MS = 400
const ENDPOINTS = '/webhooks/endpoints'
const ENDPOINT = { url: 'http://127.0.0.1:1025/hook', event_types: ['transaction.paid'] }
const REUSED = [422, expect.stringContaining('already used'), 'idempotency_key_reused']

let api: Api
let merchant: Account
let token: string
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.close())
beforeEach(async () => {
  merchant = await makeMerchant()
  token = await tokenWith('webhooks:read', 'webhooks:write')
})

const tokenWith = (...permissions: Permission[]) => makeToken(merchant.id, { permissions })
const send = (method: string, path: string, body?: object, by = token, key?: string) =>
  call(api.url, method, path, { token: by, body, key })
const create = async (body: object = ENDPOINT) => (await send('POST', ENDPOINTS, body)).body.data

test('a token creates, reads, changes, disables, enables and deletes an endpoint, and the audit log names it', async () => {
  const { id, secret, ...created } = await create()
  expect(created).toMatchObject({ ...ENDPOINT, full_documents: false, status: 'enabled' })
  const path = `${ENDPOINTS}/${id}`
  const change = { event_types: ['withdrawal.approved'] }
  expect((await send('PATCH', path, change)).body.data).toMatchObject({ ...ENDPOINT, ...change })
  const { secret: newSecret } = (await send('POST', `${path}/rotate`, {})).body.data
  expect(newSecret).not.toBe(secret)
  const disabled = (await send('POST', `${path}/disable`, {})).body.data
  expect(disabled).toMatchObject({ status: 'disabled', disabled_code: 'by_token' })
  expect((await send('POST', `${path}/enable`, {})).body).toMatchObject({ missed: 0 })
  for (const read of [await send('GET', path), await send('GET', ENDPOINTS)])
    expect([read.status, read.text.includes('whsec_')]).toEqual([200, false])
  expect((await send('DELETE', path)).body.data).toEqual({ id, deleted: true })
  expect((await send('GET', path)).status).toBe(404)

  const headers = pageHeaders(await signIn(merchant, 'owner'), merchant.id)
  const { body } = await call(api.url, 'GET', `/dashboard/audit?target=${id}`, { headers })
  const by = await db().token.findFirstOrThrow({ where: { id: body.data[0].actor.id } })
  expect(by.permissions).toEqual(['webhooks:read', 'webhooks:write'])
  const actions = ['created', 'edited', 'secret_rotated', 'disabled', 'enabled', 'deleted']
  expect(body.data.map(({ action }: { action: string }) => action).toReversed()).toEqual(
    actions.map(action => `webhook_endpoint.${action}`),
  )
  for (const { actor } of body.data)
    expect(actor).toMatchObject({ kind: 'token', name: by.name, email: null })
})

test('a password in the URL of an endpoint is refused, and in that of a charge stored nowhere', async () => {
  const { id } = await create()
  const urls = [
    `https://user:${CANARY.password}@shop.example/hook`,
    'https://***@shop.example/hook',
  ]
  for (const url of urls) {
    for (const [method, path] of [
      ['POST', ENDPOINTS],
      ['PATCH', `${ENDPOINTS}/${id}`],
    ] as const) {
      const { status, text } = await send(method, path, { ...ENDPOINT, url })
      expect([status, text]).toEqual([422, expect.stringContaining('no user name or password')])
      expect(text).not.toContain(CANARY.password)
    }
  }
  const full = await tokenWith(...PERMISSIONS)
  const created = await send('POST', '/transactions', { ...CHARGE, webhook_url: urls[0] }, full)
  const charge = created.body.data.transaction_id
  await send('POST', `/sandbox/transactions/${charge}`, { outcome: 'paid' }, full)
  const read = await send('GET', `/transactions/${charge}`, undefined, full)
  expect(read.body.data.webhook_url).toBe(urls[1])
  await storeRequests()
  const where = { accountId: merchant.id }
  const stored = JSON.stringify(
    [
      await db().charge.findMany({ where }),
      await db().event.findMany({ where }),
      await db().delivery.findMany({ where }),
      await db()
        .$queryRaw`SELECT row_to_json(r) FROM request_log r WHERE account_id = ${merchant.id}::uuid`,
      await db().auditRecord.findMany({ where }),
    ],
    (_, value) => (typeof value === 'bigint' ? `${value}` : value),
  )
  expect(stored).toContain(urls[1])
  expect(stored).not.toContain(CANARY.password)
})

test('a token resends a delivery and the failed ones of a period, and finds them by reference', async () => {
  const subject = await createPaidCharge(merchant, ENDPOINT.url)
  const { body } = await send('GET', `/webhooks/deliveries?reference=${subject}`)
  expect(body.data).toMatchObject([{ subject_id: subject, url: ENDPOINT.url, status: 'pending' }])
  const path = `/webhooks/deliveries/${body.data[0].id}`
  expect((await send('POST', `${path}/resend`, {})).body.data.id).toBe(body.data[0].id)
  await db().delivery.updateMany({
    where: { accountId: merchant.id },
    data: { status: 'exhausted', dueAt: null },
  })
  const period = { from: new Date(Date.now() - 3_600_000).toISOString() }
  const resend = () => send('POST', '/webhooks/deliveries/resend', period)
  expect((await resend()).body).toEqual({ resent: 1, more: false })
  expect((await resend()).body).toEqual({ resent: 0, more: false })
})

test.each([
  ['created', () => ENDPOINTS],
  ['rotated', async () => `${ENDPOINTS}/${(await create()).id}/rotate`],
])(
  'a secret that is %s is shown again to the same token only, for the same request',
  async (_, pathOf) => {
    const path = await pathOf()
    const body = path === ENDPOINTS ? ENDPOINT : {}
    const key = newId()
    const first = await send('POST', path, body, token, key)
    expect(first.text).toContain('whsec_')
    const again = await send('POST', path, body, token, key)
    expect([again.text, again.headers.get('idempotent-replayed')]).toEqual([first.text, 'true'])
    const other = await tokenWith('webhooks:write')
    expect(refusal(await send('POST', path, body, other, key))).toEqual(REUSED)
    const headers = pageHeaders(await signIn(merchant, 'developer'), merchant.id)
    expect(refusal(await call(api.url, 'POST', path, { headers, body, key }))).toEqual(REUSED)
    const keys = await db().idempotencyKey.findMany({ where: { accountId: merchant.id } })
    expect(JSON.stringify(keys)).not.toContain('whsec_')
  },
)

test('the log of requests has no body of an operation that returns a secret', async () => {
  const { id } = await create()
  await send('POST', `${ENDPOINTS}/${id}/rotate`, {})
  await send('PATCH', `${ENDPOINTS}/${id}`, { url: 'http://127.0.0.1:1025/other?key=hush' })
  await storeRequests()
  const rows = await db().requestLog.findMany({ where: { accountId: merchant.id } })
  expect(rows).toHaveLength(3)
  expect(JSON.stringify(rows)).not.toMatch(/hush|whsec_/)
  for (const { method, requestBody, responseBody } of rows)
    if (method === 'POST') expect([requestBody, responseBody]).toEqual([null, null])
})

test('no token reads the secret of resources or reveals a document, whatever its permissions', async () => {
  const all = await makeToken(merchant.id)
  const code = 'session_required'
  for (const [method, path] of [
    ['GET', '/dashboard/webhooks/secret'],
    ['POST', '/dashboard/webhooks/secret/rotate'],
    ['POST', `/dashboard/webhooks/deliveries/${newId()}/document`],
  ] as const)
    expect(refusal(await send(method, path, undefined, all))).toEqual([
      403,
      expect.anything(),
      code,
    ])
})

describe('payers’ documents', () => {
  test('in full are chosen only by a token that reads them', async () => {
    const wanted = { ...ENDPOINT, full_documents: true }
    const refused = [403, expect.stringContaining('payers:read'), 'permission_not_held']
    expect(refusal(await send('POST', ENDPOINTS, wanted))).toEqual(refused)
    const { id } = await create()
    const path = `${ENDPOINTS}/${id}`
    expect(refusal(await send('PATCH', path, { full_documents: true }))).toEqual(refused)
    const reader = await tokenWith('webhooks:write', 'payers:read')
    const change = { full_documents: true }
    expect((await send('PATCH', path, change, reader)).body.data).toMatchObject(change)
    // Another token moves it: the new receiver was not chosen by one that reads documents.
    const moved = await send('PATCH', path, { url: 'http://127.0.0.1:1025/moved' })
    expect(moved.body.data.full_documents).toBe(false)
  })

  test('that were sent are shown only to a token that reads them', async () => {
    const subjectId = await createPaidCharge(merchant, ENDPOINT.url)
    const where = { accountId: merchant.id, subjectId }
    const { id: deliveryId } = await db().delivery.findFirstOrThrow({ where })
    const requestBody = JSON.stringify({ transaction: { client_doc: CANARY.formattedDocument } })
    const attempt = { number: 1, requestHeaders: { 'webhook-signature': 'v1,proof' }, requestBody }
    await db().deliveryAttempt.create({
      data: { accountId: merchant.id, deliveryId, ...attempt, durationMs: 1 },
    })
    const path = `/webhooks/deliveries/${deliveryId}`
    const masked = await send('GET', path)
    expect(masked.body.data.is_masked).toBe(true)
    expect(masked.text).not.toMatch(/529\.982\.247-25|52998224725|v1,proof/)
    const reader = await tokenWith('webhooks:read', 'payers:read')
    const full = await send('GET', path, undefined, reader)
    expect(full.body.data.is_masked).toBe(false)
    expect(full.text).toContain(CANARY.formattedDocument)
  })
})

async function disabledEndpoint(): Promise<string> {
  const { id } = await create()
  await send('POST', `${ENDPOINTS}/${id}/disable`, {})
  return id
}

async function makeDelivery(): Promise<string> {
  const subjectId = await createPaidCharge(merchant, ENDPOINT.url)
  const where = { accountId: merchant.id, subjectId }
  return (await db().delivery.findFirstOrThrow({ where })).id
}

test.each([
  ['creates no endpoint', async () => ['POST', ENDPOINTS] as const],
  ['moves none', async () => ['PATCH', `${ENDPOINTS}/${(await create()).id}`] as const],
  ['gets no secret', async () => ['POST', `${ENDPOINTS}/${(await create()).id}/rotate`] as const],
  ['disables none', async () => ['POST', `${ENDPOINTS}/${(await create()).id}/disable`] as const],
  [
    'enables none',
    async () => ['POST', `${ENDPOINTS}/${await disabledEndpoint()}/enable`] as const,
  ],
  ['deletes none', async () => ['DELETE', `${ENDPOINTS}/${(await create()).id}`] as const],
  [
    'resends nothing',
    async () => ['POST', `/webhooks/deliveries/${await makeDelivery()}/resend`] as const,
  ],
  ['resends no period', async () => ['POST', '/webhooks/deliveries/resend'] as const],
])('a token that is revoked before the commit %s', async (_, prepare) => {
  const [method, path] = await prepare()
  // The first use of a token is noted in its row.
  await send('GET', ENDPOINTS)
  const url = 'http://127.0.0.1:1025/elsewhere'
  const body = path.endsWith('/resend') ? { from: '2026-11-20' } : { ...ENDPOINT, url }
  const countNotes = () => db().auditRecord.count({ where: { accountId: merchant.id } })
  const noted = await countNotes()
  const response = await db().$transaction(async tx => {
    await tx.$queryRaw`SELECT FROM tokens WHERE account_id = ${merchant.id}::uuid FOR UPDATE`
    const sent = send(method, path, method === 'DELETE' ? undefined : body)
    await sleep(REACHED_MS)
    await tx.token.updateMany({
      where: { accountId: merchant.id },
      data: { revokedAt: new Date() },
    })
    return [sent]
  })
  expect((await response[0])?.status).toBe(401)
  expect(await db().webhookEndpoint.count({ where: { accountId: merchant.id, url } })).toBe(0)
  expect(await countNotes()).toBe(noted)
})

describe('granting', () => {
  const { PUBLIC_URL } = env()
  beforeAll(() => supplyEnv({ PUBLIC_URL: 'https://pix.troco.test' }))
  afterAll(() => supplyEnv({ PUBLIC_URL }))

  test.each(SENSITIVE)(
    '%s needs a proof of the last five minutes, and no token has it unasked',
    async permission => {
      expect(DEFAULT_PERMISSIONS).not.toContain(permission)
      const secret = await signIn(merchant, 'owner')
      const setProofAge = (seconds: number) => db().$executeRaw`
      UPDATE user_sessions SET proved_at = now() - make_interval(secs => ${seconds})
      WHERE secret_hash = ${hashSecret(secret)}`
      const request = { accountId: merchant.id, mode: 'test' as const, name: 'x' }
      const { id } = await issueToken(
        { ...request, permissions: [permission] },
        { type: 'command_line' },
      )
      const grants = [
        ['/tokens', { name: 'x', permissions: [permission] }],
        [`/dashboard/tokens/${id}/adopt`, undefined],
        [`/tokens/${id}/rotate`, { overlap_hours: 0 }],
      ] as const
      for (const [age, status] of [
        [301, 403],
        [290, 200],
      ] as const) {
        await setProofAge(age)
        for (const [path, body] of grants) {
          const headers = pageHeaders(secret, merchant.id)
          const response = await call(api.url, 'POST', path, { headers, body })
          expect([path, response.status]).toEqual([path, status])
          if (status === 403) expect(response.headers.get('x-error-code')).toBe('proof_required')
        }
      }
    },
  )

  test('a developer grants the permissions of webhooks, and none that the role lacks', async () => {
    const headers = pageHeaders(await signIn(merchant, 'developer'), merchant.id)
    const issue = (permissions: Permission[]) =>
      call(api.url, 'POST', '/tokens', { headers, body: { name: 'x', permissions } })
    expect((await issue(['webhooks:read', 'webhooks:write'])).status).toBe(200)
    expect((await issue([...PERMISSIONS])).headers.get('x-error-code')).toBe('permission_not_held')
  })
})
