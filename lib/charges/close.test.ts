import { expect, test } from 'vitest'
import { CHARGE, expectBalancedBooks, makeMerchant, openCharge } from '#e2e/stage.ts'
import { closeCharge } from '#lib/charges/close.ts'
import { createCharge } from '#lib/charges/create.ts'
import { findCharge } from '#lib/charges/queries.ts'
import { settleCharges } from '#lib/charges/settle.ts'
import { db } from '#lib/db/client.ts'
import { newId } from '#lib/ids.ts'
import { readBalances } from '#lib/ledger/accounts.ts'

const endToEndId = () => `E${newId().replaceAll('-', '').slice(0, 31)}`

test.each(['expired', 'failed'] as const)(
  'a charge that %s moves no money and is told of with the row as it stands',
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
    await expectBalancedBooks(merchant.id)
  },
)

test('20 at once, in two minds: one outcome and one event', async () => {
  const merchant = await makeMerchant()
  const { id } = await openCharge(merchant)
  const outcomes = await Promise.all(
    Array.from({ length: 20 }, (_, nth) =>
      closeCharge(merchant.id, id, nth % 2 ? 'expired' : 'failed'),
    ),
  )
  const [won, ...more] = outcomes.filter(outcome => outcome !== null)
  expect(more).toEqual([])
  expect((await findCharge(merchant.id, 'test', id))?.status).toBe(won?.status)
  expect(await db().event.count({ where: { accountId: merchant.id } })).toBe(1)
  await expectBalancedBooks(merchant.id)
})

test('a paid charge is never closed', async () => {
  const merchant = await makeMerchant()
  const { id } = await openCharge(merchant, 900)
  const payment = { accountId: merchant.id, chargeId: id, paidAt: new Date() }
  await settleCharges([{ ...payment, endToEndId: endToEndId() }])
  expect(await closeCharge(merchant.id, id, 'expired')).toBeNull()
  expect(await findCharge(merchant.id, 'test', id)).toMatchObject({ status: 'paid' })
  expect(await db().event.count({ where: { accountId: merchant.id } })).toBe(1)
  await expectBalancedBooks(merchant.id)
})

test("another merchant's charge is not closed", async () => {
  const [merchant, other] = await Promise.all([makeMerchant(), makeMerchant()])
  const { id } = await openCharge(merchant)
  expect(await closeCharge(other.id, id, 'failed')).toBeNull()
  expect(await findCharge(merchant.id, 'test', id)).toMatchObject({ status: 'pending' })
  await expectBalancedBooks(merchant.id)
})

test('a payment that races with the end always wins, and every step is told of once', async () => {
  const merchant = await makeMerchant()
  const charges = await Promise.all(Array.from({ length: 30 }, () => openCharge(merchant, 1_000)))
  const closings: Promise<unknown>[] = []
  await Promise.all(
    charges.map(({ id }) => {
      closings.push(closeCharge(merchant.id, id, 'expired'))
      const payment = { accountId: merchant.id, chargeId: id, paidAt: new Date() }
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
  const counted = Object.fromEntries(events.map(event => [event.type, event._count]))
  expect(counted['transaction.paid']).toBe(30)
  expect(counted['transaction.expired'] ?? 0).toBe(closed.length)
  await expectBalancedBooks(merchant.id)
})
