import { describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { createCharge } from '#lib/charges/create.ts'
import { findCharge } from '#lib/charges/list.ts'
import { createRefund } from '#lib/charges/refunds/refund.ts'
import type { ChargeOutcome } from '#lib/charges/schema.ts'
import { simulateCharge } from '#lib/charges/simulate.ts'
import { isUuid, newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import type { IdempotentRequest } from '#lib/db/idempotency.ts'
import { readBalances } from '#lib/testing/balances.ts'
import {
  CHARGE,
  expectBalancedLedger,
  fundMerchant,
  makeMerchant,
  openCharge,
} from '#lib/testing/fixtures.ts'
import { orderOf } from '#lib/testing/orders.ts'
import { createWithdrawal } from '#lib/withdrawals/create.ts'

const KEY = { pixKeyType: 'email', pixKey: 'a@b.co', dictKey: 'a@b.co' } as const

async function makePaidMerchant(amount: number): Promise<{ merchant: Account; chargeId: string }> {
  const merchant = await makeMerchant()
  const { id } = await openCharge(merchant, amount)
  await simulateCharge(merchant.id, id, 'paid')
  return { merchant, chargeId: id }
}

const refund = (merchant: Account, chargeId: string, amount?: number) =>
  createRefund(merchant.id, 'test', chargeId, { amount })

function readRefundTotals(merchant: Account, id: string) {
  return db().charge.findUniqueOrThrow({
    where: { accountId_id: { accountId: merchant.id, id } },
    select: { refundedAmount: true, refundHeldAmount: true },
  })
}

const refundsOf = (merchant: Account) => db().refund.count({ where: { accountId: merchant.id } })

async function rowsOf(merchant: Account): Promise<unknown> {
  const where = { accountId: merchant.id }
  return Promise.all([
    db().charge.findMany({ where, orderBy: { id: 'asc' } }),
    db().refund.findMany({ where }),
    db().ledgerAccount.findMany({ where, orderBy: [{ mode: 'asc' }, { ledger: 'asc' }] }),
    db().ledgerEntry.count({ where }),
    db().ledgerTransfer.count({ where }),
    db().event.count({ where }),
    db().idempotencyKey.count({ where }),
  ])
}

function makeIdempotentRequest(merchant: Account, key = newId()): IdempotentRequest {
  return {
    accountId: merchant.id,
    mode: 'test',
    path: '/api/transactions/x/refunds',
    key,
    requestHash: new Uint8Array(32),
    retentionS: 3_600,
    id: newId(),
    isResumed: false,
    lockedBy: null,
  }
}

async function runConcurrently(times: number, work: (index: number) => Promise<unknown>) {
  const outcomes = await Promise.allSettled(
    Array.from({ length: times }, (_, index) => work(index)),
  )
  const refusals = outcomes.flatMap(outcome =>
    outcome.status === 'rejected' ? [outcome.reason.code] : [],
  )
  return { won: times - refusals.length, refusals: new Set(refusals) }
}

test('a refund holds its amount in the balance and in the charge', async () => {
  const { merchant, chargeId } = await makePaidMerchant(10_000)
  const row = await createRefund(merchant.id, 'test', chargeId, { amount: 4_000, reason: 'Late' })
  expect(row).toEqual({
    id: expect.toSatisfy(isUuid),
    transaction_id: chargeId,
    amount: 4_000,
    status: 'pending',
    reason: 'Late',
    created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/),
    mode: 'test',
    rejection_reason: null,
    rejection_code: null,
    return_id: null,
    completed_at: null,
    rejected_at: null,
    updated_at: expect.stringMatching(/\.\d{6}Z$/),
  })
  const stored = await db().refund.findFirstOrThrow({ where: { accountId: merchant.id } })
  expect(stored).toMatchObject({ id: row.id, chargeId })
  expect(await orderOf(row.id)).toMatchObject({
    kind: 'refund',
    operation: 'refund',
    state: 'waiting',
    dueAt: expect.any(Date),
    sentAt: null,
    lease: null,
    attempts: 0,
  })
  expect(await readRefundTotals(merchant, chargeId)).toEqual({
    refundedAmount: 0n,
    refundHeldAmount: 4_000n,
  })
  expect(await readBalances(merchant.id, 'test')).toEqual({ available: 6_000, outbound: 4_000 })
  await expectBalancedLedger(merchant.id)
})

test('without an amount the rest of the charge is refunded', async () => {
  const { merchant, chargeId } = await makePaidMerchant(1_000)
  expect(await refund(merchant, chargeId, 1)).toMatchObject({ amount: 1, reason: null })
  expect(await refund(merchant, chargeId)).toMatchObject({ amount: 999 })
  expect(await readBalances(merchant.id, 'test')).toEqual({ available: 0, outbound: 1_000 })
  await expectBalancedLedger(merchant.id)
})

test('a charge is found by id or reference; a text in UUID format is always an id', async () => {
  const merchant = await makeMerchant()
  const request = { ...CHARGE, amount: 1_000, external_id: 'order 7/ç' }
  const { id } = await createCharge(merchant, 'test', request, null)
  await simulateCharge(merchant.id, id, 'paid')
  const references = [id, id.toUpperCase(), 'order 7/ç']
  for (const reference of references) {
    expect(await refund(merchant, reference, 100)).toMatchObject({ transaction_id: id })
  }
  // The default reference is the id without hyphens.
  const bare = await openCharge(merchant, 1_000)
  await simulateCharge(merchant.id, bare.id, 'paid')
  const row = await refund(merchant, bare.id.replaceAll('-', ''), 100)
  expect(row.transaction_id).toBe(bare.id)
  await expectBalancedLedger(merchant.id)
})

describe('refused without any write:', () => {
  async function expectRefused(
    merchant: Account,
    chargeId: string,
    amount: number | undefined,
    refusal: object,
    mode: 'test' | 'live' = 'test',
  ): Promise<void> {
    const before = await rowsOf(merchant)
    for (const once of [undefined, makeIdempotentRequest(merchant)]) {
      const work = createRefund(merchant.id, mode, chargeId, { amount }, once)
      await expect(work).rejects.toMatchObject(refusal)
    }
    expect(await rowsOf(merchant)).toEqual(before)
    await expectBalancedLedger(merchant.id)
  }
  const UNKNOWN = { code: 'transaction_not_found', message: 'Transaction not found' }
  const NOT_PAID = { code: 'not_paid', message: 'Transaction is not paid' }

  test('a charge that is unknown, of another account or mode, or still opening', async () => {
    const { merchant, chargeId } = await makePaidMerchant(1_000)
    const other = await makePaidMerchant(1_000)
    for (const reference of [newId(), 'nobody', '', other.chargeId, '%']) {
      await expectRefused(merchant, reference, 100, UNKNOWN)
    }
    await expectRefused(merchant, chargeId, 100, UNKNOWN, 'live')
    const opening = await openCharge(merchant)
    await db().$executeRaw`DELETE FROM charges WHERE id = ${opening.id}::uuid`
    await db().$executeRaw`
      INSERT INTO charges (account_id, id, mode, status, amount, external_id, txid, client_name,
        client_email, client_doc, expires_at)
      VALUES (${merchant.id}::uuid, ${opening.id}::uuid, 'test', 'opening', 1000, 'opening',
        ${opening.id}, '-', '-', '-', now())`
    await expectRefused(merchant, opening.id, 100, UNKNOWN)
    await expectBalancedLedger(other.merchant.id)
  })

  test.each<ChargeOutcome | 'pending'>(['pending', 'expired', 'failed'])(
    'a charge that is %s',
    async status => {
      const merchant = await makeMerchant()
      await fundMerchant(merchant, 10_000)
      const { id } = await openCharge(merchant, 1_000)
      if (status !== 'pending') await simulateCharge(merchant.id, id, status)
      await expectRefused(merchant, id, 100, NOT_PAID)
      await expectRefused(merchant, id, undefined, NOT_PAID)
    },
  )

  test('a charge paid more than 90 days ago; on day 90 a refund still succeeds', async () => {
    const { merchant, chargeId } = await makePaidMerchant(1_000)
    const paidAgo = (age: string) => db().$executeRaw`
      UPDATE charges SET paid_at = now() - ${age}::interval WHERE id = ${chargeId}::uuid`
    await paidAgo('90 days 1 second')
    await expectRefused(merchant, chargeId, 100, {
      code: 'refund_window_closed',
      message: 'Transaction was paid more than 90 days ago and can no longer be refunded',
    })
    await paidAgo('89 days 23:59:50')
    expect(await refund(merchant, chargeId, 100)).toMatchObject({ status: 'pending' })
    await expectBalancedLedger(merchant.id)
  })

  test("an amount above the rest of the charge, whatever the merchant's balance", async () => {
    const { merchant, chargeId } = await makePaidMerchant(1_000)
    await fundMerchant(merchant, 100_000)
    const atMost = (left: number) => ({
      code: 'refund_exceeds_remainder',
      fields: { amount: [`amount must be at most ${left}, the amount left to refund`] },
    })
    await expectRefused(merchant, chargeId, 1_001, atMost(1_000))
    await refund(merchant, chargeId, 600)
    await expectRefused(merchant, chargeId, 401, atMost(400))
    await expectRefused(merchant, chargeId, 999_999_999_999, atMost(400))
    await refund(merchant, chargeId, 400)
    const nothingLeft = {
      code: 'refund_exceeds_remainder',
      fields: { amount: ['amount cannot be refunded: refunds already cover the whole charge'] },
    }
    await expectRefused(merchant, chargeId, 1, nothingLeft)
    await expectRefused(merchant, chargeId, undefined, nothingLeft)
  })

  test('an amount above the balance, even if the charge has it left', async () => {
    const { merchant, chargeId } = await makePaidMerchant(10_000)
    await createWithdrawal(merchant.id, 'test', { amount: 9_500, ...KEY })
    const insufficient = {
      code: 'insufficient_balance',
      fields: { amount: ['Insufficient balance'] },
    }
    await expectRefused(merchant, chargeId, 501, insufficient)
    await expectRefused(merchant, chargeId, undefined, insufficient)
    expect(await refund(merchant, chargeId, 500)).toMatchObject({ amount: 500 })
    await expectBalancedLedger(merchant.id)
  })
})

describe('concurrently', () => {
  test('of 20 refunds over a charge worth ten, ten succeed, whatever the balance', async () => {
    const { merchant, chargeId } = await makePaidMerchant(1_050)
    await fundMerchant(merchant, 50_000)
    const outcome = await runConcurrently(20, () => refund(merchant, chargeId, 100))
    expect(outcome).toEqual({ won: 10, refusals: new Set(['refund_exceeds_remainder']) })
    expect(await refundsOf(merchant)).toBe(10)
    expect((await readRefundTotals(merchant, chargeId)).refundHeldAmount).toBe(1_000n)
    expect(await readBalances(merchant.id, 'test')).toEqual({ available: 50_050, outbound: 1_000 })
    await expectBalancedLedger(merchant.id)
  })

  test('of 20 refunds of the whole charge, one succeeds', async () => {
    const { merchant, chargeId } = await makePaidMerchant(5_000)
    await fundMerchant(merchant, 5_000)
    const outcome = await runConcurrently(20, () => refund(merchant, chargeId))
    expect(outcome).toEqual({ won: 1, refusals: new Set(['refund_exceeds_remainder']) })
    expect(await readBalances(merchant.id, 'test')).toEqual({ available: 5_000, outbound: 5_000 })
    await expectBalancedLedger(merchant.id)
  })

  test('20 refunds of different amounts never exceed the paid amount', async () => {
    const { merchant, chargeId } = await makePaidMerchant(1_000)
    await fundMerchant(merchant, 10_000)
    await runConcurrently(20, index => refund(merchant, chargeId, 37 + index * 11))
    const held = Number((await readRefundTotals(merchant, chargeId)).refundHeldAmount)
    expect(held).toBeLessThanOrEqual(1_000)
    expect(held).toBeGreaterThan(1_000 - 37 - 19 * 11)
    const sum = await db().refund.aggregate({ where: { chargeId }, _sum: { amount: true } })
    expect(Number(sum._sum.amount)).toBe(held)
    await expectBalancedLedger(merchant.id)
  })

  test('refunds and withdrawals never spend the same money twice', async () => {
    const merchant = await makeMerchant()
    const charges = await Promise.all(
      Array.from({ length: 10 }, async () => {
        const { id } = await openCharge(merchant, 2_000)
        await simulateCharge(merchant.id, id, 'paid')
        return id
      }),
    )
    // Each kind alone could spend all 20,000 cents.
    const { won, refusals } = await runConcurrently(40, index =>
      index % 2
        ? createWithdrawal(merchant.id, 'test', { amount: 1_000, ...KEY })
        : refund(merchant, charges[(index / 2) % 10] ?? '', 1_000),
    )
    expect(won).toBe(20)
    expect(refusals).toEqual(new Set(['insufficient_balance']))
    expect(await readBalances(merchant.id, 'test')).toEqual({ available: 0, outbound: 20_000 })
    await expectBalancedLedger(merchant.id)
  })

  test('of a refund and a withdrawal of the whole balance, one succeeds', async () => {
    for (let round = 0; round < 10; round++) {
      const { merchant, chargeId } = await makePaidMerchant(5_000)
      const { won, refusals } = await runConcurrently(2, index =>
        index === round % 2
          ? refund(merchant, chargeId)
          : createWithdrawal(merchant.id, 'test', { amount: 5_000, ...KEY }),
      )
      expect({ won, refusals }).toEqual({ won: 1, refusals: new Set(['insufficient_balance']) })
      expect(await readBalances(merchant.id, 'test')).toEqual({ available: 0, outbound: 5_000 })
      await expectBalancedLedger(merchant.id)
    }
  })

  test('a charge being paid is refunded in full or refused as not paid yet', async () => {
    for (let round = 0; round < 10; round++) {
      const merchant = await makeMerchant()
      const { id } = await openCharge(merchant, 1_000)
      const [, outcome] = await Promise.all([
        simulateCharge(merchant.id, id, 'paid'),
        refund(merchant, id).catch(error => error.code),
      ])
      // After waiting for the payment, the refund may see the paid charge but the earlier balance.
      const refused = typeof outcome === 'string'
      if (refused) expect(['not_paid', 'insufficient_balance']).toContain(outcome)
      expect(await readBalances(merchant.id, 'test')).toEqual({
        available: refused ? 1_000 : 0,
        outbound: refused ? 0 : 1_000,
      })
      await expectBalancedLedger(merchant.id)
    }
  })

  test('ten requests with one idempotency key make one refund', async () => {
    const { merchant, chargeId } = await makePaidMerchant(10_000)
    const once = makeIdempotentRequest(merchant)
    const outcomes = await Promise.allSettled(
      Array.from({ length: 10 }, () =>
        createRefund(merchant.id, 'test', chargeId, { amount: 100 }, { ...once, id: newId() }),
      ),
    )
    expect(outcomes.filter(outcome => outcome.status === 'fulfilled')).toHaveLength(1)
    expect(await refundsOf(merchant)).toBe(1)
    const storedKey = await db().idempotencyKey.findFirstOrThrow({ where: { key: once.key } })
    const row = await db().refund.findFirstOrThrow({ where: { accountId: merchant.id } })
    expect(storedKey.resourceId).toBe(row.id)
    expect(await findCharge(merchant.id, 'test', chargeId)).toMatchObject({ refunded_amount: 0 })
    await expectBalancedLedger(merchant.id)
  })
})
