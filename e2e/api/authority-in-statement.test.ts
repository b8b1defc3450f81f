import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { db, type Tx } from '#lib/base/db/client.ts'
import { newId } from '#lib/base/ids.ts'
import { readSession } from '#lib/edge/session/read.ts'
import type { Account, Role } from '#lib/rooms/accounts/schema.ts'
import { simulateCharge } from '#lib/rooms/charges/simulate.ts'
import { call } from '#lib/testing/call.ts'
import {
  type Api,
  fundMerchant,
  makeMerchant,
  openCharge,
  startApi,
} from '#lib/testing/fixtures.ts'
import { pageHeaders, signIn } from '#lib/testing/member.ts'

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
  change: (tx: Tx, where: { accountId: string; userId: string }) => Promise<unknown>,
  role: Role,
  [method, path, body]: [method: string, path: string, body: object],
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

const setRole = (role: Role) => (tx: Tx, where: { accountId: string; userId: string }) =>
  tx.membership.updateMany({ where, data: { role } })
const remove = (tx: Tx, where: { accountId: string; userId: string }) =>
  tx.membership.deleteMany({ where })

const countWithdrawals = () => db().withdrawal.count({ where: { accountId: merchant.id } })
const withdrawal = (): [string, string, object] => [
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
})
