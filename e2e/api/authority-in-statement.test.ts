import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Account, Role } from '#lib/accounts/schema.ts'
import { simulateCharge } from '#lib/charges/simulate.ts'
import { newId } from '#lib/core/ids.ts'
import { db, type Tx } from '#lib/db/client.ts'
import { readSession } from '#lib/session/read.ts'
import { call } from '#lib/testing/call.ts'
import {
  type Api,
  fundMerchant,
  makeMerchant,
  openCharge,
  startApi,
} from '#lib/testing/fixtures.ts'
import { pageHeaders, signIn } from '#lib/testing/member.ts'
import { lockAccount } from '#lib/webhooks/owner.ts'

type Membership = { accountId: string; userId: string }
type Request = [method: string, path: string, body: object]

/** Longer than a request takes to reach the lock that the test holds. */
const REACHED_MS = 400

let api: Api
let merchant: Account
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.close())
beforeEach(async () => {
  merchant = await makeMerchant()
  await fundMerchant(merchant, 100_000)
})

async function addMember(role: Role) {
  const secret = await signIn(merchant, role)
  const userId = (await readSession(secret))?.id ?? ''
  return { userId, headers: pageHeaders(secret, merchant.id) }
}

/** Sends the request while a change of the member is not yet committed, and after the check passed. */
async function sendDuring(
  change: (tx: Tx, where: Membership) => Promise<unknown>,
  role: Role,
  [method, path, body]: Request,
): Promise<number> {
  const { userId, headers } = await addMember(role)
  const pending = await db().$transaction(async tx => {
    await change(tx, { accountId: merchant.id, userId })
    const sent = call(api.url, method, path, { headers, body })
    await sleep(REACHED_MS)
    return [sent]
  })
  return (await Promise.all(pending))[0]?.status ?? 0
}

const setRole = (role: Role) => (tx: Tx, where: Membership) =>
  tx.membership.updateMany({ where, data: { role } })
const remove = (tx: Tx, where: Membership) => tx.membership.deleteMany({ where })

const countWithdrawals = () => db().withdrawal.count({ where: { accountId: merchant.id } })
const withdrawal = (): Request => [
  'POST',
  '/withdrawals',
  { amount: 10_000, pix_key: `key-${newId()}@example.com` },
]

describe('a change of the member that commits after the check', () => {
  test('a removed member withdraws nothing', async () => {
    expect(await sendDuring(remove, 'finance', withdrawal())).toBe(401)
    expect(await countWithdrawals()).toBe(0)
  })

  test('a demoted member withdraws nothing', async () => {
    expect(await sendDuring(setRole('viewer'), 'finance', withdrawal())).toBe(403)
    expect(await countWithdrawals()).toBe(0)
  })

  test('a member whose new role suffices withdraws once', async () => {
    expect(await sendDuring(setRole('owner'), 'finance', withdrawal())).toBe(200)
    expect(await countWithdrawals()).toBe(1)
  })

  test('a demoted member refunds nothing', async () => {
    const { id } = await openCharge(merchant, 1_000)
    await simulateCharge(merchant.id, id, 'paid')
    const path = `/transactions/${id}/refunds`
    expect(await sendDuring(setRole('viewer'), 'finance', ['POST', path, {}])).toBe(403)
    expect(await db().refund.count({ where: { accountId: merchant.id } })).toBe(0)
  })

  test('a demoted member approves nothing', async () => {
    const owner = await addMember('owner')
    const [, path, body] = withdrawal()
    const made = await call(api.url, 'POST', path, { headers: owner.headers, body })
    const approval: Request = ['POST', `/dashboard/withdrawals/${made.body.data.id}/approve`, {}]
    expect(await sendDuring(setRole('viewer'), 'finance', approval)).toBe(403)
    const where = { accountId: merchant.id, approvalDueAt: { not: null } }
    expect(await db().withdrawal.count({ where })).toBe(1)
  })

  const ENDPOINTS = '/webhooks/endpoints'
  const endpoint = { url: 'https://example.com/x', event_types: ['transaction.paid'] }
  const documentsOf = async () =>
    (await db().webhookEndpoint.findMany({ where: { accountId: merchant.id } })).map(
      one => one.fullDocuments,
    )

  test.each([
    ['that asks for full documents is not created', true, 403, []],
    ['gets the documents of the new role', undefined, 200, [false]],
  ])('an endpoint of a demoted owner %s', async (_, full_documents, status, documents) => {
    const request: Request = ['POST', ENDPOINTS, { ...endpoint, full_documents }]
    expect(await sendDuring(setRole('developer'), 'owner', request)).toBe(status)
    expect(await documentsOf()).toEqual(documents)
  })

  test('a demoted owner gives an existing endpoint no full documents', async () => {
    const { headers } = await addMember('owner')
    const body = { ...endpoint, full_documents: false }
    const made = await call(api.url, 'POST', ENDPOINTS, { headers, body })
    const path = `${ENDPOINTS}/${made.body.data.id}`
    const request: Request = ['PATCH', path, { full_documents: true }]
    expect(await sendDuring(setRole('developer'), 'owner', request)).toBe(403)
    expect(await documentsOf()).toEqual([false])
  })

  test('a demoted member sees no document, and the audit log no access', async () => {
    const { id } = await openCharge(merchant)
    const request: Request = ['POST', `/dashboard/charges/${id}/document`, {}]
    expect(await sendDuring(setRole('viewer'), 'finance', request)).toBe(403)
    const where = { accountId: merchant.id, action: 'charge.document_revealed' }
    expect(await db().auditRecord.count({ where })).toBe(0)
  })
})

test('a demoted owner changes no setting', async () => {
  const settings = { name: 'Other', city: 'RECIFE', expires_in: 600, time_zone: 'America/Recife' }
  const lockAndDemote = async (tx: Tx, where: Membership) => {
    await tx.$queryRaw`SELECT FROM accounts WHERE id = ${merchant.id}::uuid FOR NO KEY UPDATE`
    return setRole('developer')(tx, where)
  }
  const request: Request = ['PATCH', '/dashboard/account', settings]
  expect(await sendDuring(lockAndDemote, 'owner', request)).toBe(403)
  const stored = await db().account.findUniqueOrThrow({ where: { id: merchant.id } })
  expect(stored.name).toBe(merchant.name)
})

test('a member gets no token of a concurrent request of another with the same Idempotency-Key', async () => {
  const body = { name: 'payouts', permissions: ['withdrawals:write'] }
  const [owner, developer] = [await addMember('owner'), await addMember('developer')]
  const key = newId()
  const issue = ({ headers }: { headers: Record<string, string> }) =>
    call(api.url, 'POST', '/tokens', { headers, body, key })
  const [issued, refused] = await db().$transaction(async tx => {
    await lockAccount(tx, merchant.id)
    const first = issue(owner)
    await sleep(REACHED_MS)
    const second = issue(developer)
    await sleep(REACHED_MS)
    return [first, second]
  })
  expect((await issued)?.body.data.token).toMatch(/^troco_test_/)
  const { status, text } = (await refused) ?? {}
  expect([status, text]).toEqual([422, expect.not.stringContaining('troco_test_')])
})
