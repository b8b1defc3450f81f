import type { NextRequest } from 'next/server'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { POST } from '#app/api/auth/[...nextauth]/route.next.ts'
import type { Account, Role } from '#lib/accounts/schema.ts'
import { suspendAccount } from '#lib/accounts/settings.ts'
import { newId } from '#lib/core/ids.ts'
import { hashSecret, newSecret } from '#lib/core/keys.ts'
import { env } from '#lib/core/settings.ts'
import { db } from '#lib/db/client.ts'
import { refuseCrossSite } from '#lib/http/route-handler.ts'
import { endSession, openSession } from '#lib/people/sessions.ts'
import { cookieNames, readSession } from '#lib/session/read.ts'
import { call } from '#lib/testing/call.ts'
import {
  type Api,
  CHARGE,
  expectBalancedLedger,
  fundMerchant,
  makeMerchant,
  makeToken,
  startApi,
} from '#lib/testing/fixtures.ts'
import { WITHDRAWAL } from '#lib/testing/lists.ts'
import { VERIFIED } from '#lib/testing/verified.ts'
import type { Permission } from '#lib/tokens/schema.ts'

const ACTOR = { type: 'system' } as const
const DEVICE = { ip: '203.0.113.9', userAgent: 'a browser' }

let api: Api
let merchant: Account
let secret: string
beforeAll(async () => {
  api = await startApi()
})
beforeEach(async () => {
  merchant = await makeMerchant('Loja da Sessão')
  await fundMerchant(merchant, 50_000)
  secret = await signIn(merchant, 'owner')
})
afterAll(() => api.close())

async function signIn({ id: accountId }: Account, role: Role): Promise<string> {
  const email = `member-${newId()}@troco.example`
  const user = await db().user.create({ data: { id: newId(), email, name: email, ...VERIFIED } })
  await db().membership.create({ data: { accountId, userId: user.id, role } })
  return openSession(user.id, DEVICE)
}

const originHeader = () => ({ origin: env().PUBLIC_URL })
const cookieHeader = (value = secret) => ({ cookie: `a=b; ${cookieNames().session}=${value}; z=1` })
/** Builds the headers of a dashboard page: the cookie, the mode and the account. */
const makePageHeaders = (value = secret, account: string = merchant.id, mode = 'test') => ({
  ...cookieHeader(value),
  'troco-mode': mode,
  'troco-account': account,
})
const callApi = (
  method: string,
  path: string,
  headers: Record<string, string>,
  body?: unknown,
  token?: string,
) => call(api.url, method, path, { headers, body, token })

const READS = ['/account', '/transactions', '/withdrawals', '/events']
const WRITES: [string, unknown][] = [
  ['/transactions', CHARGE],
  ['/withdrawals', WITHDRAWAL],
]
const UNAUTHENTICATED = [401, '{"error":"Unauthenticated"}']

describe('a cookie alone', () => {
  test('is 401 for reads and writes, whatever the Origin', async () => {
    for (const headers of [cookieHeader(), { ...cookieHeader(), ...originHeader() }]) {
      for (const path of READS) {
        const response = await callApi('GET', path, headers)
        expect([response.status, response.text]).toEqual(UNAUTHENTICATED)
        expect(response.headers.get('www-authenticate')).toBe('Bearer')
      }
      for (const [path, body] of WRITES) {
        expect((await callApi('POST', path, headers, body)).status).toBe(401)
      }
    }
  })

  test.each([
    ['without the account', { 'troco-account': '' }],
    ['without the mode', { 'troco-mode': '' }],
    ['with an unknown mode', { 'troco-mode': 'demo' }],
    ['with a malformed account', { 'troco-account': 'mine' }],
    ['with an unknown account', { 'troco-account': newId() }],
  ])('is 401 %s', async (_what, invalidHeaders) => {
    const response = await callApi('GET', '/account', { ...makePageHeaders(), ...invalidHeaders })
    expect([response.status, response.text]).toEqual(UNAUTHENTICATED)
  })
})

describe('a member on a dashboard page', () => {
  test('reads the data of the account in the mode of the page', async () => {
    const account = await callApi('GET', '/account', makePageHeaders())
    expect([account.status, account.text]).toEqual([
      200,
      '{"name":"Loja da Sessão","balance":50000}',
    ])
    expect(
      (await callApi('GET', '/account', makePageHeaders(secret, merchant.id, 'live'))).body.balance,
    ).toBe(0)
    for (const path of READS)
      expect((await callApi('GET', path, makePageHeaders())).status).toBe(200)
    const upper = makePageHeaders(secret, merchant.id.toUpperCase())
    expect((await callApi('GET', '/account', upper)).status).toBe(200)
  })

  test('writes with the Origin of PUBLIC_URL', async () => {
    for (const [path, body] of WRITES) {
      const { status } = await callApi(
        'POST',
        path,
        { ...makePageHeaders(), ...originHeader() },
        body,
      )
      expect(status).toBe(200)
    }
    expect((await callApi('GET', '/account', makePageHeaders())).body.balance).toBe(
      50_000 - WITHDRAWAL.amount,
    )
    await expectBalancedLedger(merchant.id)
  })

  test.each([
    ['none', null],
    ['null', 'null'],
    ['a foreign one', 'https://evil.example'],
    ['another scheme', 'https://localhost:3000'],
    ['another port', 'http://localhost:3001'],
    ['the same beginning', 'http://localhost:3000.evil.example'],
    ['the same end', 'http://evil-localhost:3000'],
    ['the host as a user name', 'http://localhost:3000@evil.example'],
    ['two origins', 'http://localhost:3000, https://evil.example'],
    ['empty', ''],
  ])('writes nothing with a wrong Origin: %s', async (_what, origin) => {
    const headers = { ...makePageHeaders(), ...(origin === null ? {} : { origin }) }
    for (const [path, body] of WRITES) {
      const { status, text, headers: responseHeaders } = await callApi('POST', path, headers, body)
      expect([status, text]).toEqual([403, '{"error":"Cross-origin request refused"}'])
      expect(responseHeaders.get('x-error-code')).toBe('cross_origin')
    }
    const where = { accountId: merchant.id }
    expect(await db().withdrawal.count({ where })).toBe(0)
    expect(await db().charge.count({ where })).toBe(1)
    expect((await callApi('GET', '/account', headers)).status).toBe(200)
  })

  test('of another account gets 401, whether the account exists or not', async () => {
    const stranger = await signIn(await makeMerchant(), 'owner')
    for (const account of [merchant.id, newId()]) {
      for (const path of READS) {
        const response = await callApi('GET', path, makePageHeaders(stranger, account))
        expect([response.status, response.text]).toEqual(UNAUTHENTICATED)
      }
      const headers = { ...makePageHeaders(stranger, account), ...originHeader() }
      expect((await callApi('POST', '/transactions', headers, CHARGE)).status).toBe(401)
    }
  })

  test('of two accounts acts in the account that the page sends', async () => {
    const other = await makeMerchant('Outra')
    const { userId } = await db().userSession.findFirstOrThrow({
      where: { user: { memberships: { some: { accountId: merchant.id, role: 'owner' } } } },
    })
    await db().membership.create({ data: { accountId: other.id, userId, role: 'viewer' } })
    expect((await callApi('GET', '/account', makePageHeaders(secret, other.id))).body.name).toBe(
      'Outra',
    )
    const headers = { ...makePageHeaders(secret, other.id), ...originHeader() }
    expect((await callApi('POST', '/transactions', headers, CHARGE)).status).toBe(403)
    const ownHeaders = { ...makePageHeaders(), ...originHeader() }
    expect((await callApi('POST', '/transactions', ownHeaders, CHARGE)).status).toBe(200)
  })

  test('whose membership, user or session ended is refused from the next request', async () => {
    const secrets = [secret, await signIn(merchant, 'owner'), await signIn(merchant, 'owner')]
    for (const sessionSecret of secrets)
      expect((await callApi('GET', '/account', makePageHeaders(sessionSecret))).status).toBe(200)
    await endSession(secrets[0] ?? '')
    const [, second, third] = await db().membership.findMany({
      where: { accountId: merchant.id, user: { sessions: { some: {} } } },
      orderBy: { createdAt: 'asc' },
    })
    await db().membership.deleteMany({
      where: { accountId: merchant.id, userId: second?.userId ?? '' },
    })
    await db().user.updateMany({
      where: { id: third?.userId ?? '' },
      data: { disabledAt: new Date() },
    })
    for (const sessionSecret of [...secrets, newSecret(), '', 'x', "' OR 1=1 --"]) {
      const response = await callApi('GET', '/account', makePageHeaders(sessionSecret))
      expect([response.status, response.text]).toEqual(UNAUTHENTICATED)
    }
  })

  test('with the role viewer reads everything and writes nothing', async () => {
    const viewer = await signIn(merchant, 'viewer')
    for (const path of READS)
      expect((await callApi('GET', path, makePageHeaders(viewer))).status).toBe(200)
    for (const [path, body] of WRITES) {
      const response = await callApi(
        'POST',
        path,
        { ...makePageHeaders(viewer), ...originHeader() },
        body,
      )
      const permission = `${path.slice(1)}:write`
      expect([response.status, response.text]).toEqual([
        403,
        `{"error":"Permission denied: ${permission}"}`,
      ])
    }
  })

  test('of a suspended account can read, and a write is 403 Account not active', async () => {
    await suspendAccount(merchant.id, 'test', ACTOR)
    for (const path of READS) {
      expect((await callApi('GET', path, makePageHeaders())).status).toBe(200)
      expect((await callApi('HEAD', path, makePageHeaders())).status).toBe(200)
    }
    for (const [path, body] of WRITES) {
      for (const headers of [{ ...makePageHeaders(), ...originHeader() }, makePageHeaders()]) {
        const response = await callApi('POST', path, headers, body)
        expect([response.status, response.text]).toEqual([403, '{"error":"Account not active"}'])
      }
    }
  })

  test('cannot write in live mode while no bank is configured', async () => {
    const headers = { ...makePageHeaders(secret, merchant.id, 'live'), ...originHeader() }
    const response = await callApi('POST', '/transactions', headers, CHARGE)
    expect([response.status, response.text]).toEqual([403, '{"error":"Live mode is not enabled"}'])
  })
})

test.each([
  ['a foreign page', { origin: 'https://evil.example' }],
  ['a page with an opaque origin', { origin: 'null' }],
  ['a request without an Origin', {}],
  [
    'a cross-site page with a forged Origin',
    { origin: 'http://localhost:3000', 'sec-fetch-site': 'cross-site' },
  ],
])('%s can neither sign in nor sign out', async (_what, headers) => {
  for (const nextauth of [['callback', 'credentials'], ['signout'], ['signin', 'openid']]) {
    const url = `${env().PUBLIC_URL}/api/auth/${nextauth.join('/')}`
    const request = new Request(url, { method: 'POST', headers, body: '' })
    const response = await POST(request as NextRequest, { params: Promise.resolve({ nextauth }) })
    expect([response.status, response.headers.get('x-error-code')]).toEqual([403, 'cross_origin'])
  }
})

test('a page of PUBLIC_URL may sign in, and any origin may read', () => {
  const url = `${env().PUBLIC_URL}/api/auth/x`
  expect(refuseCrossSite(new Request(url, { method: 'POST', headers: originHeader() }))).toBeNull()
  expect(refuseCrossSite(new Request(url))).toBeNull()
})

describe('the life of a session', () => {
  const readLastUse = async () =>
    (await db().userSession.findFirstOrThrow({ where: { secretHash: hashSecret(secret) } }))
      .lastUsedAt
  const makeSessionIdle = () => db().$executeRaw`
    UPDATE user_sessions SET last_used_at = now() - interval '11 hours'
    WHERE secret_hash = ${hashSecret(secret)}`

  test('is not extended by background requests of pages', async () => {
    await makeSessionIdle()
    const idle = await readLastUse()
    for (const path of [...READS, '/dashboard/home', '/webhooks/deliveries']) {
      for (const method of ['GET', 'HEAD']) {
        expect((await callApi(method, path, makePageHeaders())).status, path).toBe(200)
      }
    }
    expect(await readLastUse()).toEqual(idle)
  })

  test('is extended by a write and by opening a page', async () => {
    await makeSessionIdle()
    const began = Date.now() - 60_000
    expect(
      (await callApi('POST', '/transactions', { ...makePageHeaders(), ...originHeader() }, CHARGE))
        .status,
    ).toBe(200)
    expect((await readLastUse()).getTime()).toBeGreaterThan(began)
    await makeSessionIdle()
    // lib/session/preferences.ts does the same for every page.
    await readSession(secret)
    expect((await readLastUse()).getTime()).toBeGreaterThan(began)
  })
})

describe('a token beside a cookie', () => {
  test('decides the account, the mode and the permissions', async () => {
    const other = await makeMerchant('Do Token')
    const token = await makeToken(other.id, { permissions: ['account:read' as Permission] })
    const headers = { ...makePageHeaders(secret, merchant.id, 'live'), ...originHeader() }
    const response = await callApi('GET', '/account', headers, undefined, token)
    expect(response.text).toBe('{"name":"Do Token","balance":0}')
    const denied = await callApi('POST', '/transactions', headers, CHARGE, token)
    expect(denied.text).toBe('{"error":"Permission denied: transactions:write"}')
  })

  test('is 401 if it is invalid, whatever the cookie', async () => {
    for (const authorization of ['Bearer nobody', 'Basic YTpi', 'Bearer']) {
      const response = await callApi('GET', '/account', { ...makePageHeaders(), authorization })
      expect([response.status, response.text]).toEqual(UNAUTHENTICATED)
    }
  })

  test('needs no Origin, and the response has no CORS header', async () => {
    const token = await makeToken(merchant.id)
    const headers = { origin: 'https://shop.example' }
    const response = await callApi('POST', '/transactions', headers, CHARGE, token)
    expect(response.status).toBe(200)
    expect(response.headers.get('access-control-allow-origin')).toBeNull()
  })
})
