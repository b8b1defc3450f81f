import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { type ApiResponse, call } from '#lib/testing/call.ts'
import { type Api, CHARGE, makeMerchant, startApi } from '#lib/testing/fixtures.ts'
import { expectShape, pageHeaders, refusal, signIn } from '#lib/testing/member.ts'
import { makeToken } from '#lib/tokens/authenticate.ts'
import { issueToken } from '#lib/tokens/issue.ts'
import { PERMISSIONS, TOKENS_MAX, TokenIssued, TokenList, TokenRead } from '#lib/tokens/schema.ts'

const ROOT = '/tokens'
const TOKEN_REQUEST = { name: 'Loja virtual', permissions: ['account:read', 'transactions:write'] }
const NOT_FOUND = [404, '{"error":"Token not found"}', 'token_not_found']
const UNAUTHENTICATED = [401, '{"error":"Unauthenticated"}']

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

const callApi = (method: string, path: string, body?: unknown, key?: string, mode = 'test') =>
  call(api.url, method, path, { headers: pageHeaders(secret, merchant.id, mode), body, key })
const create = async (body: object = TOKEN_REQUEST) => (await callApi('POST', ROOT, body)).body.data
const list = async () => (await callApi('GET', ROOT)).body.data
const callWithToken = async (token: string): Promise<unknown[]> => {
  const { status, text } = await call(api.url, 'GET', '/account', { token })
  return status === 200 ? [200] : [status, text]
}
const listAuditRecords = (target: string) =>
  db().auditRecord.findMany({ where: { target }, orderBy: { createdAt: 'asc' } })

/** Returns every stored row that could contain the token, as JSON. */
async function dumpStoredRows(): Promise<string> {
  const where = { accountId: merchant.id }
  return JSON.stringify([
    await db().token.findMany({ where }),
    await db().idempotencyKey.findMany({ where }),
    await db().auditRecord.findMany({ where }),
  ])
}

describe('POST tokens', () => {
  test('200: creates a token with the chosen permissions and shows it once', async () => {
    const { status, body } = await callApi('POST', ROOT, TOKEN_REQUEST)
    expect(status).toBe(200)
    expectShape(TokenIssued, body)
    const { token, ...row } = body.data
    expect(row).toMatchObject({
      ...TOKEN_REQUEST,
      status: 'active',
      expires_at: null,
      last_used_at: null,
    })
    expect([row.prefix, row.last_four]).toEqual([token.slice(0, 20), token.slice(-4)])
    expect(await callWithToken(token)).toEqual([200])
    const post = await call(api.url, 'POST', '/transactions', { token, body: CHARGE })
    expect(post.status).toBe(200)
    expect((await call(api.url, 'GET', '/withdrawals', { token })).status).toBe(403)
    const listed = await callApi('GET', ROOT)
    expectShape(TokenList, listed.body)
    expect(listed.text).not.toContain(token.slice(0, 21))
    expect(listed.body.data[0].last_used_at).not.toBeNull()
    expect(await listAuditRecords(row.id)).toMatchObject([
      { action: 'token.issued', actorType: 'user' },
    ])
  })

  test('a replay returns the row without the token, which is stored nowhere', async () => {
    const first = await callApi('POST', ROOT, TOKEN_REQUEST, 'a-key')
    const replay = await callApi('POST', ROOT, TOKEN_REQUEST, 'a-key')
    const { token, ...row } = first.body.data
    expect([replay.status, replay.headers.get('idempotent-replayed')]).toEqual([200, 'true'])
    expect(replay.body.data).toEqual({ ...row, token: null })
    expect(await list()).toHaveLength(1)
    expect(await dumpStoredRows()).not.toContain(token.slice(20, -4))
  })

  test('200: a token expires after a number of days, or with a day in the account’s time zone', async () => {
    const tokenByDays = await create({ ...TOKEN_REQUEST, expires_in_days: 30 })
    const lifeMs = Date.parse(tokenByDays.expires_at) - Date.parse(tokenByDays.created_at)
    expect(Math.round(lifeMs / 86_400_000)).toBe(30)
    await db().account.update({ where: { id: merchant.id }, data: { timeZone: 'America/Manaus' } })
    const tokenByDate = await create({ ...TOKEN_REQUEST, expires_on: '2030-05-31' })
    expect(tokenByDate.expires_at).toBe('2030-06-01T04:00:00.000000Z')
    const expiringToken = await create({ ...TOKEN_REQUEST, expires_in_days: 6 })
    expect([tokenByDays.status, expiringToken.status]).toEqual(['active', 'expiring'])
  })

  test('409 above the maximum of active tokens; after a revocation a new token is accepted', async () => {
    const tokenOptions = {
      accountId: merchant.id,
      mode: 'test' as const,
      name: 'x',
      permissions: [],
    }
    const actor = { type: 'system' } as const
    for (let count = 0; count < TOKENS_MAX - 3; count++) await issueToken(tokenOptions, actor)
    const responses = await Promise.all(
      Array.from({ length: 6 }, () => callApi('POST', ROOT, TOKEN_REQUEST)),
    )
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(3)
    const refused = responses.find(({ status }) => status !== 200) as ApiResponse
    const text = '{"error":"The limit of 100 active tokens is reached: revoke one first"}'
    expect(refusal(refused)).toEqual([409, text, 'limit_reached'])
    const [{ id }] = await list()
    await callApi('POST', `${ROOT}/${id}/revoke`, {})
    expect((await callApi('POST', ROOT, TOKEN_REQUEST)).status).toBe(200)
  })

  const permissionNames = PERMISSIONS.join(', ')
  test.each([
    [{}, { name: ['name is required'], permissions: ['permissions is required'] }],
    [
      { ...TOKEN_REQUEST, permissions: [] },
      { permissions: [`permissions must be a list of one or more of: ${permissionNames}`] },
    ],
    [
      { ...TOKEN_REQUEST, name: 'a\nb' },
      { name: ['name must contain no line breaks or control characters'] },
    ],
    [
      { ...TOKEN_REQUEST, expires_on: '2020-01-01' },
      { expires_on: ['expires_on must be today or later'] },
    ],
    [
      { ...TOKEN_REQUEST, expires_on: '9999-12-31' },
      { expires_on: ['expires_on must be within ten years'] },
    ],
    [
      { ...TOKEN_REQUEST, expires_in_days: 9, expires_on: '2030-05-31' },
      { expires_on: ['expires_on must not be sent together with expires_in_days'] },
    ],
    [
      { ...TOKEN_REQUEST, expires_in_days: 0 },
      { expires_in_days: ['expires_in_days must be a whole number of days from 1 to 3650'] },
    ],
    [
      { ...TOKEN_REQUEST, allowed_addresses: '203.0.113.7' },
      { allowed_addresses: ['allowed_addresses must be a list of at most 20 addresses'] },
    ],
    [
      { ...TOKEN_REQUEST, allowed_addresses: Array(21).fill('203.0.113.7') },
      { allowed_addresses: ['allowed_addresses must have at most 20 entries'] },
    ],
    [
      { ...TOKEN_REQUEST, allowed_addresses: ['203.0.113.7', '203.0.113.7/24', 7] },
      {
        allowed_addresses: [1, 2].map(
          entry =>
            `allowed_addresses[${entry}] must be an IPv4 or IPv6 address, or a CIDR range that begins at its first address, such as 203.0.113.0/24`,
        ),
      },
    ],
  ])('422 names the invalid field in %j', async (body, errors) => {
    const response = await callApi('POST', ROOT, body)
    expect([response.status, response.body]).toEqual([422, { errors }])
    expect(await list()).toEqual([])
  })

  test('403 in live mode while it is disabled; its list is empty', async () => {
    expect((await callApi('POST', ROOT, TOKEN_REQUEST, undefined, 'live')).status).toBe(403)
    await create()
    expect((await callApi('GET', ROOT, undefined, undefined, 'live')).body.data).toEqual([])
  })
})

describe('the addresses of a token', () => {
  const NORMAL = ['203.0.113.7', '2001:db8::/48', '198.51.100.0/24']
  const NOT_ALLOWED = [
    403,
    '{"error":"This token may not be used from 127.0.0.1: add the address to the token or use another one"}',
  ]
  const change = (id: string, allowed_addresses: unknown) =>
    callApi('PATCH', `${ROOT}/${id}`, { allowed_addresses })

  test('are stored in one notation, listed, enforced, and kept by a rotation', async () => {
    const allowed_addresses = [
      '203.0.113.7',
      '2001:DB8:0::/48',
      '::ffff:198.51.100.0/120',
      '203.0.113.7/32',
    ]
    const created = await create({ ...TOKEN_REQUEST, allowed_addresses })
    expect(created.allowed_addresses).toEqual(NORMAL)
    expect((await list())[0].allowed_addresses).toEqual(NORMAL)
    expect(await callWithToken(created.token)).toEqual(NOT_ALLOWED)
    expect(await listAuditRecords(created.id)).toMatchObject([
      { after: { allowed_addresses: NORMAL } },
    ])
    const rotated = await callApi('POST', `${ROOT}/${created.id}/rotate`, { overlap_hours: 1 })
    expect(rotated.body.data.allowed_addresses).toEqual(NORMAL)
    expect(await callWithToken(rotated.body.data.token)).toEqual(NOT_ALLOWED)
  })

  test('change for the next request, are audited once, and an empty list allows each', async () => {
    const { id, token } = await create()
    for (let count = 0; count < 2; count++) expect(await callWithToken(token)).toEqual([200])
    const changed = await change(id, NORMAL)
    expectShape(TokenRead, changed.body)
    expect([changed.status, changed.body.data.allowed_addresses]).toEqual([200, NORMAL])
    expect(await callWithToken(token)).toEqual(NOT_ALLOWED)
    expect((await change(id, NORMAL)).status).toBe(200)
    expect((await change(id, [...NORMAL, '127.0.0.1'])).status).toBe(200)
    expect(await callWithToken(token)).toEqual([200])
    expect((await change(id, [])).status).toBe(200)
    expect(await callWithToken(token)).toEqual([200])
    expect((await listAuditRecords(id)).slice(1)).toMatchObject([
      { before: { allowed_addresses: [] }, after: { allowed_addresses: NORMAL } },
      { action: 'token.addresses_changed', before: { allowed_addresses: NORMAL } },
      { action: 'token.addresses_changed', after: { allowed_addresses: [] } },
    ])
  })

  test('do not change without a list, for an ended token, or beyond the role', async () => {
    const { id } = await create({
      name: 'Loja virtual',
      permissions: ['withdrawals:write'],
      allowed_addresses: NORMAL,
    })
    expect((await callApi('PATCH', `${ROOT}/${id}`, {})).body).toEqual({
      errors: { allowed_addresses: ['allowed_addresses is required'] },
    })
    await db().membership.updateMany({
      where: { accountId: merchant.id },
      data: { role: 'developer' },
    })
    for (const wider of [[], [...NORMAL, '127.0.0.1']])
      expect(refusal(await change(id, wider))[2]).toBe('permission_not_held')
    const narrower = NORMAL.slice(1)
    expect((await change(id, narrower)).status).toBe(200)
    await callApi('POST', `${ROOT}/${id}/revoke`, {})
    expect(refusal(await change(id, NORMAL))[2]).toBe('token_ended')
    expect((await list())[0].allowed_addresses).toEqual(narrower)
  })
})

describe('POST tokens/{id}/revoke', () => {
  test('200: refused from the next request; the list and the audit log have the reason', async () => {
    const { id, token } = await create()
    expect(await callWithToken(token)).toEqual([200])
    const response = await callApi('POST', `${ROOT}/${id}/revoke`, { reason: 'vazou' })
    expectShape(TokenRead, response.body)
    expect(response.body.data).toMatchObject({ id, status: 'revoked', revoked_reason: 'vazou' })
    expect(await callWithToken(token)).toEqual(UNAUTHENTICATED)
    expect((await listAuditRecords(id)).at(-1)).toMatchObject({
      action: 'token.revoked',
      reason: 'vazou',
    })
  })

  test('200 without a reason; a second revocation adds no audit record', async () => {
    const { id } = await create()
    const first = await callApi('POST', `${ROOT}/${id}/revoke`, {})
    const again = await callApi('POST', `${ROOT}/${id}/revoke`, { reason: 'later' })
    expect(again.body).toEqual(first.body)
    expect(first.body.data.revoked_reason).toBeNull()
    expect(await listAuditRecords(id)).toHaveLength(2)
  })
})

describe('POST tokens/{id}/rotate', () => {
  test('200: the new token has the same permissions, and both work during the overlap', async () => {
    const oldToken = await create({ ...TOKEN_REQUEST, expires_in_days: 90 })
    const { status, body } = await callApi('POST', `${ROOT}/${oldToken.id}/rotate`, {
      overlap_hours: 24,
    })
    expect(status).toBe(200)
    expectShape(TokenIssued, body)
    const { token, id } = body.data
    expect(body.data).toMatchObject({ ...TOKEN_REQUEST, status: 'active', replaced_by: null })
    expect([await callWithToken(oldToken.token), await callWithToken(token)]).toEqual([
      [200],
      [200],
    ])
    const [listed] = (await list()).filter((one: { id: string }) => one.id === oldToken.id)
    expect(listed).toMatchObject({ status: 'replaced', replaced_by: id })
    const leftMs = Date.parse(listed.expires_at) - Date.now()
    expect(Math.round(leftMs / 3_600_000)).toBe(24)
    const lifeMs = Date.parse(body.data.expires_at) - Date.now()
    expect(Math.round(lifeMs / 86_400_000)).toBe(90)
    const actions = (await listAuditRecords(oldToken.id)).map(({ action }) => action)
    expect(actions).toEqual(['token.issued', 'token.rotated'])
  })

  test('200 without an overlap: the old token is refused at once, even when cached', async () => {
    const oldToken = await create()
    for (let count = 0; count < 2; count++)
      expect(await callWithToken(oldToken.token)).toEqual([200])
    const { body } = await callApi('POST', `${ROOT}/${oldToken.id}/rotate`, { overlap_hours: 0 })
    expect(await callWithToken(oldToken.token)).toEqual(UNAUTHENTICATED)
    expect(await callWithToken(body.data.token)).toEqual([200])
  })

  test('an overlap never extends the life of the old token', async () => {
    const oldToken = await create({ ...TOKEN_REQUEST, expires_in_days: 1 })
    await callApi('POST', `${ROOT}/${oldToken.id}/rotate`, { overlap_hours: 168 })
    const row = (await list()).find((one: { id: string }) => one.id === oldToken.id)
    expect(row.expires_at).toBe(oldToken.expires_at)
  })

  test('a replay never returns the token; of twelve concurrent rotations one succeeds', async () => {
    const oldToken = await create()
    const path = `${ROOT}/${oldToken.id}/rotate`
    const first = await callApi('POST', path, { overlap_hours: 1 }, 'a-key')
    const replay = await callApi('POST', path, { overlap_hours: 1 }, 'a-key')
    expect(replay.body.data).toEqual({ ...first.body.data, token: null })
    expect(await dumpStoredRows()).not.toContain(first.body.data.token.slice(20, -4))
    const nextPath = `${ROOT}/${first.body.data.id}/rotate`
    const rotations = Array.from({ length: 12 }, () =>
      callApi('POST', nextPath, { overlap_hours: 1 }),
    )
    const statuses = (await Promise.all(rotations)).map(({ status }) => status)
    expect(statuses.filter(status => status === 200)).toHaveLength(1)
    expect(new Set(statuses)).toEqual(new Set([200, 409]))
  })

  test('409 for a revoked or rotated token, 422 for an unknown overlap', async () => {
    const { id } = await create()
    const path = `${ROOT}/${id}/rotate`
    const hoursMessage = 'overlap_hours must be one of 0, 1, 24, 168'
    const invalid = await callApi('POST', path, { overlap_hours: 1_000 })
    expect([invalid.status, invalid.body]).toEqual([
      422,
      { errors: { overlap_hours: [hoursMessage] } },
    ])
    await callApi('POST', path, { overlap_hours: 1 })
    const text =
      '{"error":"This token is revoked, expired or replaced: use its replacement or create a new one"}'
    expect(refusal(await callApi('POST', path, { overlap_hours: 1 }))).toEqual([
      409,
      text,
      'token_ended',
    ])
    await callApi('POST', `${ROOT}/${id}/revoke`, {})
    const endedText =
      '{"error":"This token is revoked, expired or replaced: use its replacement or create a new one"}'
    expect(refusal(await callApi('POST', path, { overlap_hours: 1 }))).toEqual([
      409,
      endedText,
      'token_ended',
    ])
  })
})

test.each(['revoke', 'rotate', null])(
  '404 to %s an unknown token or a token of another account or mode',
  async action => {
    const other = await makeMerchant()
    const columns = { name: 'x', permissions: [], prefix: 'x', lastFour: 'x' }
    const foreignToken = { ...columns, id: newId(), accountId: other.id, mode: 'test' }
    const liveToken = { ...columns, id: newId(), accountId: merchant.id, mode: 'live' }
    for (const data of [foreignToken, liveToken]) {
      const hash = new Uint8Array(Buffer.from(makeToken(merchant.id, 'test').slice(0, 32)))
      await db().token.create({ data: { ...data, hash } })
    }
    for (const id of [newId(), 'x', "'%00", foreignToken.id, liveToken.id].map(
      encodeURIComponent,
    )) {
      const body = { overlap_hours: 1, allowed_addresses: [] }
      const response = action
        ? await callApi('POST', `${ROOT}/${id}/${action}`, body)
        : await callApi('PATCH', `${ROOT}/${id}`, body)
      expect(refusal(response), id).toEqual(NOT_FOUND)
    }
  },
)
