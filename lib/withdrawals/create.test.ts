import { describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { isUuid } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { readBalances } from '#lib/testing/balances.ts'
import { StubBank } from '#lib/testing/bank.ts'
import { connectBank } from '#lib/testing/connection.ts'
import { expectBalancedLedger, fundMerchant, makeMerchant } from '#lib/testing/fixtures.ts'
import { orderOf } from '#lib/testing/orders.ts'
import { createWithdrawal } from '#lib/withdrawals/create.ts'

const KEY = {
  pixKeyType: 'cpf',
  pixKey: '529.982.247-25',
  dictKey: '52998224725',
} as const

async function makeMerchantWith(available: number): Promise<Account> {
  const merchant = await makeMerchant()
  await fundMerchant(merchant, available)
  return merchant
}

function countOf(merchant: Account) {
  return db().withdrawal.count({ where: { accountId: merchant.id } })
}

async function createConcurrently(merchant: Account, times: number, amount: number) {
  const outcomes = await Promise.allSettled(
    Array.from({ length: times }, () => createWithdrawal(merchant.id, 'test', { amount, ...KEY })),
  )
  const refusals = outcomes.flatMap(outcome =>
    outcome.status === 'rejected' ? [outcome.reason.code] : [],
  )
  return { won: times - refusals.length, refusals: new Set(refusals) }
}

test('a withdrawal holds its amount, which cannot be spent a second time', async () => {
  const merchant = await makeMerchantWith(10_000)
  const row = await createWithdrawal(merchant.id, 'test', { amount: 4_000, ...KEY })
  expect(row).toEqual({
    id: expect.toSatisfy(isUuid),
    external_id: null,
    mode: 'test',
    status: 'pending',
    amount: 4_000,
    pix_key_type: 'cpf',
    pix_key: '529.982.247-25',
    webhook_url: null,
    rejection_reason: null,
    rejection_code: null,
    awaiting: 'balance_window',
    end_to_end_id: null,
    approved_at: null,
    rejected_at: null,
    returned_amount: 0,
    owner_doc: null,
    memo: null,
    created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/),
    updated_at: expect.stringMatching(/\.\d{6}Z$/),
  })
  const stored = await db().withdrawal.findFirstOrThrow({ where: { accountId: merchant.id } })
  expect(stored).toMatchObject({ id: row.id, dictKey: '52998224725' })
  expect(await orderOf(row.id)).toMatchObject({
    kind: 'withdrawal',
    operation: 'payout',
    state: 'waiting',
    dueAt: expect.any(Date),
    amount: 4_000n,
    target: '52998224725',
    sentAt: null,
    lease: null,
    attempts: 0,
  })
  expect(await readBalances(merchant.id, 'test')).toEqual({ available: 6_000, outbound: 4_000 })
  await expectBalancedLedger(merchant.id)
})

test('without a connection to pay out through, nothing is written or held', async () => {
  const merchant = await makeMerchantWith(50_000)
  await expect(
    createWithdrawal(merchant.id, 'live', { amount: 1_000, ...KEY }),
  ).rejects.toMatchObject({
    code: 'withdrawals_disabled',
    message: 'Withdrawals are not enabled',
  })
  expect(await countOf(merchant)).toBe(0)
})

describe('a balance that is too small', () => {
  test('is refused with insufficient_balance, and nothing is written or held', async () => {
    const merchant = await makeMerchantWith(4_999)
    await expect(
      createWithdrawal(merchant.id, 'test', { amount: 5_000, ...KEY }),
    ).rejects.toMatchObject({
      code: 'insufficient_balance',
      fields: { amount: ['Insufficient balance'] },
    })
    expect(await countOf(merchant)).toBe(0)
    expect(await readBalances(merchant.id, 'test')).toEqual({ available: 4_999, outbound: 0 })
    await expectBalancedLedger(merchant.id)
  })

  test('in live mode is not increased by money in test mode', async () => {
    const merchant = await makeMerchantWith(50_000)
    const connectionId = await connectBank(new StubBank(), merchant)
    await expect(
      createWithdrawal(merchant.id, 'live', { amount: 1_000, ...KEY, connectionId }),
    ).rejects.toMatchObject({ code: 'insufficient_balance' })
    expect(await countOf(merchant)).toBe(0)
    await expectBalancedLedger(merchant.id)
  })

  test('exactly the balance can be withdrawn, once', async () => {
    const merchant = await makeMerchantWith(5_000)
    expect(await createConcurrently(merchant, 5, 5_000)).toEqual({
      won: 1,
      refusals: new Set(['insufficient_balance']),
    })
    expect(await readBalances(merchant.id, 'test')).toEqual({ available: 0, outbound: 5_000 })
    await expectBalancedLedger(merchant.id)
  })
})

test('of 50 concurrent withdrawals over a balance for 20, 20 succeed', async () => {
  const merchant = await makeMerchantWith(20_999)
  expect(await createConcurrently(merchant, 50, 1_000)).toEqual({
    won: 20,
    refusals: new Set(['insufficient_balance']),
  })
  expect(await readBalances(merchant.id, 'test')).toEqual({ available: 999, outbound: 20_000 })
  expect(await countOf(merchant)).toBe(20)
  await expectBalancedLedger(merchant.id)
})

test('another refusal is not reported as insufficient_balance, and holds nothing', async () => {
  const merchant = await makeMerchantWith(10_000)
  const tooSmall = createWithdrawal(merchant.id, 'test', { amount: 999, ...KEY })
  await expect(tooSmall).rejects.not.toMatchObject({ code: 'insufficient_balance' })
  expect(await countOf(merchant)).toBe(0)
  expect(await readBalances(merchant.id, 'test')).toEqual({ available: 10_000, outbound: 0 })
  await expectBalancedLedger(merchant.id)
})

test('money received during withdrawals is neither lost nor spent before it arrives', async () => {
  const merchant = await makeMerchantWith(5_000)
  const [, { won }] = await Promise.all([
    Promise.all(Array.from({ length: 15 }, () => fundMerchant(merchant, 1_000))),
    createConcurrently(merchant, 30, 1_000),
  ])
  expect(won).toBeGreaterThanOrEqual(5)
  expect(won).toBeLessThanOrEqual(20)
  expect(await readBalances(merchant.id, 'test')).toEqual({
    available: 20_000 - won * 1_000,
    outbound: won * 1_000,
  })
  await expectBalancedLedger(merchant.id)
})
