import { expect, test } from 'vitest'
import { closeCharge, closeCharges } from '#lib/charges/close.ts'
import { createCharge } from '#lib/charges/create.ts'
import { findCharge } from '#lib/charges/list.ts'
import { settleCharges } from '#lib/charges/receive.ts'
import { endOneAsReported } from '#lib/charges/simulate.ts'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { onWake, type Topic } from '#lib/db/wake.ts'
import { readBalances } from '#lib/testing/balances.ts'
import { CHARGE, expectBalancedLedger, makeMerchant, openCharge } from '#lib/testing/fixtures.ts'
import { paidState } from '#lib/testing/payments.ts'

const endToEndId = () => `E${newId().replaceAll('-', '').slice(0, 31)}`

test.each(['expired', 'failed'] as const)(
  'closing a charge as %s moves no money and records one event with the new state',
  async outcome => {
    const merchant = await makeMerchant()
    const webhook_url = 'https://shop.example.com/hook'
    const { id } = await createCharge(merchant, 'test', { ...CHARGE, webhook_url }, null)
    const row = await closeCharge(merchant.id, id, outcome)
    expect(row).toMatchObject({ id, status: outcome, paid_at: null })
    expect(await findCharge(merchant.id, 'test', id)).toEqual(row)
    const event = await db().event.findFirstOrThrow({ where: { accountId: merchant.id } })
    expect(event).toMatchObject({ type: `transaction.${outcome}`, subjectId: id, sequence: 1n })
    expect(event.resource).toMatchObject({ id, status: outcome, amount: CHARGE.amount })
    const deliveries = await db().delivery.findMany({ where: { accountId: merchant.id } })
    expect(deliveries).toMatchObject([{ eventId: event.id, url: webhook_url, status: 'pending' }])
    expect(await readBalances(merchant.id, 'test')).toEqual({ available: 0, outbound: 0 })
    await expectBalancedLedger(merchant.id)
  },
)

test('of 20 concurrent closings as expired or failed, one wins and records one event', async () => {
  const merchant = await makeMerchant()
  const { id } = await openCharge(merchant)
  const outcomes = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      closeCharge(merchant.id, id, index % 2 ? 'expired' : 'failed'),
    ),
  )
  const [won, ...others] = outcomes.filter(outcome => outcome !== null)
  expect(others).toEqual([])
  expect((await findCharge(merchant.id, 'test', id))?.status).toBe(won?.status)
  expect(await db().event.count({ where: { accountId: merchant.id } })).toBe(1)
  await expectBalancedLedger(merchant.id)
})

test('a paid charge cannot be closed', async () => {
  const merchant = await makeMerchant()
  const { id } = await openCharge(merchant, 900)
  const payment = { accountId: merchant.id, chargeId: id, amount: 900, paidAt: new Date() }
  await settleCharges([{ ...payment, endToEndId: endToEndId() }])
  expect(await closeCharge(merchant.id, id, 'expired')).toBeNull()
  expect(await findCharge(merchant.id, 'test', id)).toMatchObject({ status: 'paid' })
  expect(await db().event.count({ where: { accountId: merchant.id } })).toBe(1)
  await expectBalancedLedger(merchant.id)
})

test("a charge cannot be closed under another merchant's account", async () => {
  const [merchant, otherMerchant] = await Promise.all([makeMerchant(), makeMerchant()])
  const { id } = await openCharge(merchant)
  expect(await closeCharge(otherMerchant.id, id, 'failed')).toBeNull()
  expect(await findCharge(merchant.id, 'test', id)).toMatchObject({ status: 'pending' })
  await expectBalancedLedger(merchant.id)
})

test('a payment concurrent with an expiry always wins, and each change records one event', async () => {
  const merchant = await makeMerchant()
  const charges = await Promise.all(Array.from({ length: 30 }, () => openCharge(merchant, 1_000)))
  const closings: Promise<unknown>[] = []
  await Promise.all(
    charges.map(({ id }) => {
      closings.push(closeCharge(merchant.id, id, 'expired'))
      const payment = { accountId: merchant.id, chargeId: id, amount: 1_000, paidAt: new Date() }
      return settleCharges([{ ...payment, endToEndId: endToEndId() }])
    }),
  )
  const closed = (await Promise.all(closings)).filter(row => row !== null)
  expect((await readBalances(merchant.id, 'test')).available).toBe(30_000)
  const events = await db().event.groupBy({
    by: ['type'],
    where: { accountId: merchant.id },
    _count: true,
  })
  const eventCounts = Object.fromEntries(events.map(event => [event.type, event._count]))
  expect(eventCounts['transaction.paid']).toBe(30)
  expect(eventCounts['transaction.expired'] ?? 0).toBe(closed.length)
  await expectBalancedLedger(merchant.id)
})

test("one call closes charges of many merchants, with an event in each merchant's sequence", async () => {
  const merchants = await Promise.all(Array.from({ length: 3 }, () => makeMerchant()))
  const closings = await Promise.all(
    merchants.flatMap(merchant =>
      Array.from({ length: 4 }, async () => {
        const { id } = await openCharge(merchant)
        return { accountId: merchant.id, chargeId: id }
      }),
    ),
  )
  const missing = { accountId: merchants[0]?.id ?? '', chargeId: newId() }
  const rows = await closeCharges([...closings, missing], 'expired')
  expect(new Set(rows.map(row => row.id))).toEqual(
    new Set(closings.map(closing => closing.chargeId)),
  )
  expect(await closeCharges(closings, 'failed')).toEqual([])
  for (const { id: accountId } of merchants) {
    const events = await db().event.findMany({
      where: { accountId },
      orderBy: { sequence: 'asc' },
    })
    expect(events.map(event => [event.type, Number(event.sequence)])).toEqual(
      [1, 2, 3, 4].map(sequence => ['transaction.expired', sequence]),
    )
    await expectBalancedLedger(accountId)
  }
})

test('without a result from the bank only expired charges are closed', async () => {
  const merchant = await makeMerchant()
  const [early, late] = [await openCharge(merchant), await openCharge(merchant)]
  await db().$executeRaw`UPDATE charges SET expires_at = now() WHERE id = ${late.id}::uuid`
  const closings = [early, late].map(({ id }) => ({
    accountId: merchant.id,
    chargeId: id,
    ifTimeUp: true,
  }))
  expect(await closeCharges(closings, 'expired')).toMatchObject([{ id: late.id }])
  expect(await findCharge(merchant.id, 'test', early.id)).toMatchObject({ status: 'pending' })
  await expectBalancedLedger(merchant.id)
})

test('100 concurrent notices of a payment, some late or of another account, credit it once', async () => {
  const [merchant, otherMerchant] = await Promise.all([makeMerchant(), makeMerchant()])
  const { id } = await openCharge(merchant, 2_000)
  const paid = paidState(2_000)
  const notices = Array.from({ length: 100 }, (_, index) => [
    endOneAsReported(merchant.id, id, paid),
    ...(index % 10 === 3 ? [endOneAsReported(otherMerchant.id, id, paid)] : []),
    ...(index % 10 === 7 ? [endOneAsReported(merchant.id, id, { state: 'expired' })] : []),
    ...(index % 10 === 9 ? [endOneAsReported(merchant.id, id, { state: 'open' })] : []),
  ])
  const rows = (await Promise.all(notices.flat())).filter(row => row?.status === 'paid')
  expect(rows).toHaveLength(1)
  expect(await endOneAsReported(merchant.id, id, paid)).toBeNull()
  expect(await readBalances(merchant.id, 'test')).toEqual({ available: 2_000, outbound: 0 })
  expect(await readBalances(otherMerchant.id, 'test')).toEqual({ available: 0, outbound: 0 })
  const where = { accountId: merchant.id, type: 'transaction.paid' }
  expect(await db().event.count({ where })).toBe(1)
  expect(await db().event.count({ where: { accountId: otherMerchant.id } })).toBe(0)
  await expectBalancedLedger(merchant.id)
  await expectBalancedLedger(otherMerchant.id)
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

test('a recorded event wakes the delivery worker once; a call without effect does not', async () => {
  const merchant = await makeMerchant()
  const [first, second] = [await openCharge(merchant), await openCharge(merchant)]
  const paid = paidState(1_500)
  const pay = () => endOneAsReported(merchant.id, first.id, paid)
  const close = () => closeCharge(merchant.id, second.id, 'failed')
  const woken = []
  for (const work of [pay, pay, close, close]) woken.push(await countWakes('deliveries', work))
  expect(woken).toEqual([1, 0, 1, 0])
})
