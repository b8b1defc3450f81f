import { expect, test } from 'vitest'
import { decidePayout, newEndToEndId, simulator } from '#lib/banks/simulator.ts'
import { newId, removeHyphens } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { REFUSAL } from '#lib/testing/bank.ts'
import { withClient } from '#lib/testing/due-deliveries.ts'
import {
  expectBalancedLedger,
  fundMerchant,
  inOwnDatabase,
  makeMerchant,
} from '#lib/testing/fixtures.ts'
import { untilLocked } from '#lib/testing/waiting.ts'
import { createWithdrawal } from '#lib/withdrawals/create.ts'
import { approveWithdrawal, rejectWithdrawal } from '#lib/withdrawals/outcome.ts'
import { simulateWithdrawal } from '#lib/withdrawals/simulate.ts'

inOwnDatabase()

const KEY = { pixKeyType: 'email', pixKey: 'a@b.co', dictKey: 'a@b.co' } as const

async function openWithdrawal() {
  const merchant = await makeMerchant()
  await fundMerchant(merchant, 3_000)
  const { id } = await createWithdrawal(merchant.id, 'test', { amount: 3_000, ...KEY })
  return { accountId: merchant.id, withdrawalId: id }
}

test.each(['approved', 'rejected'] as const)(
  '%s: succeeds even if the worker settles the withdrawal before the request does',
  async outcome => {
    const settlement = await openWithdrawal()
    const { accountId, withdrawalId } = settlement
    const [settledByWorker, response] = await withClient(async client => {
      await client.query('BEGIN')
      await client.query('SELECT FROM withdrawals WHERE id = $1 FOR UPDATE', [withdrawalId])
      const worker =
        outcome === 'approved'
          ? approveWithdrawal({ ...settlement, endToEndId: newEndToEndId() })
          : rejectWithdrawal({ ...settlement, reason: REFUSAL })
      await untilLocked(1)
      const request = simulateWithdrawal(accountId, withdrawalId, { outcome })
      await untilLocked(2)
      await client.query('COMMIT')
      return Promise.all([worker, request])
    })
    expect(settledByWorker).toMatchObject({ status: outcome })
    expect(response).toEqual(settledByWorker)
    await expectBalancedLedger(accountId)
  },
)

/** Approves a withdrawal that a process had decided about before it died. */
async function decideAfterCrash(isResumed: boolean) {
  const { accountId, withdrawalId } = await openWithdrawal()
  await decidePayout(removeHyphens(withdrawalId), 3_000, 'approved')
  const decide = () =>
    simulateWithdrawal(accountId, withdrawalId, { outcome: 'approved' }, isResumed)
  return { accountId, decide }
}

test('after another decision, the same outcome is refused', async () => {
  const { accountId, decide } = await decideAfterCrash(false)
  const refusal = { code: 'already_final', message: 'Withdrawal is already approved' }
  for (let attempt = 0; attempt < 2; attempt++)
    await expect(decide()).rejects.toMatchObject(refusal)
  await expectBalancedLedger(accountId)
})

test('a resumed request succeeds, also if repeated', async () => {
  const { accountId, decide } = await decideAfterCrash(true)
  const approved = await decide()
  expect(approved).toMatchObject({ status: 'approved' })
  expect(await decide()).toEqual(approved)
  await expectBalancedLedger(accountId)
})

test('the worker waits for a decision that is being stored', async () => {
  const order = { id: newId(), amount: 3_000, ownerDoc: null, dictKey: 'ana@example.com' }
  await simulator.sendPayout(order)
  const state = await withClient(async client => {
    await client.query('BEGIN')
    await client.query(
      `UPDATE simulator_orders SET state = 'refused', settles_at = now() WHERE id = $1`,
      [order.id],
    )
    const read = simulator.getPayout(order)
    await untilLocked(1)
    await client.query('COMMIT')
    return read
  })
  expect(state).toMatchObject({ value: { state: 'refused' } })
})

test('the reason of a decision replaces that of the simulator', async () => {
  const { accountId, withdrawalId } = await openWithdrawal()
  const order = { id: removeHyphens(withdrawalId), amount: 3_000, ownerDoc: null }
  await simulator.sendPayout({ ...order, dictKey: 'reject@example.com' })
  await db().$executeRaw`
    UPDATE simulator_orders SET settles_at = now() + interval '1 hour' WHERE id = ${order.id}`
  const decision = { outcome: 'rejected', reason: 'Key not found' } as const
  expect(await simulateWithdrawal(accountId, withdrawalId, decision)).toMatchObject({
    rejection_reason: 'Key not found',
  })
  await expectBalancedLedger(accountId)
})
