import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { env } from '#lib/base/env.ts'
import { newId } from '#lib/base/ids.ts'
import type { AccountlessEndpoint } from '#lib/edge/http/door.ts'
import { loadRoutes } from '#lib/edge/server/routes.ts'
import { call } from '#lib/testing/call.ts'
import {
  knock,
  pageHeaders,
  personHeaders,
  signIn,
  signInAdmin,
  signInAlone,
} from '#lib/testing/member.ts'
import { DOOR_OPERATIONS, type DoorOperation } from '#lib/testing/route-table.ts'
import { type Api, makeMerchant, makeToken, startApi } from '#lib/testing/stage.ts'

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']
const UNAUTHENTICATED = [401, '{"error":"Unauthenticated"}']
const NOT_FOUND = [404, '{"error":"Not found"}']
const CROSS_ORIGIN = [403, '{"error":"Cross-origin request refused"}']

let api: Api
let doors: Map<string, AccountlessEndpoint>
let [alone, admin, owner, token] = ['', '', '', '']
beforeAll(async () => {
  api = await startApi()
  const merchant = await makeMerchant()
  owner = await signIn(merchant, 'owner')
  token = await makeToken(merchant.id)
  const secrets = [await signInAlone(), await signInAdmin()]
  ;[alone = '', admin = ''] = secrets
  doors = new Map(
    (await loadRoutes()).flatMap(({ segments, handlers }) =>
      [...handlers].flatMap(([method, { access: opens }]): [string, AccountlessEndpoint][] =>
        opens && method !== 'HEAD'
          ? [[`${method} /${segments.join('/')}`, { access: opens } as AccountlessEndpoint]]
          : [],
      ),
    ),
  )
})
afterAll(() => api.close())

const named = ({ method, path }: DoorOperation) => `${method} ${path}`
const writing = DOOR_OPERATIONS.filter(({ method }) => method !== 'GET')
const guarded = DOOR_OPERATIONS.filter(({ who }) => who !== 'visitor')

type Asked = Pick<DoorOperation, 'method' | 'path'>

const ask = (operation: Asked, headers?: Record<string, string>) =>
  knock(api.url, operation, headers)

async function heard(operation: Asked, headers?: Record<string, string>) {
  const { status, text } = await ask(operation, headers)
  return [status, text]
}

test('the table lists every admin, person and visitor operation with its caller and proof', () => {
  expect(DOOR_OPERATIONS.map(named).toSorted()).toEqual([...doors.keys()].toSorted())
  for (const operation of DOOR_OPERATIONS) {
    const { audience: who, requiresProof: takesProof } = doors.get(named(operation))?.access ?? {}
    expect([who, takesProof], named(operation)).toEqual([operation.who, operation.takesProof])
  }
})

test('every admin operation that changes data requires a proof of identity', () => {
  const light = ['PATCH /admin/nothing']
  const unproved = writing.filter(one => one.who === 'admin' && !one.takesProof).map(named)
  expect(unproved.filter(name => !light.includes(name))).toEqual([])
})

describe.each(guarded)('$method $path', operation => {
  test('refuses a missing or invalid session and an API token with 401', async () => {
    expect(await heard(operation)).toEqual(UNAUTHENTICATED)
    expect(await heard(operation, { authorization: `Bearer ${token}` })).toEqual(UNAUTHENTICATED)
    const dead = { cookie: 'troco-session=x', origin: env().PUBLIC_URL }
    expect(await heard(operation, dead)).toEqual(UNAUTHENTICATED)
  })

  test('accepts callers with the required role; an admin path is 404 for others', async () => {
    const isAdmins = operation.who === 'admin'
    for (const secret of isAdmins ? [alone, owner] : []) {
      expect(await heard(operation, personHeaders(secret))).toEqual(NOT_FOUND)
    }
    const right = await ask(operation, personHeaders(isAdmins ? admin : await signInAlone()))
    const error = right.status === 404 ? right.headers.get('x-error-code') : ''
    expect(error).not.toBe('not_found')
    expect([401, 403, 405, 500], right.text).not.toContain(right.status)
  })
})

describe.each(writing)('$method $path from another origin', operation => {
  test('is refused for a missing or foreign Origin and for a foreign Sec-Fetch-Site', async () => {
    const { cookie, origin } = personHeaders(operation.who === 'admin' ? admin : alone)
    const foreign: Record<string, string>[] = [
      { cookie },
      { cookie, origin: 'https://evil.example' },
      { cookie, origin: 'null' },
      { cookie, origin, 'sec-fetch-site': 'cross-site' },
      { cookie, origin, 'sec-fetch-site': 'same-site' },
    ]
    for (const headers of foreign) {
      expect(await heard(operation, headers), JSON.stringify(headers)).toEqual(CROSS_ORIGIN)
    }
  })
})

test('an unsupported method is 405 with Allow for permitted callers, 401 or 404 for others', async () => {
  const paths = new Map(DOOR_OPERATIONS.map(one => [one.path, one.who]))
  for (const [path, who] of paths) {
    const known = METHODS.filter(name => doors.has(`${name === 'HEAD' ? 'GET' : name} ${path}`))
    for (const method of METHODS.filter(name => !known.includes(name))) {
      const operation = { path, method: method as DoorOperation['method'] }
      const mine = await ask(operation, personHeaders(who === 'admin' ? admin : alone))
      expect([mine.status, mine.headers.get('allow')], `${method} ${path}`).toEqual([
        405,
        known.join(', '),
      ])
      if (who === 'visitor' || method === 'HEAD') continue
      expect(await heard(operation)).toEqual(UNAUTHENTICATED)
      if (who === 'admin') {
        expect(await heard(operation, personHeaders(alone))).toEqual(NOT_FOUND)
      }
    }
  }
})

test('account paths require more than a session cookie; person paths require no account', async () => {
  const merchant = await makeMerchant()
  const secret = await signIn(merchant, 'owner')
  const said = await call(api.url, 'GET', '/account', { headers: personHeaders(secret) })
  expect([said.status, said.text]).toEqual(UNAUTHENTICATED)
  const [first] = guarded.filter(({ who }) => who === 'person')
  const answer = await ask(first as DoorOperation, pageHeaders(secret, newId()))
  expect(answer.status).not.toBe(401)
})
