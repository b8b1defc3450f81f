import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { inviteMember } from '#lib/accounts/invitations.ts'
import type { Account, Role } from '#lib/accounts/schema.ts'
import { suspendAccount } from '#lib/accounts/settings.ts'
import { newId } from '#lib/core/ids.ts'
import { env } from '#lib/core/settings.ts'
import { db } from '#lib/db/client.ts'
import { loadRoutes } from '#lib/http/routes.ts'
import { type AnyPermission, hasPermission } from '#lib/people/roles.ts'
import { openSession } from '#lib/people/sessions.ts'
import { cookieNames, readSession } from '#lib/session/read.ts'
import { call } from '#lib/testing/call.ts'
import {
  type Api,
  expectBalancedLedger,
  makeMerchant,
  makeToken,
  startApi,
} from '#lib/testing/fixtures.ts'
import { pageHeaders, signIn } from '#lib/testing/member.ts'
import {
  findTableProblems,
  OPERATIONS,
  PAGE_OPERATIONS,
  PAGE_PATHS,
  PATHS,
} from '#lib/testing/route-table.ts'
import { pickInTurn } from '#lib/testing/turn.ts'
import { giveChild, makeWorld, resolvePath, type World } from '#lib/testing/world.ts'
import { makeToken as makeTokenText } from '#lib/tokens/authenticate.ts'
import { revokeToken } from '#lib/tokens/change.ts'
import { issueToken } from '#lib/tokens/issue.ts'
import { PERMISSIONS, type Permission } from '#lib/tokens/schema.ts'

const ACTOR = { type: 'system' } as const
const ROLES: Role[] = ['owner', 'finance', 'developer', 'viewer']
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']
/** Text in all data of the merchant whose data must not leak. */
const MARKER = 'canary4711'

/** Whether Next serves the API, as in vitest.next.config.ts. */
const IS_NEXT = Boolean(process.env.E2E_API_URL)
/**
 * Set by `npm run torture`: sends every method with every variant, also the variants for Next to
 * the front.
 */
const IS_FULL = Boolean(process.env.MATRIX_FULL)

interface RequestVariant {
  name: string
  headers: Record<string, string>
  query: string
  /** Only Next reads these headers and parameters. */
  isNextOnly?: boolean
}

/** Headers and queries that Next uses, or that an attacker may send to bypass a check. */
const ALL_VARIANTS: RequestVariant[] = [
  { name: 'plain', headers: {}, query: '' },
  { name: 'RSC', headers: { rsc: '1' }, query: '', isNextOnly: true },
  {
    name: 'prefetch',
    headers: { rsc: '1', 'next-router-prefetch': '1' },
    query: '',
    isNextOnly: true,
  },
  {
    name: 'segment prefetch',
    headers: { rsc: '1', 'next-router-segment-prefetch': '/_tree', 'next-url': '/admin' },
    query: '?_rsc=abc',
    isNextOnly: true,
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
    isNextOnly: true,
  },
  {
    name: 'route parameters',
    headers: {},
    query: '?_rsc=1&nxtPid=1&nxtPmode=admin&nxtIid=1',
    isNextOnly: true,
  },
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

const VARIANTS = ALL_VARIANTS.filter(({ isNextOnly }) => !isNextOnly || IS_NEXT || IS_FULL)

/** Selects all methods for `npm run torture`, else those of the path and one more, which varies. */
function selectMethods(path: string, known: string[]): string[] {
  if (IS_FULL) return METHODS
  const others = METHODS.filter(method => !known.includes(method))
  const other = others[path.length % others.length]
  return METHODS.filter(method => known.includes(method) || method === other)
}

interface Caller {
  label: string
  token: string | null
  headers?: Record<string, string>
}

/** With other headers and queries it suffices that one caller of each kind gains nothing. */
const CALLERS_OF_VARIANTS = ['nobody', 'another tenant', 'a stranger', 'a foreign page']

/** Selects all callers for a plain request. */
function selectCallers<C extends Caller>(variant: RequestVariant, callers: C[]): C[] {
  if (IS_FULL || variant.name === 'plain') return callers
  return callers.filter(({ label }) => CALLERS_OF_VARIANTS.includes(label))
}

interface PageCaller extends Caller {
  expected: [number, string] | 'like a viewer' | 'like a stranger'
}

const UNAUTHENTICATED: [number, string] = [401, '{"error":"Unauthenticated"}']
const SESSION_REQUIRED: [number, string] = [
  403,
  '{"error":"This endpoint requires a dashboard session: API tokens are not accepted"}',
]

/** Paths whose responses do not contain the name of a payer or of the account. */
const NAMELESS = [
  '/events',
  '/balance/history',
  '/disputes',
  '/disputes/[id]',
  '/transactions/[id]/qr.svg',
  '/transactions/[id]/qr.png',
  // Next's server stores requests while the test runs, so that its first page shows newer ones.
  ...(IS_NEXT ? ['/requests'] : []),
]

let api: Api
let owner: World
let callers: Caller[]
let pageCallers: PageCaller[]
/** Ids of objects of the account whose data must not leak. */
let deliveryId: string
let tokenId: string
let memberId: string
let invitationId: string
beforeAll(async () => {
  api = await startApi()
  owner = await makeWorld(api, MARKER)
  const suspended = await makeWorld(api, 'suspended')
  await suspendAccount(suspended.merchant.id, 'test', ACTOR)
  const tokenOptions = { accountId: owner.merchant.id, mode: 'test' as const, name: 'revoked' }
  const revoked = await issueToken({ ...tokenOptions, permissions: [...PERMISSIONS] }, ACTOR)
  await revokeToken(revoked.id, 'test', ACTOR)
  tokenId = (await issueToken({ ...tokenOptions, name: MARKER, permissions: [] }, ACTOR)).id
  const { userId } = await db().membership.findFirstOrThrow({
    where: { accountId: owner.merchant.id },
  })
  const request = { email: `${MARKER}@example.com`, role: 'viewer' } as const
  invitationId = (await inviteMember(owner.merchant.id, request, { type: 'user', id: userId })).id
  memberId = (await readSession(await signIn(owner.merchant, 'finance')))?.id ?? ''
  const secret = await openSession(userId, { ip: null, userAgent: null })
  const cookie = { cookie: `${cookieNames().session}=${secret}`, origin: env().PUBLIC_URL }
  callers = [
    { label: 'nobody', token: null },
    { label: 'a bad token', token: makeTokenText(newId(), 'test') },
    { label: 'a revoked token', token: revoked.token },
    { label: 'a session cookie only', token: null, headers: cookie },
    { label: 'an inactive account', token: suspended.token },
    { label: 'another tenant', token: (await makeWorld(api, 'stranger')).token },
  ]
  await makePageCallers(callers)
})

async function makePageCallers([nobody, bad, revoked, cookie, inactive, tenant]: Caller[]) {
  const { merchant } = owner
  const { id } = await db().delivery.findFirstOrThrow({ where: { accountId: merchant.id } })
  deliveryId = id
  const [viewer, stranger] = [await signIn(merchant, 'viewer'), await makeMerchant()]
  const strangerSession = await signIn(stranger, 'owner')
  const headersFor = (secret: string, { id }: Account) => pageHeaders(secret, id)
  const crossOriginHeaders = {
    ...headersFor(await signIn(merchant, 'owner'), merchant),
    origin: 'https://evil.example',
  }
  const crossOriginRefused: [number, string] = [403, '{"error":"Cross-origin request refused"}']
  pageCallers = [
    ...[nobody, bad, revoked, cookie].map(caller => ({ ...caller!, expected: UNAUTHENTICATED })),
    { ...inactive!, expected: [403, '{"error":"Account not active"}'] },
    { ...tenant!, expected: SESSION_REQUIRED },
    { label: 'the right tenant’s token', token: owner.token, expected: SESSION_REQUIRED },
    {
      label: 'a token beside the owner’s cookie',
      token: owner.token,
      headers: headersFor(await signIn(merchant, 'owner'), merchant),
      expected: SESSION_REQUIRED,
    },
    {
      label: 'a member of another account',
      token: null,
      headers: headersFor(strangerSession, merchant),
      expected: UNAUTHENTICATED,
    },
    {
      label: 'a stranger',
      token: null,
      headers: headersFor(strangerSession, stranger),
      expected: 'like a stranger',
    },
    {
      label: 'a viewer',
      token: null,
      headers: headersFor(viewer, merchant),
      expected: 'like a viewer',
    },
    {
      label: 'a foreign page',
      token: null,
      headers: crossOriginHeaders,
      expected: crossOriginRefused,
    },
  ]
}

afterAll(async () => {
  await expectBalancedLedger(owner.merchant.id)
  await api.close()
})

test('the table and app/api have the same routes and methods', () => {
  expect(findTableProblems()).toEqual([])
})

test('every route requires the permission in the table; every POST but a reveal stores its response', async () => {
  for (const { segments, handlers } of await loadRoutes()) {
    for (const { method, allow } of [...OPERATIONS, ...PAGE_OPERATIONS].filter(
      one => one.path === `/${segments.join('/')}`,
    )) {
      const declared = (
        handlers.get(method) as {
          declared?: { allow: unknown; idempotency?: object; effect?: string }
        }
      )?.declared
      expect([declared?.allow ?? null].flat()).toEqual([allow ?? null].flat())
      const isStored = method === 'POST' && declared?.effect !== 'document'
      expect(declared?.idempotency !== undefined).toBe(isStored)
    }
  }
})

function allowHeader(path: string): string {
  const known = OPERATIONS.filter(one => one.path === path).map(({ method }) => method as string)
  return (known.includes('GET') ? ['GET', 'HEAD', ...known.slice(1)] : known).join(', ')
}

/** Higher values gain nothing, because the requests wait for each other at the database. */
const CONCURRENCY = 3

/** Calls `work` for every item, CONCURRENCY at a time. */
async function runConcurrently<Item>(items: Item[], work: (item: Item) => Promise<void>) {
  const queue = items.values()
  const workers = Array.from({ length: CONCURRENCY }, async () => {
    for (const item of queue) await work(item)
  })
  await Promise.all(workers)
}

/** Returns the error that the contract requires; null if the endpoint determines the result. */
function expectedRefusal(caller: Caller, method: string, path: string): [number, string] | null {
  const isKnown = allowHeader(path).split(', ').includes(method)
  const operation = OPERATIONS.find(
    one => one.path === path && one.method === (method === 'HEAD' ? 'GET' : method),
  )
  if (operation && operation.allow === null) return null
  if (caller.label === 'an inactive account') return [403, '{"error":"Account not active"}']
  if (caller.label !== 'another tenant') return [401, '{"error":"Unauthenticated"}']
  if (!isKnown) return unknownMethod(method)
  return operation?.missing ? [404, `{"error":"${operation.missing}"}`] : null
}

function unknownMethod(method: string): [number, string] {
  return method === 'OPTIONS' ? [204, ''] : [405, '{"error":"Method not allowed"}']
}

function permissionDenied(...allow: AnyPermission[]): [number, string] {
  return [403, `{"error":"Permission denied: ${allow.join(' or ')}"}`]
}

/** Instead of a 404: a parameter that the operation does not have is refused before any look-up. */
function isRefusedQuery(
  { status, text, headers }: { status: number; text: string; headers: Headers },
  { query }: RequestVariant,
  [expectedStatus]: [number, string],
): boolean {
  if (expectedStatus !== 404 || query === '' || status !== 422) return false
  const errors = text === '' ? {} : JSON.parse(text).errors
  const sent = [...new URLSearchParams(query).keys()]
  expect(sent).toEqual(expect.arrayContaining(Object.keys(errors)))
  return headers.get('x-error-code') === 'invalid_input'
}

const tokens = new Map<string, Promise<string>>()

function expectedType(path: string, status: number): string {
  const json = 'application/json; charset=utf-8'
  if (status !== 200) return json
  if (path.endsWith('.pdf')) return 'application/pdf'
  return path.endsWith('.csv') ? 'text/csv; charset=utf-8' : json
}

/** Reuses tokens with the same permissions, because the tokens of an account are limited. */
function findOrMakeToken(permissions: Permission[]): Promise<string> {
  const cached = tokens.get(permissions.join())
  const token = cached ?? makeToken(owner.merchant.id, { permissions })
  tokens.set(permissions.join(), token)
  return token
}

/** Undoes a deletion of the endpoint, which other calls need. */
const restoreEndpoint = () =>
  db().webhookEndpoint.updateMany({ where: { id: owner.endpoint }, data: { deletedAt: null } })

describe.each(pickInTurn(PATHS))('%s', path => {
  const send = (caller: Caller, method: string, variant = VARIANTS[0]!) => {
    const operation = OPERATIONS.find(one => one.path === path && one.method === method)
    // A valid body would create an object in the caller's own account.
    const hasBody = method === 'POST' || method === 'PATCH'
    const body = hasBody ? (operation?.missing ? operation.body : {}) : undefined
    return call(api.url, method, resolvePath(owner, path) + variant.query, {
      token: caller.token,
      headers: { ...caller.headers, ...variant.headers },
      body,
    })
  }

  test.each(VARIANTS)(
    'reveals nothing to callers without access, whatever the method: $name',
    async variant => {
      const known = allowHeader(path).split(', ')
      await runConcurrently(selectCallers(variant, callers), async caller => {
        for (const method of selectMethods(path, known)) {
          const response = await send(caller, method, variant)
          const label = `${caller.label}: ${method}`
          const refusal = expectedRefusal(caller, method, path)
          if (refusal && !isRefusedQuery(response, variant, refusal)) {
            expect([response.status, response.text], label).toEqual(
              method === 'HEAD' ? [refusal[0], ''] : refusal,
            )
          } else expect([200, 422], label).toContain(response.status)
          expect(response.headers.get('allow')).toBe(
            [204, 405].includes(response.status) ? allowHeader(path) : null,
          )
          expect(response.headers.get('content-type'), label).toBe(
            response.status === 204 ? null : expectedType(path, response.status),
          )
          const received = JSON.stringify([...response.headers]) + response.text
          for (const secret of [MARKER, owner.merchant.id, ...Object.values(owner.token)]) {
            if (secret.length > 1) expect(received, label).not.toContain(secret)
          }
        }
      })
    },
  )

  test('accepts every token that has only a required permission', async () => {
    for (const { method, allow, body } of OPERATIONS.filter(one => one.path === path)) {
      if (allow === null) continue
      for (const permission of allow) {
        // A token grants only what it has.
        const granted: Permission[] = `${method} ${path}` === 'POST /tokens' ? ['account:read'] : []
        const token = await findOrMakeToken([permission, ...granted])
        await giveChild(owner, token)
        const response = await call(api.url, method, resolvePath(owner, path), { token, body })
        await restoreEndpoint()
        expect([200, 409], method).toContain(response.status)
        if (method === 'GET' && !NAMELESS.includes(path)) expect(response.text).toContain(MARKER)
      }
    }
  })

  test.each(ROLES)('allows the %s exactly what the table of roles allows', async role => {
    const headers = pageHeaders(await signIn(owner.merchant, role), owner.merchant.id)
    for (const { method, allow, body } of OPERATIONS.filter(one => one.path === path)) {
      if (allow === null) continue
      const response = await call(api.url, method, resolvePath(owner, path), { headers, body })
      await restoreEndpoint()
      if (allow.some(one => hasPermission(role, one)))
        expect([200, 409], method).toContain(response.status)
      else expect([response.status, response.text], method).toEqual(permissionDenied(...allow))
    }
  })

  test.each(VARIANTS)(
    '403 for a token of the account without the permission: $name',
    async variant => {
      for (const { method, allow } of OPERATIONS.filter(one => one.path === path)) {
        if (allow === null) continue
        const permissions = PERMISSIONS.filter((name: Permission) => !allow.includes(name))
        const token = await findOrMakeToken(permissions)
        const response = await send({ label: 'the right tenant', token }, method, variant)
        const text = `{"error":"Permission denied: ${allow.join(' or ')}"}`
        expect([response.status, response.text], method).toEqual([403, text])
      }
    },
  )
})

test('ids of another account in a query or a header give no access to it', async () => {
  const stranger = callers.find(({ label }) => label === 'another tenant')?.token ?? ''
  const { charge, paid, withdrawal, refund, merchant } = owner
  const forged = { account_id: merchant.id, accountId: merchant.id, account: merchant.id }
  const ids = { id: charge, transaction_id: paid, withdrawal_id: withdrawal, refund_id: refund }
  const query = new URLSearchParams({ ...forged, ...ids })
  for (const path of ['/account', '/transactions', '/withdrawals', '/events']) {
    for (const extraQuery of ['', `&q=${MARKER}`, `&cursor=${newId()}`, '&after=0']) {
      const response = await call(api.url, 'GET', `${path}?${query}${extraQuery}`, {
        token: stranger,
        headers: {
          'troco-account': merchant.id,
          'troco-mode': 'test',
          'x-account-id': merchant.id,
        },
      })
      expect(response.status).toBe(path === '/account' ? 200 : 422)
      expect(response.text).not.toContain(MARKER)
    }
  }
})

test('members of a suspended account can read and leave, but change nothing', async () => {
  const world = await makeWorld(api, 'stopped')
  const secret = await signIn(world.merchant, 'owner')
  await suspendAccount(world.merchant.id, 'test', ACTOR)
  const headers = pageHeaders(secret, world.merchant.id)
  for (const operation of [...OPERATIONS, ...PAGE_OPERATIONS]) {
    if ('isEndless' in operation || 'endsMembership' in operation) continue
    const { method, path, body } = operation
    const query = 'query' in operation ? operation.query : ''
    const response = await call(api.url, method, resolvePath(world, path) + query, {
      headers,
      body,
    })
    const label = `${method} ${path}`
    if (method === 'GET') expect([200, 404], label).toContain(response.status)
    else {
      expect([response.status, response.text], label).toEqual([
        403,
        '{"error":"Account not active"}',
      ])
    }
  }
  const leavePath = '/dashboard/members/leave'
  expect((await call(api.url, 'POST', leavePath, { headers, body: {} })).status).toBe(200)
  await expectBalancedLedger(world.merchant.id)
})

function listPageMethods(path: string): string[] {
  const known = PAGE_OPERATIONS.filter(one => one.path === path).map(({ method }) => method)
  return ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'].filter(name =>
    known.includes((name === 'HEAD' ? 'GET' : name) as (typeof known)[number]),
  )
}

describe.each(pickInTurn(PAGE_PATHS))('%s, for the dashboard', path => {
  const findOperation = (method: string) =>
    PAGE_OPERATIONS.find(
      one => one.path === path && one.method === (method === 'HEAD' ? 'GET' : method),
    )
  const resolvePagePath = () => path.replace('[id]', idFor(path))
  const queryFor = (method: string, extraQuery = '') => {
    const query = findOperation(method)?.query ?? ''
    return query === '' ? extraQuery : query + extraQuery.replace('?', '&')
  }

  function idFor(path: string): string {
    if (path.includes('/deliveries/')) return deliveryId
    const isReceipt = path.endsWith('/receipt')
    if (path.includes('/charges/')) return isReceipt ? owner.paid : owner.charge
    if (path.includes('/withdrawals/')) return isReceipt ? owner.payout : owner.withdrawal
    if (path.includes('/members/')) return memberId
    if (path.includes('/invitations/')) return invitationId
    return tokenId
  }

  function expectedRefusal(caller: PageCaller, method: string): [number, string] | null {
    const operation = findOperation(method)
    const isWrite = !['GET', 'HEAD'].includes(method)
    // Only authenticated callers get 405.
    const isKnown = operation !== undefined
    const isUnauthenticated =
      caller.expected === UNAUTHENTICATED || caller.label === 'an inactive account'
    if (!isKnown && !isUnauthenticated) return unknownMethod(method)
    if (Array.isArray(caller.expected) && (caller.label !== 'a foreign page' || isWrite))
      return caller.expected
    if (caller.expected === 'like a stranger') {
      return operation?.missing ? [404, `{"error":"${operation.missing}"}`] : null
    }
    const isDenied =
      caller.label === 'a viewer' && operation && !hasPermission('viewer', operation.allow)
    return operation && isDenied ? [403, `{"error":"Permission denied: ${operation.allow}"}`] : null
  }

  test.each(VARIANTS)(
    'reveals nothing to callers without access, whatever the method: $name',
    async variant => {
      await runConcurrently(selectCallers(variant, pageCallers), async caller => {
        for (const method of selectMethods(path, listPageMethods(path))) {
          const body = ['POST', 'PATCH'].includes(method)
            ? findOperation(method)?.missing
              ? findOperation(method)?.body
              : {}
            : undefined
          const { token } = caller
          const headers = { ...variant.headers, ...caller.headers }
          const refusal = expectedRefusal(caller, method)
          if (!refusal && method === 'GET' && findOperation(method)?.isEndless) continue
          // Skipped, because the other methods need the member.
          if (!refusal && findOperation(method)?.endsMembership) continue
          const response = await call(
            api.url,
            method,
            resolvePagePath() + queryFor(method, variant.query),
            {
              token,
              headers,
              body,
            },
          )
          const label = `${caller.label}: ${method}`
          if (refusal && !isRefusedQuery(response, variant, refusal)) {
            expect([response.status, response.text], label).toEqual(
              method === 'HEAD' ? [refusal[0], ''] : refusal,
            )
            if (refusal === SESSION_REQUIRED) {
              expect(response.headers.get('x-error-code')).toBe('session_required')
            }
          } else expect([200, 409, 422], label).toContain(response.status)
          const allow = [204, 405].includes(response.status)
            ? listPageMethods(path).join(', ')
            : null
          expect(response.headers.get('allow'), label).toBe(allow)
          const isMember = caller.label === 'a viewer' || caller.label === 'a foreign page'
          if (!isMember) expect(response.text, label).not.toContain(MARKER)
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
      const response = await call(api.url, method, resolvePagePath() + queryFor(method), {
        headers: pageHeaders(secret, merchant.id),
        body,
      })
      if (mayCall) expect([200, 409], method).toContain(response.status)
      else expect([response.status, response.text], method).toEqual(permissionDenied(allow))
    }
  })
})
