import { expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { onWake, type Topic } from '#lib/db/wake.ts'
import { readBalances } from '#lib/testing/balances.ts'
import { REFUSAL } from '#lib/testing/bank.ts'
import { expectBalancedLedger, fundMerchant, makeMerchant } from '#lib/testing/fixtures.ts'
import { createWithdrawal } from '#lib/withdrawals/create.ts'
import { approveWithdrawal, rejectWithdrawal } from '#lib/withdrawals/outcome.ts'

const KEY = { pixKeyType: 'email', pixKey: 'a@b.co', dictKey: 'a@b.co' } as const

async function openWithdrawal(amount = 3_000) {
  const merchant = await makeMerchant()
  await fundMerchant(merchant, 10_000)
  const { id } = await createWithdrawal(merchant.id, 'test', { amount, ...KEY })
  return { merchant, settlement: { accountId: merchant.id, withdrawalId: id } }
}

const endToEndId = () => `E${newId().replaceAll('-', '').slice(0, 31)}`

function eventsOf(merchant: Account) {
  return db().event.findMany({
    where: { accountId: merchant.id, type: { startsWith: 'withdrawal.' } },
    orderBy: { sequence: 'asc' },
  })
}

test('an approved withdrawal debits the held amount, and the event contains the final row', async () => {
  const { merchant, settlement } = await openWithdrawal()
  const paymentId = endToEndId()
  const row = await approveWithdrawal({ ...settlement, endToEndId: paymentId })
  expect(row).toMatchObject({
    id: settlement.withdrawalId,
    status: 'approved',
    end_to_end_id: paymentId,
    approved_at: expect.stringMatching(/Z$/),
    rejected_at: null,
    rejection_reason: null,
  })
  expect(await readBalances(merchant.id, 'test')).toEqual({ available: 7_000, outbound: 0 })
  const [event, ...others] = await eventsOf(merchant)
  expect(others).toEqual([])
  expect(event).toMatchObject({ type: 'withdrawal.approved', sequence: 2n })
  expect(event?.resource).toEqual({ ...row, amount: 3_000 })
  const order = await db().bankOrder.findFirstOrThrow({ where: { accountId: merchant.id } })
  expect(order).toMatchObject({ state: 'done', dueAt: null, lease: null })
  await expectBalancedLedger(merchant.id)
})

test('a rejected withdrawal returns the held amount, and the event contains the reason', async () => {
  const { merchant, settlement } = await openWithdrawal()
  const row = await rejectWithdrawal({
    ...settlement,
    reason: { code: 'key_refused', params: {}, bankText: 'chave_invalida' },
  })
  expect(row).toMatchObject({
    status: 'rejected',
    rejection_reason: 'The receiving bank refused the key',
    rejected_at: expect.stringMatching(/Z$/),
    approved_at: null,
    end_to_end_id: null,
  })
  expect(await readBalances(merchant.id, 'test')).toEqual({ available: 10_000, outbound: 0 })
  const events = await eventsOf(merchant)
  expect(events).toMatchObject([{ type: 'withdrawal.rejected', sequence: 2n }])
  expect(events[0]?.resource).toEqual({ ...row, amount: 3_000 })
  await expectBalancedLedger(merchant.id)
})

test('20 concurrent approvals move the money once', async () => {
  const { merchant, settlement } = await openWithdrawal()
  const paymentId = endToEndId()
  const outcomes = await Promise.all(
    Array.from({ length: 20 }, () => approveWithdrawal({ ...settlement, endToEndId: paymentId })),
  )
  expect(outcomes.filter(row => row !== null)).toHaveLength(1)
  expect(await readBalances(merchant.id, 'test')).toEqual({ available: 7_000, outbound: 0 })
  expect(await eventsOf(merchant)).toHaveLength(1)
  await expectBalancedLedger(merchant.id)
})

test('20 concurrent rejections return the money once', async () => {
  const { merchant, settlement } = await openWithdrawal()
  const outcomes = await Promise.all(
    Array.from({ length: 20 }, () => rejectWithdrawal({ ...settlement, reason: REFUSAL })),
  )
  expect(outcomes.filter(row => row !== null)).toHaveLength(1)
  expect(await readBalances(merchant.id, 'test')).toEqual({ available: 10_000, outbound: 0 })
  expect(await eventsOf(merchant)).toHaveLength(1)
  await expectBalancedLedger(merchant.id)
})

test('of concurrent approvals and rejections one wins, in row, ledger and event', async () => {
  const { merchant, settlement } = await openWithdrawal()
  const outcomes = await Promise.all(
    Array.from({ length: 10 }, (_, index) =>
      index % 2
        ? approveWithdrawal({ ...settlement, endToEndId: endToEndId() })
        : rejectWithdrawal({ ...settlement, reason: REFUSAL }),
    ),
  )
  const [won, ...others] = outcomes.filter(row => row !== null)
  expect(others).toEqual([])
  const available = won?.status === 'approved' ? 7_000 : 10_000
  expect(await readBalances(merchant.id, 'test')).toEqual({ available, outbound: 0 })
  expect(await eventsOf(merchant)).toMatchObject([{ type: `withdrawal.${won?.status}` }])
  await expectBalancedLedger(merchant.id)
})

test('a final state does not change: a later result returns null and moves nothing', async () => {
  const approved = await openWithdrawal()
  await approveWithdrawal({ ...approved.settlement, endToEndId: endToEndId() })
  expect(await rejectWithdrawal({ ...approved.settlement, reason: REFUSAL })).toBeNull()
  expect(await readBalances(approved.merchant.id, 'test')).toEqual({
    available: 7_000,
    outbound: 0,
  })
  const rejected = await openWithdrawal()
  await rejectWithdrawal({ ...rejected.settlement, reason: REFUSAL })
  expect(await approveWithdrawal({ ...rejected.settlement, endToEndId: endToEndId() })).toBeNull()
  expect(await readBalances(rejected.merchant.id, 'test')).toEqual({
    available: 10_000,
    outbound: 0,
  })
  for (const { merchant } of [approved, rejected]) {
    expect(await eventsOf(merchant)).toHaveLength(1)
    await expectBalancedLedger(merchant.id)
  }
})

test('an unknown withdrawal, or one of another merchant, is not settled', async () => {
  const { merchant, settlement } = await openWithdrawal()
  const otherMerchant = await makeMerchant()
  const foreign = { ...settlement, accountId: otherMerchant.id }
  expect(await approveWithdrawal({ ...foreign, endToEndId: endToEndId() })).toBeNull()
  expect(await rejectWithdrawal({ ...foreign, reason: REFUSAL })).toBeNull()
  const missing = { ...settlement, withdrawalId: newId() }
  expect(await rejectWithdrawal({ ...missing, reason: REFUSAL })).toBeNull()
  expect(await readBalances(merchant.id, 'test')).toEqual({ available: 7_000, outbound: 3_000 })
  await expectBalancedLedger(merchant.id)
  await expectBalancedLedger(otherMerchant.id)
})

test('an end-to-end id belongs to one withdrawal; a second one is refused without any write', async () => {
  const [first, second] = [await openWithdrawal(), await openWithdrawal()]
  const paymentId = endToEndId()
  await approveWithdrawal({ ...first.settlement, endToEndId: paymentId })
  await expect(approveWithdrawal({ ...second.settlement, endToEndId: paymentId })).rejects.toThrow()
  expect(await readBalances(second.merchant.id, 'test')).toEqual({
    available: 7_000,
    outbound: 3_000,
  })
  expect(await eventsOf(second.merchant)).toEqual([])
  await expectBalancedLedger(first.merchant.id)
  await expectBalancedLedger(second.merchant.id)
})

async function countWakes(topic: Topic, work: () => Promise<unknown>): Promise<number> {
  let count = 0
  const unsubscribe = onWake(topic, () => {
    count++
  })
  await work()
  unsubscribe()
  return count
}

test('creating a withdrawal wakes its worker; settling it wakes the delivery worker once', async () => {
  let opened: Awaited<ReturnType<typeof openWithdrawal>> | undefined
  const open = async () => {
    opened = await openWithdrawal()
  }
  expect(await countWakes('orders', open)).toBe(1)
  const reject = () => rejectWithdrawal({ ...opened!.settlement, reason: REFUSAL })
  expect(await countWakes('deliveries', reject)).toBe(1)
  expect(await countWakes('deliveries', reject)).toBe(0)
})

test('a stale lease settles nothing', async () => {
  const { merchant, settlement } = await openWithdrawal()
  const lease = newId()
  const stale = { ...settlement, lease: newId() }
  await db().bankOrder.updateMany({ where: { accountId: merchant.id }, data: { lease } })
  expect(await rejectWithdrawal({ ...stale, reason: REFUSAL })).toBeNull()
  expect(await approveWithdrawal({ ...stale, endToEndId: endToEndId() })).toBeNull()
  expect(await readBalances(merchant.id, 'test')).toEqual({ available: 7_000, outbound: 3_000 })
  const approved = { ...settlement, lease, endToEndId: endToEndId() }
  expect(await approveWithdrawal(approved)).toMatchObject({ status: 'approved' })
  await expectBalancedLedger(merchant.id)
})
