import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { db } from '#lib/base/db/client.ts'
import { newId } from '#lib/base/ids.ts'
import type { Account } from '#lib/rooms/accounts/schema.ts'
import { issueToken } from '#lib/rooms/tokens/issue.ts'
import { PERMISSIONS, TOKENS_MAX } from '#lib/rooms/tokens/schema.ts'
import { makeToken } from '#lib/rooms/tokens/token-text.ts'
import { TokenIssued, TokenList, TokenRead } from '#lib/rooms/tokens/wire.ts'
import { type Answered, call } from '#lib/testing/call.ts'
import { expectShape, pageHeaders, refusal, signIn } from '#lib/testing/member.ts'
import { type Api, CHARGE, makeMerchant, startApi } from '#lib/testing/stage.ts'

const ROOT = '/dashboard/tokens'
const WANTED = { name: 'Loja virtual', permissions: ['account:read', 'transactions:write'] }
const NOT_FOUND = [404, '{"error":"Token not found"}', 'token_not_found']
const REFUSED = [401, '{"error":"Unauthenticated"}']

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

const ask = (method: string, path: string, body?: unknown, key?: string, mode = 'test') =>
  call(api.url, method, path, { headers: pageHeaders(secret, merchant.id, mode), body, key })
const create = async (body: object = WANTED) => (await ask('POST', ROOT, body)).body.data
const list = async () => (await ask('GET', ROOT)).body.data
const use = async (token: string): Promise<unknown[]> => {
  const { status, text } = await call(api.url, 'GET', '/account', { token })
  return status === 200 ? [200] : [status, text]
}
const audited = (target: string) =>
  db().auditRecord.findMany({ where: { target }, orderBy: { createdAt: 'asc' } })

/** Every stored row that could contain the token. */
async function everythingKept(): Promise<string> {
  const where = { accountId: merchant.id }
  return JSON.stringify([
    await db().token.findMany({ where }),
    await db().idempotencyKey.findMany({ where }),
    await db().auditRecord.findMany({ where }),
  ])
}

describe('POST tokens', () => {
  test('200: creates a token with the chosen permissions and shows it once', async () => {
    const { status, body } = await ask('POST', ROOT, WANTED)
    expect(status).toBe(200)
    expectShape(TokenIssued, body)
    const { token, ...row } = body.data
    expect(row).toMatchObject({ ...WANTED, status: 'active', expires_at: null, last_used_at: null })
    expect([row.prefix, row.last_four]).toEqual([token.slice(0, 20), token.slice(-4)])
    expect(await use(token)).toEqual([200])
    const post = await call(api.url, 'POST', '/transactions', { token, body: CHARGE })
    expect(post.status).toBe(200)
    expect((await call(api.url, 'GET', '/withdrawals', { token })).status).toBe(403)
    const listed = await ask('GET', ROOT)
    expectShape(TokenList, listed.body)
    expect(listed.text).not.toContain(token.slice(0, 21))
    expect(listed.body.data[0].last_used_at).not.toBeNull()
    expect(await audited(row.id)).toMatchObject([{ action: 'token.issued', actorType: 'user' }])
  })

  test('a replay returns the row without the token, which is stored nowhere', async () => {
    const first = await ask('POST', ROOT, WANTED, 'a-key')
    const again = await ask('POST', ROOT, WANTED, 'a-key')
    const { token, ...row } = first.body.data
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([200, 'true'])
    expect(again.body.data).toEqual({ ...row, token: null })
    expect(await list()).toHaveLength(1)
    expect(await everythingKept()).not.toContain(token.slice(20, -4))
  })

  test('200: expires after the given days, or with a day in the account’s time zone', async () => {
    const days = await create({ ...WANTED, expires_in_days: 30 })
    const lifeMs = Date.parse(days.expires_at) - Date.parse(days.created_at)
    expect(Math.round(lifeMs / 86_400_000)).toBe(30)
    await db().account.update({ where: { id: merchant.id }, data: { timeZone: 'America/Manaus' } })
    const date = await create({ ...WANTED, expires_on: '2030-05-31' })
    expect(date.expires_at).toBe('2030-06-01T04:00:00.000000Z')
    const soon = await create({ ...WANTED, expires_in_days: 6 })
    expect([days.status, soon.status]).toEqual(['active', 'expiring'])
  })

  test('409 above the maximum of active tokens; revoking one makes room', async () => {
    const wanted = { accountId: merchant.id, mode: 'test' as const, name: 'x', permissions: [] }
    const actor = { type: 'system' } as const
    for (let count = 0; count < TOKENS_MAX - 3; count++) await issueToken(wanted, actor)
    const answers = await Promise.all(Array.from({ length: 6 }, () => ask('POST', ROOT, WANTED)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(3)
    const refused = answers.find(({ status }) => status !== 200) as Answered
    const text = '{"error":"The limit of 100 active tokens is reached: revoke one first"}'
    expect(refusal(refused)).toEqual([409, text, 'limit_reached'])
    const [{ id }] = await list()
    await ask('POST', `${ROOT}/${id}/revoke`, {})
    expect((await ask('POST', ROOT, WANTED)).status).toBe(200)
  })

  const names = PERMISSIONS.join(', ')
  test.each([
    [{}, { name: ['name is required'], permissions: ['permissions is required'] }],
    [
      { ...WANTED, permissions: [] },
      { permissions: [`permissions must be a list of one or more of: ${names}`] },
    ],
    [
      { ...WANTED, name: 'a\nb' },
      { name: ['name must contain no line breaks or control characters'] },
    ],
    [
      { ...WANTED, expires_on: '2020-01-01' },
      { expires_on: ['expires_on must be today or later'] },
    ],
    [
      { ...WANTED, expires_on: '9999-12-31' },
      { expires_on: ['expires_on must be within ten years'] },
    ],
    [
      { ...WANTED, expires_in_days: 0 },
      { expires_in_days: ['expires_in_days must be a whole number of days from 1 to 3650'] },
    ],
  ])('422 names the invalid field in %j', async (body, errors) => {
    const answer = await ask('POST', ROOT, body)
    expect([answer.status, answer.body]).toEqual([422, { errors }])
    expect(await list()).toEqual([])
  })

  test('403 in live mode while it is disabled; its list is empty', async () => {
    expect((await ask('POST', ROOT, WANTED, undefined, 'live')).status).toBe(403)
    await create()
    expect((await ask('GET', ROOT, undefined, undefined, 'live')).body.data).toEqual([])
  })
})

describe('POST tokens/{id}/revoke', () => {
  test('200: refused from the next request; the list and the audit log have the reason', async () => {
    const { id, token } = await create()
    expect(await use(token)).toEqual([200])
    const said = await ask('POST', `${ROOT}/${id}/revoke`, { reason: 'vazou' })
    expectShape(TokenRead, said.body)
    expect(said.body.data).toMatchObject({ id, status: 'revoked', revoked_reason: 'vazou' })
    expect(await use(token)).toEqual(REFUSED)
    expect((await audited(id)).at(-1)).toMatchObject({ action: 'token.revoked', reason: 'vazou' })
  })

  test('200 without a reason; a second revocation adds no audit record', async () => {
    const { id } = await create()
    const first = await ask('POST', `${ROOT}/${id}/revoke`, {})
    const again = await ask('POST', `${ROOT}/${id}/revoke`, { reason: 'later' })
    expect(again.body).toEqual(first.body)
    expect(first.body.data.revoked_reason).toBeNull()
    expect(await audited(id)).toHaveLength(2)
  })
})

describe('POST tokens/{id}/rotate', () => {
  test('200: the new token has the same permissions, and both work during the overlap', async () => {
    const old = await create({ ...WANTED, expires_in_days: 90 })
    const { status, body } = await ask('POST', `${ROOT}/${old.id}/rotate`, { overlap_hours: 24 })
    expect(status).toBe(200)
    expectShape(TokenIssued, body)
    const { token, id } = body.data
    expect(body.data).toMatchObject({ ...WANTED, status: 'active', replaced_by: null })
    expect([await use(old.token), await use(token)]).toEqual([[200], [200]])
    const [listed] = (await list()).filter((one: { id: string }) => one.id === old.id)
    expect(listed).toMatchObject({ status: 'replaced', replaced_by: id })
    const leftMs = Date.parse(listed.expires_at) - Date.now()
    expect(Math.round(leftMs / 3_600_000)).toBe(24)
    const lifeMs = Date.parse(body.data.expires_at) - Date.now()
    expect(Math.round(lifeMs / 86_400_000)).toBe(90)
    const actions = (await audited(old.id)).map(({ action }) => action)
    expect(actions).toEqual(['token.issued', 'token.rotated'])
  })

  test('200 without an overlap: the old token is refused at once, even when cached', async () => {
    const old = await create()
    for (let count = 0; count < 2; count++) expect(await use(old.token)).toEqual([200])
    const { body } = await ask('POST', `${ROOT}/${old.id}/rotate`, { overlap_hours: 0 })
    expect(await use(old.token)).toEqual(REFUSED)
    expect(await use(body.data.token)).toEqual([200])
  })

  test('an overlap never extends the life of the old token', async () => {
    const old = await create({ ...WANTED, expires_in_days: 1 })
    await ask('POST', `${ROOT}/${old.id}/rotate`, { overlap_hours: 168 })
    const row = (await list()).find((one: { id: string }) => one.id === old.id)
    expect(row.expires_at).toBe(old.expires_at)
  })

  test('a replay never returns the token; of twelve concurrent rotations one succeeds', async () => {
    const old = await create()
    const path = `${ROOT}/${old.id}/rotate`
    const first = await ask('POST', path, { overlap_hours: 1 }, 'a-key')
    const again = await ask('POST', path, { overlap_hours: 1 }, 'a-key')
    expect(again.body.data).toEqual({ ...first.body.data, token: null })
    expect(await everythingKept()).not.toContain(first.body.data.token.slice(20, -4))
    const next = `${ROOT}/${first.body.data.id}/rotate`
    const twelve = Array.from({ length: 12 }, () => ask('POST', next, { overlap_hours: 1 }))
    const statuses = (await Promise.all(twelve)).map(({ status }) => status)
    expect(statuses.filter(status => status === 200)).toHaveLength(1)
    expect(new Set(statuses)).toEqual(new Set([200, 409]))
  })

  test('409 for a revoked or rotated token, 422 for an unknown overlap', async () => {
    const { id } = await create()
    const path = `${ROOT}/${id}/rotate`
    const hours = 'overlap_hours must be one of 0, 1, 24, 168'
    const wrong = await ask('POST', path, { overlap_hours: 1_000 })
    expect([wrong.status, wrong.body]).toEqual([422, { errors: { overlap_hours: [hours] } }])
    await ask('POST', path, { overlap_hours: 1 })
    const text = '{"error":"This token was already rotated: rotate its replacement"}'
    expect(refusal(await ask('POST', path, { overlap_hours: 1 }))).toEqual([
      409,
      text,
      'token_ended',
    ])
    await ask('POST', `${ROOT}/${id}/revoke`, {})
    const gone = '{"error":"This token is revoked or expired: create a new one"}'
    expect(refusal(await ask('POST', path, { overlap_hours: 1 }))).toEqual([
      409,
      gone,
      'token_ended',
    ])
  })
})

test.each(['revoke', 'rotate'])(
  '404 to %s an unknown token or one of another account or mode',
  async deed => {
    const other = await makeMerchant()
    const wanted = { name: 'x', permissions: [], prefix: 'x', lastFour: 'x' }
    const theirs = { ...wanted, id: newId(), accountId: other.id, mode: 'test' }
    const live = { ...wanted, id: newId(), accountId: merchant.id, mode: 'live' }
    for (const data of [theirs, live]) {
      const hash = new Uint8Array(Buffer.from(makeToken('test').slice(0, 32)))
      await db().token.create({ data: { ...data, hash } })
    }
    for (const id of [newId(), 'x', "'%00", theirs.id, live.id].map(encodeURIComponent)) {
      const answer = await ask('POST', `${ROOT}/${id}/${deed}`, { overlap_hours: 1 })
      expect(refusal(answer), id).toEqual(NOT_FOUND)
    }
  },
)
