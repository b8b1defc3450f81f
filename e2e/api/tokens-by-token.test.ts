import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { db } from '#lib/db/client.ts'
import { DEFAULT_PERMISSIONS, type Permission } from '#lib/people/roles.ts'
import { call } from '#lib/testing/call.ts'
import { type Api, makeMerchant, makeToken, startApi } from '#lib/testing/fixtures.ts'
import { expectShape, pageHeaders, refusal, signIn } from '#lib/testing/member.ts'
import { TokenIssued, TokenList } from '#lib/tokens/schema.ts'

const GRANTED: Permission[] = ['account:read', 'transactions:write']
const CHILD = { name: 'Worker', permissions: ['account:read'] }

let api: Api
let merchant: Account
let parent: string
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.close())
beforeEach(async () => {
  merchant = await makeMerchant()
  parent = await makeToken(merchant.id, {
    permissions: [...GRANTED, 'tokens:read', 'tokens:write'],
  })
})

const send = (method: string, path: string, body?: object, key?: string, token = parent) =>
  call(api.url, method, path, { token, body, key })
const statusWith = async (token: string) =>
  (await call(api.url, 'GET', '/account', { token })).status

test('a token creates, lists, rotates and revokes tokens, each shown once', async () => {
  const created = await send('POST', '/tokens', CHILD, 'a-key')
  expectShape(TokenIssued, created.body)
  const { token, ...row } = created.body.data
  expect([created.status, await statusWith(token)]).toEqual([200, 200])
  const replay = await send('POST', '/tokens', CHILD, 'a-key')
  expect(replay.body.data).toMatchObject({ id: row.id, token: null })
  const other = await makeToken(merchant.id, { permissions: ['tokens:write', 'account:read'] })
  expect((await send('POST', '/tokens', CHILD, 'a-key', other)).status).toBe(422)
  const listed = await send('GET', '/tokens')
  expectShape(TokenList, listed.body)
  expect(listed.body.data.map((one: { name: string }) => one.name)).toEqual(['Worker', 'test'])
  const issuer = { id: listed.body.data[1].id, name: 'test', ended_at: null }
  expect(listed.body.data[0].parent).toEqual(issuer)
  expect(listed.text).not.toContain(token.slice(20))
  const rotated = await send('POST', `/tokens/${row.id}/rotate`, { overlap_hours: 0 })
  expect([await statusWith(token), await statusWith(rotated.body.data.token)]).toEqual([401, 200])
  const path = `/tokens/${rotated.body.data.id}/revoke`
  expect((await send('POST', path, { reason: 'done' })).body.data.status).toBe('revoked')
  expect(await statusWith(rotated.body.data.token)).toBe(401)
  const audited = await db().auditRecord.findMany({
    where: { target: row.id, action: 'token.issued' },
  })
  expect(audited).toMatchObject([
    { actorType: 'token', after: { parent_id: listed.body.data[1].id } },
  ])
})

test('the permission is off unless chosen, and no child has it', async () => {
  expect(DEFAULT_PERMISSIONS).not.toContain('tokens:write')
  const without = await makeToken(merchant.id, { permissions: GRANTED })
  const denied = [403, '{"error":"Permission denied: tokens:write"}', 'permission_denied']
  for (const [method, path] of [
    ['POST', '/tokens'],
    ['POST', '/tokens/x/rotate'],
    ['POST', '/tokens/x/revoke'],
    ['PATCH', '/tokens/x'],
  ] as const)
    expect(refusal(await send(method, path, CHILD, undefined, without))).toEqual(denied)
  for (const permissions of [
    ['tokens:write'],
    ['refunds:write'],
    ['account:read', 'payers:read'],
  ]) {
    const { status, body } = await send('POST', '/tokens', { ...CHILD, permissions })
    expect([status, Object.keys(body.errors)]).toEqual([422, ['permissions']])
  }
})

test('an expiry beyond that of the parent stands at the field that was sent', async () => {
  const DAY_MS = 86_400_000
  parent = await makeToken(merchant.id, {
    permissions: ['account:read', 'tokens:write'],
    expiresAt: new Date(Date.now() + 2 * DAY_MS),
  })
  const expires_on = new Date(Date.now() + 9 * DAY_MS).toISOString().slice(0, 10)
  for (const expiry of [{ expires_on }, { expires_in_days: 9 }]) {
    const { status, body } = await send('POST', '/tokens', { ...CHILD, ...expiry })
    expect([status, Object.keys(body.errors)]).toEqual([422, Object.keys(expiry)])
  }
})

test('pages only: a token confirms none and sees no member’s tokens', async () => {
  const { id } = (await send('POST', '/tokens', CHILD)).body.data
  for (const [method, path] of [
    ['POST', `/dashboard/tokens/${id}/adopt`],
    ['GET', `/dashboard/members/${id}/tokens`],
  ] as const)
    expect(refusal(await send(method, path, method === 'GET' ? undefined : {}))[2]).toBe(
      'session_required',
    )
})

test('a member sees the parent of each token, and rotates none that a token created', async () => {
  const { id, token } = (await send('POST', '/tokens', CHILD)).body.data
  const headers = pageHeaders(await signIn(merchant, 'owner'), merchant.id)
  const { body } = await call(api.url, 'GET', '/tokens', { headers })
  expect(body.data.find((one: { id: string }) => one.id === id).parent.name).toBe('test')
  const path = `/tokens/${id}/rotate`
  const rotation = await call(api.url, 'POST', path, { headers, body: { overlap_hours: 0 } })
  expect(refusal(rotation)[2]).toBe('child_token')
  const [{ id: parentId }] = body.data.filter((one: { parent: unknown }) => one.parent === null)
  await call(api.url, 'POST', `/tokens/${parentId}/revoke`, { headers, body: {} })
  expect([await statusWith(parent), await statusWith(token)]).toEqual([401, 401])
})
