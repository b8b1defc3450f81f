import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { db } from '#lib/base/db/client.ts'
import { env } from '#lib/base/env.ts'
import { newId } from '#lib/base/ids.ts'
import { loadRoutes } from '#lib/edge/server/routes.ts'
import { cookieNames } from '#lib/edge/session/cookie.ts'
import { readSession } from '#lib/edge/session/read.ts'
import { suspendAccount } from '#lib/rooms/accounts/activate.ts'
import { inviteMember } from '#lib/rooms/accounts/invite.ts'
import type { Account, Role } from '#lib/rooms/accounts/schema.ts'
import { issueToken } from '#lib/rooms/tokens/issue.ts'
import { revokeToken } from '#lib/rooms/tokens/revoke.ts'
import { PERMISSIONS, type Permission } from '#lib/rooms/tokens/schema.ts'
import { makeToken as makeTokenText } from '#lib/rooms/tokens/token-text.ts'
import { type AnyPermission, hasPermission } from '#lib/services/people/roles.ts'
import { openSession } from '#lib/services/people/sessions.ts'
import { call } from '#lib/testing/call.ts'
import { pageHeaders, signIn } from '#lib/testing/member.ts'
import {
  OPERATIONS,
  PAGE_OPERATIONS,
  PAGE_PATHS,
  PATHS,
  tableProblems,
} from '#lib/testing/route-table.ts'
import {
  type Api,
  expectBalancedBooks,
  makeMerchant,
  makeToken,
  startApi,
} from '#lib/testing/stage.ts'
import { addressIn, makeWorld, type World } from '#lib/testing/world.ts'

const ACTOR = { type: 'system' } as const
const ROLES: Role[] = ['owner', 'finance', 'developer', 'viewer']
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']
/** Part of every text of the merchant whose data must not leak. */
const WORD = 'canary4711'

/** Served by Next, as in vitest.lane.config.ts. */
const IS_NEXT = Boolean(process.env.E2E_API_URL)
/** Set by `npm run torture`: every method with every guise, in the front and through Next. */
const IS_FULL = Boolean(process.env.MATRIX_FULL)

interface Guise {
  name: string
  headers: Record<string, string>
  query: string
  /** Only Next reads these headers. */
  isOfNext?: boolean
}

/** Headers and queries that Next uses, or that an attacker may send to bypass a check. */
const ALL_GUISES: Guise[] = [
  { name: 'plain', headers: {}, query: '' },
  { name: 'RSC', headers: { rsc: '1' }, query: '', isOfNext: true },
  {
    name: 'prefetch',
    headers: { rsc: '1', 'next-router-prefetch': '1' },
    query: '',
    isOfNext: true,
  },
  {
    name: 'segment prefetch',
    headers: { rsc: '1', 'next-router-segment-prefetch': '/_tree', 'next-url': '/admin' },
    query: '?_rsc=abc',
    isOfNext: true,
  },
  {
    name: 'subrequest',
    headers: {
      'x-middleware-subrequest': Array(5).fill('src/middleware').join(':'),
      'x-middleware-rewrite': '/api/account',
      'x-middleware-next': '1',
      'x-next-revalidated-tags': 'a',
      'x-matched-path': '/api/account',
      'x-invoke-path': '/api/account',
      'x-nextjs-data': '1',
    },
    query: '',
    isOfNext: true,
  },
  { name: 'route parameters', headers: {}, query: '?_rsc=1&nxtPid=1&nxtPmode=admin&nxtIid=1' },
  {
    name: 'forged senders',
    headers: {
      'x-troco-address': '127.0.0.1',
      'x-forwarded-for': '127.0.0.1',
      'x-http-method-override': 'GET',
      'x-original-url': '/api/account',
      'x-rewrite-url': '/api/account',
    },
    query: '?_method=GET&access_token=x',
  },
]

const GUISES = ALL_GUISES.filter(({ isOfNext }) => !isOfNext || IS_NEXT || IS_FULL)

/** Other guises are tried with the methods of the path and one more. */
function methodsTried(guise: Guise, known: string[]): string[] {
  if (IS_FULL || guise.name === 'plain') return METHODS
  const [other] = METHODS.filter(method => !known.includes(method))
  return METHODS.filter(method => known.includes(method) || method === other)
}

interface Row {
  as: string
  token: string | null
  headers?: Record<string, string>
}

interface PageRow extends Row {
  hears: [number, string] | 'like a viewer' | 'like a stranger'
}

const UNAUTHENTICATED: [number, string] = [401, '{"error":"Unauthenticated"}']
const NO_TOKEN: [number, string] = [
  403,
  '{"error":"This endpoint requires a dashboard session: API tokens are not accepted"}',
]

let api: Api
let owner: World
let rows: Row[]
let pageRows: PageRow[]
/** Objects of the account whose data must not leak. */
let endpointId: string
let deliveryId: string
let tokenId: string
let memberId: string
let invitationId: string
beforeAll(async () => {
  api = await startApi()
  owner = await makeWorld(api, WORD)
  const suspended = await makeWorld(api, 'suspended')
  await suspendAccount(suspended.merchant.id, 'test', ACTOR)
  const wanted = { accountId: owner.merchant.id, mode: 'test' as const, name: 'revoked' }
  const revoked = await issueToken({ ...wanted, permissions: [...PERMISSIONS] }, ACTOR)
  await revokeToken(revoked.id, 'test', ACTOR)
  tokenId = (await issueToken({ ...wanted, name: WORD, permissions: [] }, ACTOR)).id
  const { userId } = await db().membership.findFirstOrThrow({
    where: { accountId: owner.merchant.id },
  })
  const request = { email: `${WORD}@example.com`, role: 'viewer' } as const
  invitationId = (await inviteMember(owner.merchant.id, request, { type: 'user', id: userId })).id
  memberId = (await readSession(await signIn(owner.merchant, 'finance')))?.id ?? ''
  const secret = await openSession(userId, { ip: null, userAgent: null })
  const cookie = { cookie: `${cookieNames().session}=${secret}`, origin: env().PUBLIC_URL }
  rows = [
    { as: 'nobody', token: null },
    { as: 'a bad token', token: makeTokenText('test') },
    { as: 'a revoked token', token: revoked.token },
    { as: 'a session cookie only', token: null, headers: cookie },
    { as: 'an inactive account', token: suspended.token },
    { as: 'another tenant', token: (await makeWorld(api, 'stranger')).token },
  ]
  await makePageRows(rows)
})

async function makePageRows([nobody, bad, revoked, cookie, inactive, tenant]: Row[]) {
  const { merchant } = owner
  endpointId = await makeEndpoint()
  const { id } = await db().delivery.findFirstOrThrow({ where: { accountId: merchant.id } })
  deliveryId = id
  const [viewer, stranger] = [await signIn(merchant, 'viewer'), await makeMerchant()]
  const foreign = await signIn(stranger, 'owner')
  const page = (secret: string, { id }: Account) => pageHeaders(secret, id)
  const other = {
    ...page(await signIn(merchant, 'owner'), merchant),
    origin: 'https://evil.example',
  }
  const refused: [number, string] = [403, '{"error":"Cross-origin request refused"}']
  pageRows = [
    ...[nobody, bad, revoked, cookie].map(row => ({ ...row!, hears: UNAUTHENTICATED })),
    { ...inactive!, hears: [403, '{"error":"Account not active"}'] },
    { ...tenant!, hears: NO_TOKEN },
    { as: 'the right tenant’s token', token: owner.token, hears: NO_TOKEN },
    {
      as: 'a token beside the owner’s cookie',
      token: owner.token,
      headers: page(await signIn(merchant, 'owner'), merchant),
      hears: NO_TOKEN,
    },
    {
      as: 'a member of another account',
      token: null,
      headers: page(foreign, merchant),
      hears: UNAUTHENTICATED,
    },
    { as: 'a stranger', token: null, headers: page(foreign, stranger), hears: 'like a stranger' },
    { as: 'a viewer', token: null, headers: page(viewer, merchant), hears: 'like a viewer' },
    { as: 'a foreign page', token: null, headers: other, hears: refused },
  ]
}

/** Webhooks may not call this port. */
async function makeEndpoint(): Promise<string> {
  const headers = pageHeaders(await signIn(owner.merchant, 'owner'), owner.merchant.id)
  const body = { url: `http://127.0.0.1:9/${WORD}`, event_types: '*' }
  const answer = await call(api.url, 'POST', '/dashboard/webhooks/endpoints', { headers, body })
  return answer.body.data.id
}
afterAll(async () => {
  await expectBalancedBooks(owner.merchant.id)
  await api.close()
})

test('the table and app/api have the same routes and methods', () => {
  expect(tableProblems()).toEqual([])
})

test('every route requires the permission in the table, and every POST stores its response', async () => {
  for (const { segments, handlers } of await loadRoutes()) {
    for (const { method, allow } of [...OPERATIONS, ...PAGE_OPERATIONS].filter(
      one => one.path === `/${segments.join('/')}`,
    )) {
      const declared = (
        handlers.get(method) as { declared?: { allow: unknown; idempotency?: object } }
      )?.declared
      expect([declared?.allow ?? null].flat()).toEqual([allow ?? null].flat())
      expect(declared?.idempotency !== undefined).toBe(method === 'POST')
    }
  }
})

function allowOf(path: string): string {
  const known = OPERATIONS.filter(one => one.path === path).map(({ method }) => method as string)
  return (known.includes('GET') ? ['GET', 'HEAD', ...known.slice(1)] : known).join(', ')
}

/** More would only wait for each other at the database. */
const AT_ONCE = 3

/** Calls `ask` for every caller, AT_ONCE at a time. */
async function atOnce<Caller>(callers: Caller[], ask: (caller: Caller) => Promise<void>) {
  const waiting = callers.values()
  const lines = Array.from({ length: AT_ONCE }, async () => {
    for (const caller of waiting) await ask(caller)
  })
  await Promise.all(lines)
}

/** Returns the refusal that the contract requires; null if the endpoint decides. */
function refusalOf(row: Row, method: string, path: string): [number, string] | null {
  const known = allowOf(path).split(', ').includes(method)
  const operation = OPERATIONS.find(
    one => one.path === path && one.method === (method === 'HEAD' ? 'GET' : method),
  )
  if (operation && operation.allow === null) return null
  if (row.as === 'an inactive account') return [403, '{"error":"Account not active"}']
  if (row.as !== 'another tenant') return [401, '{"error":"Unauthenticated"}']
  if (!known) return [405, '{"error":"Method not allowed"}']
  return operation?.missing ? [404, `{"error":"${operation.missing}"}`] : null
}

function denied(...allow: AnyPermission[]): [number, string] {
  return [403, `{"error":"Permission denied: ${allow.join(' or ')}"}`]
}

const tokens = new Map<string, Promise<string>>()

/** Reuses tokens with the same permissions, because an account may have only so many. */
function tokenFor(permissions: Permission[]): Promise<string> {
  const known = tokens.get(permissions.join())
  const token = known ?? makeToken(owner.merchant.id, { permissions })
  tokens.set(permissions.join(), token)
  return token
}

describe.each(PATHS)('%s', path => {
  const send = (row: Row, method: string, guise = GUISES[0]!) => {
    const operation = OPERATIONS.find(one => one.path === path && one.method === method)
    // A valid body would create an object in the caller's own account.
    const body = method === 'POST' ? (operation?.missing ? operation.body : {}) : undefined
    return call(api.url, method, addressIn(owner, path) + guise.query, {
      token: row.token,
      headers: { ...row.headers, ...guise.headers },
      body,
    })
  }

  test.each(GUISES)(
    'reveals nothing to callers without access, whatever the method: $name',
    async guise => {
      const known = allowOf(path).split(', ')
      await atOnce(rows, async row => {
        for (const method of methodsTried(guise, known)) {
          const answer = await send(row, method, guise)
          const what = `${row.as}: ${method}`
          const refusal = refusalOf(row, method, path)
          if (refusal) {
            expect([answer.status, answer.text], what).toEqual(
              method === 'HEAD' ? [refusal[0], ''] : refusal,
            )
          } else expect([200, 422], what).toContain(answer.status)
          expect(answer.headers.get('allow')).toBe(answer.status === 405 ? allowOf(path) : null)
          expect(answer.headers.get('content-type'), what).toBe('application/json; charset=utf-8')
          const told = JSON.stringify([...answer.headers]) + answer.text
          for (const secret of [WORD, owner.merchant.id, ...Object.values(owner.token)]) {
            if (secret.length > 1) expect(told, what).not.toContain(secret)
          }
        }
      })
    },
  )

  test('accepts every token that has only a required permission', async () => {
    for (const { method, allow, body } of OPERATIONS.filter(one => one.path === path)) {
      if (allow === null) continue
      for (const permission of allow) {
        const token = await tokenFor([permission])
        const answer = await call(api.url, method, addressIn(owner, path), { token, body })
        expect([200, 409], method).toContain(answer.status)
        if (method === 'GET' && path !== '/events') expect(answer.text).toContain(WORD)
      }
    }
  })

  test.each(ROLES)('allows the %s exactly what the table of roles allows', async role => {
    const headers = pageHeaders(await signIn(owner.merchant, role), owner.merchant.id)
    for (const { method, allow, body } of OPERATIONS.filter(one => one.path === path)) {
      if (allow === null) continue
      const answer = await call(api.url, method, addressIn(owner, path), { headers, body })
      if (allow.some(one => hasPermission(role, one)))
        expect([200, 409], method).toContain(answer.status)
      else expect([answer.status, answer.text], method).toEqual(denied(...allow))
    }
  })

  test.each(GUISES)('403 for a token of the account without the permission: $name', async guise => {
    for (const { method, allow } of OPERATIONS.filter(one => one.path === path)) {
      if (allow === null) continue
      const permissions = PERMISSIONS.filter((name: Permission) => !allow.includes(name))
      const token = await tokenFor(permissions)
      const answer = await send({ as: 'the right tenant', token }, method, guise)
      const text = `{"error":"Permission denied: ${allow.join(' or ')}"}`
      expect([answer.status, answer.text], method).toEqual([403, text])
    }
  })
})

test('ids of another account in a query or a header give no access to it', async () => {
  const stranger = rows.find(({ as }) => as === 'another tenant')?.token ?? ''
  const { charge, paid, withdrawal, refund, merchant } = owner
  const forged = { account_id: merchant.id, accountId: merchant.id, account: merchant.id }
  const ids = { id: charge, transaction_id: paid, withdrawal_id: withdrawal, refund_id: refund }
  const query = new URLSearchParams({ ...forged, ...ids })
  for (const path of ['/account', '/transactions', '/withdrawals', '/events']) {
    for (const more of ['', `&q=${WORD}`, `&cursor=${newId()}`, '&after=0']) {
      const answer = await call(api.url, 'GET', `${path}?${query}${more}`, {
        token: stranger,
        headers: {
          'troco-account': merchant.id,
          'troco-mode': 'test',
          'x-account-id': merchant.id,
        },
      })
      expect(answer.status).toBe(200)
      expect(answer.text).not.toContain(WORD)
    }
  }
})

test('members of a suspended account can read and leave, but change nothing', async () => {
  const world = await makeWorld(api, 'stopped')
  const secret = await signIn(world.merchant, 'owner')
  await suspendAccount(world.merchant.id, 'test', ACTOR)
  const headers = pageHeaders(secret, world.merchant.id)
  for (const one of [...OPERATIONS, ...PAGE_OPERATIONS]) {
    if ('isEndless' in one || 'endsMembership' in one) continue
    const { method, path, body } = one
    const query = 'query' in one ? one.query : ''
    const answer = await call(api.url, method, addressIn(world, path) + query, { headers, body })
    const what = `${method} ${path}`
    if (method === 'GET') expect([200, 404], what).toContain(answer.status)
    else {
      expect([answer.status, answer.text], what).toEqual([403, '{"error":"Account not active"}'])
    }
  }
  const leave = '/dashboard/members/leave'
  expect((await call(api.url, 'POST', leave, { headers, body: {} })).status).toBe(200)
  await expectBalancedBooks(world.merchant.id)
})

function pageMethods(path: string): string[] {
  const known = PAGE_OPERATIONS.filter(one => one.path === path).map(({ method }) => method)
  return ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'].filter(name =>
    known.includes((name === 'HEAD' ? 'GET' : name) as (typeof known)[number]),
  )
}

describe.each(PAGE_PATHS)('%s, for the dashboard', path => {
  const operationOf = (method: string) =>
    PAGE_OPERATIONS.find(
      one => one.path === path && one.method === (method === 'HEAD' ? 'GET' : method),
    )
  const address = (endpoint = endpointId) => path.replace('[id]', idFor(path, endpoint))
  const queryFor = (method: string, more = '') => {
    const query = operationOf(method)?.query ?? ''
    return query === '' ? more : query + more.replace('?', '&')
  }

  function idFor(place: string, endpoint: string): string {
    if (place.includes('/deliveries/')) return deliveryId
    if (place.includes('/charges/')) return owner.charge
    if (place.includes('/withdrawals/')) return owner.withdrawal
    if (place.includes('/members/')) return memberId
    if (place.includes('/invitations/')) return invitationId
    return place.includes('/tokens/') ? tokenId : endpoint
  }

  function refusalOf(row: PageRow, method: string): [number, string] | null {
    const operation = operationOf(method)
    const writes = !['GET', 'HEAD'].includes(method)
    // 405 is only for callers who are let in.
    const isKnown = operation !== undefined
    const isNobody = row.hears === UNAUTHENTICATED || row.as === 'an inactive account'
    if (!isKnown && !isNobody) return [405, '{"error":"Method not allowed"}']
    if (Array.isArray(row.hears) && (row.as !== 'a foreign page' || writes)) return row.hears
    if (row.hears === 'like a stranger') {
      return operation?.missing ? [404, `{"error":"${operation.missing}"}`] : null
    }
    const isDenied = row.as === 'a viewer' && operation && !hasPermission('viewer', operation.allow)
    return operation && isDenied ? [403, `{"error":"Permission denied: ${operation.allow}"}`] : null
  }

  test.each(GUISES)(
    'reveals nothing to callers without access, whatever the method: $name',
    async guise => {
      await atOnce(pageRows, async row => {
        for (const method of methodsTried(guise, pageMethods(path))) {
          const body = ['POST', 'PATCH'].includes(method)
            ? operationOf(method)?.missing
              ? operationOf(method)?.body
              : {}
            : undefined
          const { token } = row
          const headers = { ...guise.headers, ...row.headers }
          const refusal = refusalOf(row, method)
          if (!refusal && method === 'GET' && operationOf(method)?.isEndless) continue
          // The member is needed for the other methods.
          if (!refusal && operationOf(method)?.endsMembership) continue
          const answer = await call(api.url, method, address() + queryFor(method, guise.query), {
            token,
            headers,
            body,
          })
          const what = `${row.as}: ${method}`
          if (refusal) {
            expect([answer.status, answer.text], what).toEqual(
              method === 'HEAD' ? [refusal[0], ''] : refusal,
            )
            if (refusal === NO_TOKEN) {
              expect(answer.headers.get('x-error-code')).toBe('session_required')
            }
          } else expect([200, 409, 422], what).toContain(answer.status)
          const allow = answer.status === 405 ? pageMethods(path).join(', ') : null
          expect(answer.headers.get('allow'), what).toBe(allow)
          const isMember = row.as === 'a viewer' || row.as === 'a foreign page'
          if (!isMember) expect(answer.text, what).not.toContain(WORD)
        }
      })
    },
  )

  test.each(ROLES)('allows the %s exactly what the table of roles allows', async role => {
    const { merchant } = owner
    const secret = await signIn(merchant, role)
    for (const { method, allow, body, isEndless } of PAGE_OPERATIONS.filter(
      one => one.path === path,
    )) {
      const mayCall = hasPermission(role, allow)
      if (isEndless && mayCall) continue
      const own = path.includes('/endpoints/[id]') ? await makeEndpoint() : undefined
      const answer = await call(api.url, method, address(own) + queryFor(method), {
        headers: pageHeaders(secret, merchant.id),
        body,
      })
      if (mayCall) expect([200, 409], method).toContain(answer.status)
      else expect([answer.status, answer.text], method).toEqual(denied(allow))
      if (mayCall && allow === 'webhooks:read') expect(answer.text).toContain(WORD)
      if (own)
        await db().webhookEndpoint.updateMany({
          where: { id: own },
          data: { deletedAt: new Date() },
        })
    }
  })
})
