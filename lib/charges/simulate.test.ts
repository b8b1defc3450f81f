import { describe, expect, test } from 'vitest'
import { closeCharge } from '#lib/charges/close.ts'
import { createCharge } from '#lib/charges/create.ts'
import { findCharge } from '#lib/charges/list.ts'
import { settleCharges } from '#lib/charges/receive.ts'
import { payWelcomeCharge, simulateCharge } from '#lib/charges/simulate.ts'
import { CHARGE_STATUSES } from '#lib/charges/states.ts'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { readBalances } from '#lib/testing/balances.ts'
import { withClient } from '#lib/testing/due-deliveries.ts'
import {
  CHARGE,
  expectBalancedLedger,
  inOwnDatabase,
  makeMerchant,
  openCharge,
} from '#lib/testing/fixtures.ts'
import { makePayment } from '#lib/testing/payments.ts'
import { untilLocked } from '#lib/testing/waiting.ts'

inOwnDatabase()

const OUTCOMES = ['paid', 'failed', 'expired'] as const

test.each(OUTCOMES)(
  'a pending charge becomes %s, and only a paid one moves money',
  async outcome => {
    const merchant = await makeMerchant()
    const { id } = await openCharge(merchant, 1_800)
    const row = await simulateCharge(merchant.id, id, outcome)
    expect(row.status).toBe(outcome)
    expect(await findCharge(merchant.id, 'test', id)).toEqual(row)
    const available = outcome === 'paid' ? 1_800 : 0
    expect(await readBalances(merchant.id, 'test')).toEqual({ available, outbound: 0 })
    if (outcome === 'paid') expect(row.end_to_end_id).toMatch(/^E\d{8}\d{12}[0-9A-Za-z]{11}$/)
    await expectBalancedLedger(merchant.id)
  },
)

/** Each final state with each outcome; only a late payment is accepted. */
const MOVES = CHARGE_STATUSES.filter(status => status !== 'pending').flatMap(from =>
  OUTCOMES.map(outcome => ({ from, outcome, may: from !== 'paid' && outcome === 'paid' })),
)

test.each(MOVES)(
  'a $from charge simulated as $outcome: accepted is $may',
  async ({ from, outcome, may }) => {
    const merchant = await makeMerchant()
    const { id } = await openCharge(merchant)
    await simulateCharge(merchant.id, id, from)
    const again = simulateCharge(merchant.id, id, outcome)
    if (may) expect(await again).toMatchObject({ status: outcome })
    else await expect(again).rejects.toMatchObject({ code: 'already_final' })
    expect(await findCharge(merchant.id, 'test', id)).toMatchObject({
      status: may ? outcome : from,
    })
    await expectBalancedLedger(merchant.id)
  },
)

test('a late payment has the time at which it arrives', async () => {
  const merchant = await makeMerchant()
  const { id } = await openCharge(merchant)
  await simulateCharge(merchant.id, id, 'failed')
  await db().$executeRaw`
    UPDATE simulator_orders SET settles_at = now() - interval '1 hour'
    WHERE id = ${id.replaceAll('-', '')}`
  const { paid_at } = await simulateCharge(merchant.id, id, 'paid')
  expect(Date.now() - Date.parse(paid_at ?? '')).toBeLessThan(60_000)
  await expectBalancedLedger(merchant.id)
})

test("a charge is also found by the merchant's reference", async () => {
  const merchant = await makeMerchant()
  await createCharge(merchant, 'test', { ...CHARGE, external_id: 'order 7' }, null)
  expect(await simulateCharge(merchant.id, 'order 7', 'paid')).toMatchObject({ status: 'paid' })
  await expectBalancedLedger(merchant.id)
})

describe('not found', () => {
  test("an unknown id, an unknown reference and another merchant's charge get the same error", async () => {
    const [merchant, other] = await Promise.all([makeMerchant(), makeMerchant()])
    const { id } = await createCharge(other, 'test', { ...CHARGE, external_id: 'order 8' }, null)
    for (const name of [newId(), 'no such order', id, 'order 8', id.replaceAll('-', '')]) {
      await expect(simulateCharge(merchant.id, name, 'paid')).rejects.toMatchObject({
        code: 'transaction_not_found',
        message: 'Transaction not found',
      })
    }
    expect(await findCharge(other.id, 'test', id)).toMatchObject({ status: 'pending' })
    await expectBalancedLedger(other.id)
  })
})

test('of 20 concurrent payments one succeeds, and the others are refused as already_final', async () => {
  const merchant = await makeMerchant()
  const { id } = await openCharge(merchant, 3_000)
  const outcomes = await Promise.allSettled(
    Array.from({ length: 20 }, () => simulateCharge(merchant.id, id, 'paid')),
  )
  const refusals = outcomes.flatMap(outcome =>
    outcome.status === 'rejected' ? [outcome.reason.code] : [],
  )
  expect(refusals).toEqual(Array(19).fill('already_final'))
  expect(await readBalances(merchant.id, 'test')).toEqual({ available: 3_000, outbound: 0 })
  await expectBalancedLedger(merchant.id)
})

test.each(OUTCOMES)(
  '%s: succeeds even if the worker ends the charge before the request does',
  async outcome => {
    const merchant = await makeMerchant()
    const { id } = await openCharge(merchant, 3_000)
    const [endedByWorker, response] = await withClient(async client => {
      await client.query('BEGIN')
      await client.query('SELECT FROM charges WHERE id = $1 FOR UPDATE', [id])
      const payment = { accountId: merchant.id, chargeId: id, ...makePayment(3_000) }
      const worker =
        outcome === 'paid'
          ? settleCharges([payment]).then(([row]) => row)
          : closeCharge(merchant.id, id, outcome)
      await untilLocked(1)
      const request = simulateCharge(merchant.id, id, outcome)
      await untilLocked(2)
      await client.query('COMMIT')
      return Promise.all([worker, request])
    })
    expect(endedByWorker).toMatchObject({ status: outcome })
    expect(response).toEqual(endedByWorker)
    await expectBalancedLedger(merchant.id)
  },
)

test('of concurrent outcomes, a payment that the simulator accepts is always credited', async () => {
  const merchant = await makeMerchant()
  const charges = await Promise.all(Array.from({ length: 15 }, () => openCharge(merchant, 1_000)))
  const outcomes = await Promise.all(
    charges.map(async ({ id }) => {
      const attempts = OUTCOMES.map(outcome => simulateCharge(merchant.id, id, outcome))
      const settled = await Promise.allSettled(attempts)
      const paid = settled.some(
        result => result.status === 'fulfilled' && result.value.status === 'paid',
      )
      const order = await db().simulatorOrder.findUniqueOrThrow({
        where: { id: id.replaceAll('-', '') },
      })
      return { id, paid, bankState: order.state }
    }),
  )
  const credited = outcomes.filter(({ paid }) => paid).length
  expect((await readBalances(merchant.id, 'test')).available).toBe(credited * 1_000)
  for (const { id, paid, bankState } of outcomes) {
    expect(bankState === 'paid').toBe(paid)
    expect((await findCharge(merchant.id, 'test', id))?.status === 'paid').toBe(paid)
  }
  await expectBalancedLedger(merchant.id)
})

test('a new account gets R$ 1.000,00 in test mode, once', async () => {
  const merchant = await makeMerchant()
  await payWelcomeCharge(merchant)
  await payWelcomeCharge(merchant)
  expect(await readBalances(merchant.id, 'test')).toEqual({ available: 100_000, outbound: 0 })
  expect(await readBalances(merchant.id, 'live')).toEqual({ available: 0, outbound: 0 })
  expect(await db().charge.count({ where: { accountId: merchant.id } })).toBe(1)
  await expectBalancedLedger(merchant.id)
})

test('after a crash between opening and paying, the next call pays the charge', async () => {
  const merchant = await makeMerchant()
  const request = {
    amount: 100_000,
    client_name: 'Troco',
    client_email: 'welcome@example.com',
    client_doc: '00000000000191',
    external_id: 'welcome',
  }
  await createCharge(merchant, 'test', request, null)
  await payWelcomeCharge(merchant)
  expect(await readBalances(merchant.id, 'test')).toEqual({ available: 100_000, outbound: 0 })
  await expectBalancedLedger(merchant.id)
})
