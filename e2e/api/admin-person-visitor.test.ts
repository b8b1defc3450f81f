import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '#lib/core/ids.ts'
import { env } from '#lib/core/settings.ts'
import type { AccountlessEndpoint } from '#lib/http/endpoint.ts'
import { loadRoutes } from '#lib/http/routes.ts'
import { call } from '#lib/testing/call.ts'
import { type Api, makeMerchant, makeToken, startApi } from '#lib/testing/fixtures.ts'
import {
  callOperation,
  pageHeaders,
  personHeaders,
  signIn,
  signInAdmin,
  signInWithoutAccount,
} from '#lib/testing/member.ts'
import { ACCOUNTLESS_OPERATIONS, type AccountlessOperation } from '#lib/testing/route-table.ts'
import { pickInTurn } from '#lib/testing/turn.ts'

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']
const UNAUTHENTICATED = [401, '{"error":"Unauthenticated"}']
const NOT_FOUND = [404, '{"error":"Not found"}']
const CROSS_ORIGIN = [403, '{"error":"Cross-origin request refused"}']

let api: Api
let endpoints: Map<string, AccountlessEndpoint>
let [person, admin, owner, token] = ['', '', '', '']
beforeAll(async () => {
  api = await startApi()
  const merchant = await makeMerchant()
  owner = await signIn(merchant, 'owner')
  token = await makeToken(merchant.id)
  const secrets = [await signInWithoutAccount(), await signInAdmin()]
  ;[person = '', admin = ''] = secrets
  endpoints = new Map(
    (await loadRoutes()).flatMap(({ segments, handlers }) =>
      [...handlers].flatMap(
        ([method, { accountlessDeclaration: access }]): [string, AccountlessEndpoint][] =>
          access && method !== 'HEAD'
            ? [
                [
                  `${method} /${segments.join('/')}`,
                  { accountlessDeclaration: access } as AccountlessEndpoint,
                ],
              ]
            : [],
      ),
    ),
  )
})
afterAll(() => api.close())

const nameOf = ({ method, path }: AccountlessOperation) => `${method} ${path}`
const writeOperations = ACCOUNTLESS_OPERATIONS.filter(({ method }) => method !== 'GET')
const guardedOperations = ACCOUNTLESS_OPERATIONS.filter(({ audience }) => audience !== 'visitor')

type OperationRef = Pick<AccountlessOperation, 'method' | 'path'>

const callEndpoint = (operation: OperationRef, headers?: Record<string, string>) =>
  callOperation(api.url, operation, headers)

async function fetchResult(operation: OperationRef, headers?: Record<string, string>) {
  const { status, text } = await callEndpoint(operation, headers)
  return [status, text]
}

test('the table lists every admin, person and visitor operation with its caller and proof', () => {
  expect(ACCOUNTLESS_OPERATIONS.map(nameOf).toSorted()).toEqual([...endpoints.keys()].toSorted())
  for (const operation of ACCOUNTLESS_OPERATIONS) {
    const { audience, proof } = endpoints.get(nameOf(operation))?.accountlessDeclaration ?? {}
    expect([audience, proof === 'required'], nameOf(operation)).toEqual([
      operation.audience,
      operation.requiresProof,
    ])
  }
})

test('every admin operation that changes data requires a proof of identity', () => {
  const exceptions = ['PATCH /admin/nothing']
  const unproved = writeOperations
    .filter(operation => operation.audience === 'admin' && !operation.requiresProof)
    .map(nameOf)
  expect(unproved.filter(name => !exceptions.includes(name))).toEqual([])
})

describe.each(pickInTurn(guardedOperations))('$method $path', operation => {
  test('refuses a missing or invalid session and an API token with 401', async () => {
    expect(await fetchResult(operation)).toEqual(UNAUTHENTICATED)
    expect(await fetchResult(operation, { authorization: `Bearer ${token}` })).toEqual(
      UNAUTHENTICATED,
    )
    const invalidSession = { cookie: 'troco-session=x', origin: env().PUBLIC_URL }
    expect(await fetchResult(operation, invalidSession)).toEqual(UNAUTHENTICATED)
  })

  test('accepts callers with the required role; an admin path is 404 for others', async () => {
    const isAdminOnly = operation.audience === 'admin'
    for (const secret of isAdminOnly ? [person, owner] : []) {
      expect(await fetchResult(operation, personHeaders(secret))).toEqual(NOT_FOUND)
    }
    const allowed = await callEndpoint(
      operation,
      personHeaders(isAdminOnly ? admin : await signInWithoutAccount()),
    )
    const error = allowed.status === 404 ? allowed.headers.get('x-error-code') : ''
    expect(error).not.toBe('not_found')
    expect([401, 403, 405, 500], allowed.text).not.toContain(allowed.status)
  })
})

describe.each(pickInTurn(writeOperations))('$method $path from another origin', operation => {
  test('is refused for a missing or foreign Origin and for a foreign Sec-Fetch-Site', async () => {
    const { cookie, origin } = personHeaders(operation.audience === 'admin' ? admin : person)
    const foreign: Record<string, string>[] = [
      { cookie },
      { cookie, origin: 'https://evil.example' },
      { cookie, origin: 'null' },
      { cookie, origin, 'sec-fetch-site': 'cross-site' },
      { cookie, origin, 'sec-fetch-site': 'same-site' },
    ]
    for (const headers of foreign) {
      expect(await fetchResult(operation, headers), JSON.stringify(headers)).toEqual(CROSS_ORIGIN)
    }
  })
})

test('an unsupported method is 405 with Allow for permitted callers, 401 or 404 for others', async () => {
  const paths = new Map(
    ACCOUNTLESS_OPERATIONS.map(operation => [operation.path, operation.audience]),
  )
  for (const [path, audience] of paths) {
    const supported = METHODS.filter(name =>
      endpoints.has(`${name === 'HEAD' ? 'GET' : name} ${path}`),
    )
    for (const method of METHODS.filter(name => !supported.includes(name))) {
      const operation = { path, method: method as AccountlessOperation['method'] }
      const allowed = await callEndpoint(
        operation,
        personHeaders(audience === 'admin' ? admin : person),
      )
      expect([allowed.status, allowed.headers.get('allow')], `${method} ${path}`).toEqual([
        405,
        supported.join(', '),
      ])
      if (audience === 'visitor' || method === 'HEAD') continue
      expect(await fetchResult(operation)).toEqual(UNAUTHENTICATED)
      if (audience === 'admin') {
        expect(await fetchResult(operation, personHeaders(person))).toEqual(NOT_FOUND)
      }
    }
  }
})

test('account paths require more than a session cookie; person paths require no account', async () => {
  const merchant = await makeMerchant()
  const secret = await signIn(merchant, 'owner')
  const denied = await call(api.url, 'GET', '/account', { headers: personHeaders(secret) })
  expect([denied.status, denied.text]).toEqual(UNAUTHENTICATED)
  const [first] = guardedOperations.filter(({ audience: caller }) => caller === 'person')
  const response = await callEndpoint(first as AccountlessOperation, pageHeaders(secret, newId()))
  expect(response.status).not.toBe(401)
})
