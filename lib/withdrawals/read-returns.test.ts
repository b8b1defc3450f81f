import { describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { newEndToEndId } from '#lib/banks/simulator.ts'
import { newId, removeHyphens } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { endAlone } from '#lib/orders/end.ts'
import { REFUSAL, StubBank } from '#lib/testing/bank.ts'
import { readReturns } from '#lib/testing/bank-lists.ts'
import { expectBalancedLedger, inOwnDatabase } from '#lib/testing/fixtures.ts'
import { makeSilentMerchant, withdrawInSilence } from '#lib/testing/silent-bank.ts'
import { approveWithdrawal, createReturnsReader, endAsReported } from '#lib/withdrawals/outcome.ts'
import type { WithdrawalRow } from '#lib/withdrawals/schema.ts'
import { ORDER_RULES } from '#lib/worker/worker.ts'

inOwnDatabase()

const AMOUNT = 4_000
const find = (id: string) => db().withdrawal.findFirstOrThrow({ where: { id } })
const newReturn = (amount = 1_000) => ({
  id: newEndToEndId().replace('E', 'D'),
  amount,
  returnedAt: new Date(),
})
const payoutOf = ({ id }: Pick<WithdrawalRow, 'id'>, changes: object = {}) => ({
  id: removeHyphens(id),
  endToEndId: newEndToEndId(),
  amount: AMOUNT,
  sentAt: new Date(),
  returns: [newReturn()],
  ...changes,
})

/** Makes a withdrawal that people ended as sent, without an end-to-end id. */
async function endAsSent(merchant: Account): Promise<WithdrawalRow> {
  const row = await withdrawInSilence(merchant, AMOUNT)
  const decision = { outcome: 'sent', reason: 'the bank, by phone' } as const
  await endAlone({ id: row.id, ...decision }, ORDER_RULES)
  return row
}

test('what comes back of a withdrawal that people ended as sent is credited once', async () => {
  const bank = new StubBank()
  const merchant = await makeSilentMerchant(bank)
  const [row, untouched] = [await endAsSent(merchant), await endAsSent(merchant)]
  bank.sentPayouts.push(payoutOf(row))
  for (let times = 0; times < 2; times++) await readReturns()
  expect(await find(row.id)).toMatchObject({ status: 'approved', returnedAmount: 1_000n })
  expect(await find(untouched.id)).toMatchObject({ returnedAmount: 0n })
  await expectBalancedLedger(merchant.id)
})

test('a payout of another amount, or that is not ours, returns nothing to such a withdrawal', async () => {
  const bank = new StubBank()
  const row = await endAsSent(await makeSilentMerchant(bank))
  bank.sentPayouts.push(payoutOf(row, { amount: AMOUNT - 1 }), payoutOf(row, { id: null }))
  await readReturns()
  expect(await find(row.id)).toMatchObject({ returnedAmount: 0n })
})

describe('a payout that failed after the bank had reported it as done', () => {
  async function approve() {
    const bank = new StubBank()
    const merchant = await makeSilentMerchant(bank)
    const { id: withdrawalId } = await withdrawInSilence(merchant, AMOUNT)
    const endToEndId = newEndToEndId()
    await approveWithdrawal({ accountId: merchant.id, withdrawalId, endToEndId })
    return { bank, merchant, id: withdrawalId, endToEndId }
  }
  const isRefused = { state: 'refused', ...REFUSAL } as const

  test('comes back whole and once, whether a list or a question shows it', async () => {
    const { bank, merchant, id, endToEndId } = await approve()
    bank.sentPayouts.push(payoutOf({ id }, { endToEndId, returns: [], isFailed: true }))
    for (let times = 0; times < 2; times++) {
      await readReturns()
      await endAsReported(merchant.id, id, isRefused)
    }
    expect(await find(id)).toMatchObject({ status: 'approved', returnedAmount: BigInt(AMOUNT) })
    expect(await db().payoutReturn.findMany({ where: { withdrawalId: id } })).toMatchObject([
      { returnId: endToEndId, amount: BigInt(AMOUNT) },
    ])
    await expectBalancedLedger(merchant.id)
  })

  test('comes back without what its receiver had returned', async () => {
    const { bank, merchant, id, endToEndId } = await approve()
    bank.sentPayouts.push(payoutOf({ id }, { endToEndId }))
    await readReturns()
    await endAsReported(merchant.id, id, isRefused)
    expect(await find(id)).toMatchObject({ returnedAmount: BigInt(AMOUNT) })
    const returns = await db().payoutReturn.findMany({ where: { withdrawalId: id } })
    expect(returns.map(({ amount }) => Number(amount)).sort()).toEqual([1_000, 3_000])
  })

  test('is not believed of a worker that has lost its lease', async () => {
    const { merchant, id } = await approve()
    await endAsReported(merchant.id, id, isRefused, newId())
    expect(await find(id)).toMatchObject({ returnedAmount: 0n })
  })

  test('of a withdrawal that was rejected returns nothing more', async () => {
    const bank = new StubBank()
    const merchant = await makeSilentMerchant(bank)
    const row = await withdrawInSilence(merchant, AMOUNT)
    await endAsReported(merchant.id, row.id, isRefused)
    bank.sentPayouts.push(payoutOf(row, { returns: [], isFailed: true }))
    await readReturns()
    await endAsReported(merchant.id, row.id, isRefused)
    expect(await find(row.id)).toMatchObject({ status: 'rejected', returnedAmount: 0n })
    await expectBalancedLedger(merchant.id)
  })
})

test('one payout that cannot be stored keeps no other return from being credited', async () => {
  const bank = new StubBank()
  const row = await endAsSent(await makeSilentMerchant(bank))
  bank.sentPayouts.push(payoutOf(row, { id: null, endToEndId: 'E\0' }), payoutOf(row))
  await readReturns()
  expect(await find(row.id)).toMatchObject({ returnedAmount: 1_000n })
})

test('returns of the last day are read every ten minutes, all others every six hours', async () => {
  const bank = new StubBank()
  const merchant = await makeSilentMerchant(bank)
  const [young, old] = [await endAsSent(merchant), await endAsSent(merchant)]
  const clock = { at: Date.now() }
  const reader = createReturnsReader(() => clock.at)
  const runAfter = async (minutes: number) => {
    clock.at += minutes * 60_000
    await reader.run()
    await reader.idle()
    const amounts = [await find(young.id), await find(old.id)].map(row => row.returnedAmount)
    return amounts.map(Number)
  }
  expect(await runAfter(0)).toEqual([0, 0])
  const sentAt = new Date(Date.now() - 2 * 86_400_000)
  bank.sentPayouts.push(payoutOf(young), payoutOf(old, { sentAt }))
  expect(await runAfter(9)).toEqual([0, 0])
  expect(await runAfter(1)).toEqual([1_000, 0])
  expect(await runAfter(350)).toEqual([1_000, 1_000])
})
