import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { suspendAccount } from '#lib/accounts/settings.ts'
import {
  type Api,
  CHARGE,
  fundMerchant,
  makeMerchant,
  makeToken,
  openCharge,
  startApiWithMerchant,
} from '#lib/testing/fixtures.ts'
import { makeToken as makeTokenText } from '#lib/tokens/authenticate.ts'
import { revokeToken } from '#lib/tokens/change.ts'
import { issueToken } from '#lib/tokens/issue.ts'
import { PERMISSIONS, type Permission } from '#lib/tokens/schema.ts'

const ACTOR = { type: 'system' } as const
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

let api: Api
let merchant: Account
let token: string
beforeAll(async () => {
  ;({ api, merchant, token } = await startApiWithMerchant())
})
afterAll(() => api.close())

interface Options {
  authorization?: string
  body?: unknown
  headers?: Record<string, string>
}

async function callApi(method: string, path: string, options: Options = {}) {
  const { authorization = `Bearer ${token}`, body } = options
  const response = await fetch(`${api.url}/api${path}`, {
    method,
    headers: { ...(authorization ? { authorization } : {}), ...options.headers },
    // Sent as bytes, because fetch adds a Content-Type to a string body.
    body: body === undefined ? undefined : Buffer.from(JSON.stringify(body)),
  })
  const text = await response.text()
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: text && JSON.parse(text),
  }
}

const ROUTES: { method: string; path: string; permission: string; allow: string }[] = [
  { method: 'GET', path: '/account', permission: 'account:read', allow: 'GET, HEAD' },
  {
    method: 'POST',
    path: '/transactions',
    permission: 'transactions:write',
    allow: 'GET, HEAD, POST',
  },
  { method: 'GET', path: '/transactions/any', permission: 'transactions:read', allow: 'GET, HEAD' },
  {
    method: 'POST',
    path: '/sandbox/transactions/any',
    permission: 'transactions:write or withdrawals:write',
    allow: 'POST',
  },
]

describe.each(ROUTES)('$method $path', ({ method, path, permission, allow }) => {
  const requiredPermissions = permission.split(' or ') as Permission[]

  test('401 without a reason for a missing, malformed, unknown, revoked or expired token', async () => {
    const expiresAt = new Date(Date.now() - 1_000)
    const tokenOptions = { accountId: merchant.id, mode: 'test' as const, name: 'revoked' }
    const revoked = await issueToken({ ...tokenOptions, permissions: [...PERMISSIONS] }, ACTOR)
    await revokeToken(revoked.id, 'test', ACTOR)
    const callers = [
      '',
      'Bearer',
      'Bearer ',
      `Basic ${Buffer.from(`${token}:`).toString('base64')}`,
      token,
      'Bearer not-a-token',
      `Bearer ${token} ${token}`,
      `Bearer ${token.slice(0, -1)}`,
      `Bearer ${token.toUpperCase()}`,
      `Bearer ${makeTokenText(merchant.id, 'test')}`,
      `Bearer ${revoked.token}`,
      `Bearer ${await makeToken(merchant.id, { expiresAt })}`,
    ]
    for (const authorization of callers) {
      const response = await callApi(method, path, { authorization })
      expect(response.status, authorization.slice(0, 12)).toBe(401)
      expect(response.text).toBe('{"error":"Unauthenticated"}')
      expect(response.headers.get('www-authenticate')).toBe('Bearer')
      expect(response.headers.get('x-error-code')).toBe('unauthenticated')
    }
  })

  test('403 naming the permission for a token without it', async () => {
    const permissions = PERMISSIONS.filter(name => !requiredPermissions.includes(name))
    const authorization = `Bearer ${await makeToken(merchant.id, { permissions })}`
    const response = await callApi(method, path, { authorization })
    expect(response.status).toBe(403)
    expect(response.text).toBe(`{"error":"Permission denied: ${permission}"}`)
    expect(response.headers.get('x-required-permission')).toBe(permission)
    expect(response.headers.get('x-error-code')).toBe('permission_denied')
  })

  test('accepts a token that has only the required permission', async () => {
    for (const requiredPermission of requiredPermissions) {
      const authorization = `Bearer ${await makeToken(merchant.id, { permissions: [requiredPermission] })}`
      expect([200, 404, 422]).toContain((await callApi(method, path, { authorization })).status)
    }
  })

  test('403 while the account is suspended, whatever the permissions of its token', async () => {
    const suspended = await makeMerchant()
    const authorization = `Bearer ${await makeToken(suspended.id)}`
    const withoutPermissions = `Bearer ${await makeToken(suspended.id, { permissions: [] })}`
    await suspendAccount(suspended.id, 'test', ACTOR)
    for (const caller of [authorization, withoutPermissions]) {
      const response = await callApi(method, path, { authorization: caller })
      expect(response.status).toBe(403)
      expect(response.text).toBe('{"error":"Account not active"}')
      expect(response.headers.get('x-error-code')).toBe('account_not_active')
    }
  })

  test('403 from an address that the token does not allow, whatever else is wrong', async () => {
    const closed = await makeMerchant()
    const allowedAddresses = ['203.0.113.0/24', '2001:db8::/48']
    const elsewhere = { permissions: [], allowedAddresses }
    const authorization = `Bearer ${await makeToken(closed.id, elsewhere)}`
    await suspendAccount(closed.id, 'test', ACTOR)
    const error =
      'This token may not be used from 127.0.0.1: add the address to the token or use another one'
    const otherMethod = method === 'GET' ? 'DELETE' : 'PUT'
    for (const [sent, body] of [
      [method, undefined],
      [method, 'x'],
      [otherMethod, undefined],
      ['OPTIONS', undefined],
    ] as const) {
      const response = await callApi(sent, path, {
        authorization,
        body: sent === 'GET' ? undefined : body,
      })
      expect([response.status, response.text]).toEqual([403, JSON.stringify({ error })])
      expect(response.headers.get('x-error-code')).toBe('address_not_allowed')
    }
    const here = { permissions: requiredPermissions, allowedAddresses: ['127.0.0.0/8'] }
    const allowed = `Bearer ${await makeToken(merchant.id, here)}`
    for (let count = 0; count < 2; count++)
      expect([200, 404, 422]).toContain(
        (await callApi(method, path, { authorization: allowed })).status,
      )
  })

  test('a wrong method without a token is 401, not 405', async () => {
    const response = await fetch(`${api.url}/api/account`, { method: 'DELETE' })
    expect(response.status).toBe(401)
    expect(await response.json()).toEqual({ error: 'Unauthenticated' })
  })

  test('405 with Allow for every other method', async () => {
    const known = allow.split(', ')
    const otherMethods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].filter(
      name => !known.includes(name),
    )
    for (const other of otherMethods) {
      const response = await callApi(other, path)
      expect(response.status, other).toBe(405)
      expect(response.text).toBe('{"error":"Method not allowed"}')
      expect(response.headers.get('allow')).toBe(allow)
    }
    const options = await callApi('OPTIONS', path)
    expect([options.status, options.text, options.headers.get('allow')]).toEqual([204, '', allow])
    expect(options.headers.has('content-length')).toBe(false)
    const head = await callApi('HEAD', path)
    expect(head.status === 405).toBe(!known.includes('HEAD'))
    expect(head.text).toBe('')
  })

  test('treats a trailing slash and an unknown query as the same path', async () => {
    const expected = await callApi(method, path)
    for (const variant of [`${path}/`, `${path}//`, `${path}?a=1`, `${path}/?a=1`]) {
      const response = await callApi(method, variant)
      expect([response.status, response.text]).toEqual([expected.status, expected.text])
    }
  })

  test('responds with JSON that is not cached, and sends no CORS headers', async () => {
    const headers = { origin: 'https://elsewhere.example' }
    for (const response of [
      await callApi(method, path, { headers }),
      await callApi(method, path, { headers, authorization: '' }),
      await callApi('DELETE', path, { headers }),
    ]) {
      expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8')
      const isKept = response.headers.has('etag')
      expect(response.headers.get('cache-control')).toBe(
        isKept ? 'private, no-cache' : 'private, no-store',
      )
      expect(response.headers.get('x-content-type-options')).toBe('nosniff')
      const names = [...response.headers.keys()]
      expect(names.filter(name => /^access-control-|^server$|^x-powered-by$/.test(name))).toEqual(
        [],
      )
    }
  })

  test('returns one request id, the caller’s own if it is safe', async () => {
    const safeIds = ['order-4711', 'a', `${'A1.:_-'.repeat(10)}last`]
    for (const id of safeIds) {
      const response = await callApi(method, path, { headers: { 'x-request-id': id } })
      expect(response.headers.get('x-request-id')).toBe(id)
    }
    const unsafe = ['x'.repeat(65), 'two words', 'a,b', '<script>', '"', 'é']
    const generatedIds = new Set<string | null>()
    for (const id of unsafe) {
      const response = await callApi(method, path, {
        headers: { 'x-request-id': id },
        authorization: '',
      })
      expect(response.headers.get('x-request-id')).toMatch(UUID)
      generatedIds.add(response.headers.get('x-request-id'))
    }
    expect(generatedIds.size).toBe(unsafe.length)
  })
})

describe('a bearer token', () => {
  test.each(['bearer', 'BEARER', 'Bearer  '])('is accepted after the scheme %j', async scheme => {
    expect((await callApi('GET', '/account', { authorization: `${scheme} ${token}` })).status).toBe(
      200,
    )
  })

  test('is refused from the first request after its revocation', async () => {
    const tokenOptions = { accountId: merchant.id, mode: 'test' as const, name: 'short' }
    const permissions = [...PERMISSIONS]
    const issued = await issueToken({ ...tokenOptions, permissions }, ACTOR)
    const authorization = `Bearer ${issued.token}`
    expect((await callApi('GET', '/account', { authorization })).status).toBe(200)
    await revokeToken(issued.id, 'leaked', ACTOR)
    expect((await callApi('GET', '/account', { authorization })).status).toBe(401)
  })
})

describe('order of checks', () => {
  const invalidHeaders = { 'content-type': 'text/plain', 'content-encoding': 'gzip' }

  test('authentication precedes validation of the request', async () => {
    const response = await callApi('POST', '/transactions', {
      authorization: '',
      headers: invalidHeaders,
      body: 1,
    })
    expect(response.status).toBe(401)
  })

  test('permissions precede validation of the request', async () => {
    const authorization = `Bearer ${await makeToken(merchant.id, { permissions: [] })}`
    const response = await callApi('POST', '/transactions', {
      authorization,
      headers: invalidHeaders,
      body: 1,
    })
    expect(response.status).toBe(403)
  })

  test('the media type of a body precedes its content', async () => {
    const response = await callApi('POST', '/transactions', { headers: invalidHeaders, body: {} })
    expect(response.status).toBe(415)
  })
})

describe('GET /account', () => {
  test('200 with exactly the name and the available balance', async () => {
    const fundedMerchant = await makeMerchant('Café Ção & Filhos')
    await fundMerchant(fundedMerchant, 12_345)
    const authorization = `Bearer ${await makeToken(fundedMerchant.id)}`
    const response = await callApi('GET', '/account', { authorization })
    expect(response.status).toBe(200)
    expect(response.text).toBe('{"name":"Café Ção & Filhos","balance":12345}')
  })

  test('HEAD returns the headers of GET without a body', async () => {
    const get = await callApi('GET', '/account')
    const head = await callApi('HEAD', '/account')
    expect([head.status, head.text]).toEqual([200, ''])
    const sharedHeaders = ['content-type', 'cache-control', 'x-content-type-options']
    for (const name of sharedHeaders) expect(head.headers.get(name)).toBe(get.headers.get(name))
    expect((await callApi('HEAD', '/account', { authorization: '' })).status).toBe(401)
  })

  test('a live token sees the live balance and no test charge', async () => {
    const both = await makeMerchant('Dois Mundos')
    await fundMerchant(both, 5_000)
    const tokenOptions = { accountId: both.id, mode: 'live' as const, name: 'live' }
    const live = await issueToken({ ...tokenOptions, permissions: [...PERMISSIONS] }, ACTOR)
    const authorization = `Bearer ${live.token}`
    const response = await callApi('GET', '/account', { authorization })
    expect(response.body).toEqual({ name: 'Dois Mundos', balance: 0 })
    const { id } = await openCharge(both)
    expect((await callApi('GET', `/transactions/${id}`, { authorization })).status).toBe(404)
  })

  test('403 for a live charge while no bank is configured', async () => {
    const tokenOptions = { accountId: merchant.id, mode: 'live' as const, name: 'live' }
    const live = await issueToken({ ...tokenOptions, permissions: [...PERMISSIONS] }, ACTOR)
    const authorization = `Bearer ${live.token}`
    for (const body of [CHARGE, {}]) {
      const response = await callApi('POST', '/transactions', { authorization, body })
      expect([response.status, response.text]).toEqual([
        403,
        '{"error":"Live mode is not enabled"}',
      ])
    }
  })
})

describe('an unknown path under /api', () => {
  test.each([
    '',
    '/',
    '/nothing',
    '/transactions/a/b',
    '/Account',
    '/account.json',
    '/%zz',
    '/..%2f',
  ])('404 for %j', async path => {
    const response = await callApi('GET', path)
    expect([response.status, response.text]).toEqual([404, '{"error":"Not found"}'])
    expect(response.headers.get('x-request-id')).toMatch(UUID)
  })
})
