import { Client } from 'pg'
import { beforeEach, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { receivePayments } from '#lib/charges/receive.ts'
import { readChargeTimeline, readWithdrawalTimeline } from '#lib/dashboard/timeline.ts'
import { ownerUrlOf } from '#lib/testing/database.ts'
import {
  expectBalancedLedger,
  fundMerchant,
  inOwnDatabase,
  makeMerchant,
  openCharge,
} from '#lib/testing/fixtures.ts'
import { makePayment } from '#lib/testing/payments.ts'
import { untilLocked } from '#lib/testing/waiting.ts'
import { createWithdrawal } from '#lib/withdrawals/create.ts'
import { rejectWithdrawal } from '#lib/withdrawals/outcome.ts'

inOwnDatabase()

const AMOUNT = 3_000

let merchant: Account
beforeEach(async () => {
  merchant = await makeMerchant()
})

/** Reads while `change` commits: the read waits for the attempts of deliveries, which `change` does not touch. */
async function readDuring<Read>(read: () => Promise<Read>, change: () => Promise<unknown>) {
  const locker = new Client({ connectionString: ownerUrlOf() })
  await locker.connect()
  await locker.query('BEGIN; LOCK TABLE delivery_attempts IN ACCESS EXCLUSIVE MODE')
  const reading = read()
  await untilLocked(1)
  await change()
  await locker.query('COMMIT')
  await locker.end()
  return reading
}

test('a charge that is paid while its page is read is shown with what its payment changed', async () => {
  const { id } = await openCharge(merchant, AMOUNT)
  const { charge, steps, refundable } = await readDuring(
    () => readChargeTimeline(merchant.id, 'test', id),
    () =>
      receivePayments([{ accountId: merchant.id, chargeId: id, payments: [makePayment(AMOUNT)] }]),
  )
  const isPaid = charge.status === 'paid'
  expect(charge.status).toMatch(/^(pending|paid)$/)
  expect(steps.some(({ what }) => what === 'paid')).toBe(isPaid)
  expect(steps.some(({ what }) => what === 'entry')).toBe(isPaid)
  expect(refundable > 0).toBe(isPaid)
  await expectBalancedLedger(merchant.id)
})

test('a withdrawal that is rejected while its page is read is shown with what that changed', async () => {
  await fundMerchant(merchant, AMOUNT)
  const order = { pixKeyType: 'email', pixKey: 'a@b.co', dictKey: 'a@b.co' } as const
  const created = await createWithdrawal(merchant.id, 'test', {
    ...order,
    amount: AMOUNT,
    externalId: 'payout-1',
  })
  const { withdrawal, steps } = await readDuring(
    () => readWithdrawalTimeline(merchant.id, 'test', created.id, null),
    () =>
      rejectWithdrawal({
        accountId: merchant.id,
        withdrawalId: created.id,
        reason: { code: 'unspecified', params: {} },
      }),
  )
  expect(withdrawal.status).toMatch(/^(pending|rejected)$/)
  expect(steps.some(({ what }) => what === 'returned')).toBe(withdrawal.status === 'rejected')
  await expectBalancedLedger(merchant.id)
})
