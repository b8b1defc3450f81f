import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Account, Role } from '#lib/accounts/schema.ts'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { readSession } from '#lib/session/read.ts'
import { call } from '#lib/testing/call.ts'
import { type Api, fundMerchant, makeMerchant, startApi } from '#lib/testing/fixtures.ts'
import { pageHeaders, personHeaders, signIn, signInAdmin } from '#lib/testing/member.ts'
import { issueToken } from '#lib/tokens/issue.ts'

const ENDPOINTS = '/webhooks/endpoints'
/** Longer than the server takes to check a caller whose body has not arrived. */
const CHECKED_MS = 500

let api: Api
let merchant: Account
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.close())

interface Member {
  id: string
  headers: Record<string, string>
}
let owner: Member

async function addMember(role: Role): Promise<Member> {
  const secret = await signIn(merchant, role)
  const id = (await readSession(secret))?.id ?? ''
  return { id, headers: pageHeaders(secret, merchant.id) }
}

beforeEach(async () => {
  merchant = await makeMerchant()
  owner = await addMember('owner')
  await fundMerchant(merchant, 100_000)
})

const order = () => ({ amount: 10_000, pix_key: `key-${newId()}@example.com` })
const countWithdrawals = () => db().withdrawal.count({ where: { accountId: merchant.id } })

/** Sends the headers and five bytes, and returns what sends the rest and reads the status. */
async function begin(
  method: string,
  path: string,
  headers: Record<string, string>,
  body: object,
): Promise<() => Promise<number>> {
  const text = JSON.stringify(body)
  const length = { 'content-length': String(Buffer.byteLength(text)) }
  const type = { 'content-type': 'application/json' }
  const sent = request(`${api.url}/api${path}`, {
    method,
    headers: { ...headers, ...type, ...length },
  })
  const status = new Promise<number>((resolve, reject) => {
    sent.on('response', response => resolve(response.resume().statusCode ?? 0))
    sent.on('error', reject)
  })
  sent.write(text.slice(0, 5))
  await sleep(CHECKED_MS)
  return () => {
    sent.end(text.slice(5))
    return status
  }
}

async function change(method: string, path: string, body: object): Promise<void> {
  const response = await call(api.url, method, path, { headers: owner.headers, body })
  expect(response.status, response.text).toBe(200)
}

describe('while the body is on its way, the caller loses', () => {
  test('the membership: a removed member withdraws nothing', async () => {
    const finance = await addMember('finance')
    const finish = await begin('POST', '/withdrawals', finance.headers, order())
    await change('DELETE', `/dashboard/members/${finance.id}`, { tokens: [] })
    expect(await finish()).toBe(401)
    expect(await countWithdrawals()).toBe(0)
  })

  test('the role: a demoted owner gives no endpoint full documents', async () => {
    const second = await addMember('owner')
    const body = { url: 'https://example.com/x', event_types: ['transaction.paid'] }
    const { headers } = owner
    const made = await call(api.url, 'POST', ENDPOINTS, {
      headers,
      body: { ...body, full_documents: false },
    })
    const { id } = made.body.data
    const edit = { url: 'https://other.example.com/x', full_documents: true }
    const finish = await begin('PATCH', `${ENDPOINTS}/${id}`, second.headers, edit)
    await change('PATCH', `/dashboard/members/${second.id}`, { role: 'developer', tokens: [] })
    expect(await finish()).toBe(401)
    const stored = await db().webhookEndpoint.findFirstOrThrow({ where: { id } })
    expect(stored).toMatchObject({ url: body.url, fullDocuments: false })
  })

  test.each(['a key', 'no key'])(
    'the token: a revoked token with %s withdraws nothing',
    async kind => {
      const options = { accountId: merchant.id, mode: 'test', name: 'Loja' } as const
      const permissions = ['withdrawals:write' as const]
      const actor = { type: 'user', id: owner.id } as const
      const { id, token } = await issueToken({ ...options, permissions }, actor)
      const headers = {
        authorization: `Bearer ${token}`,
        ...(kind === 'a key' && { 'idempotency-key': newId() }),
      }
      const finish = await begin('POST', '/withdrawals', headers, order())
      await change('POST', `/tokens/${id}/revoke`, {})
      expect(await finish()).toBe(401)
      expect(await countWithdrawals()).toBe(0)
    },
  )

  test('the role without the session: the permission is refused', async () => {
    const finance = await addMember('finance')
    const finish = await begin('POST', '/withdrawals', finance.headers, order())
    const where = { accountId: merchant.id, userId: finance.id }
    await db().membership.updateMany({ where, data: { role: 'viewer' } })
    expect(await finish()).toBe(403)
    expect(await countWithdrawals()).toBe(0)
  })

  test('the office: a former admin changes no limit', async () => {
    const secret = await signInAdmin()
    const id = (await readSession(secret))?.id ?? ''
    const limits = { withdrawal_max: 5_000 }
    const path = `/admin/accounts/${merchant.id}/limits`
    const before = await db().account.findUniqueOrThrow({ where: { id: merchant.id } })
    const finish = await begin('PUT', path, personHeaders(secret), limits)
    await db().user.update({ where: { id }, data: { isAdmin: false } })
    expect(await finish()).toBe(404)
    expect(await db().account.findUniqueOrThrow({ where: { id: merchant.id } })).toEqual(before)
  })
})

test('a caller who keeps the access may send the body slowly', async () => {
  const finance = await addMember('finance')
  const finish = await begin('POST', '/withdrawals', finance.headers, order())
  expect(await finish()).toBe(200)
  expect(await countWithdrawals()).toBe(1)
})
