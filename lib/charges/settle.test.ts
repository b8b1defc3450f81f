import { describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { closeCharge } from '#lib/charges/close.ts'
import { createCharge } from '#lib/charges/create.ts'
import { findCharge, serializeChargeEvent } from '#lib/charges/list.ts'
import { type Payment, receivePayment, settleCharges } from '#lib/charges/receive.ts'
import { newId } from '#lib/core/ids.ts'
import { db, disconnect, pool } from '#lib/db/client.ts'
import { readBalances } from '#lib/testing/balances.ts'
import { REFUSAL } from '#lib/testing/bank.ts'
import { withClient } from '#lib/testing/due-deliveries.ts'
import {
  CHARGE,
  expectBalancedLedger,
  fundMerchant,
  inOwnDatabase,
  makeMerchant,
  openCharge,
  runAsOwner,
} from '#lib/testing/fixtures.ts'
import { untilLocked } from '#lib/testing/waiting.ts'
import { createWithdrawal } from '#lib/withdrawals/create.ts'
import { approveWithdrawal, rejectWithdrawal } from '#lib/withdrawals/outcome.ts'

const KEY = { pixKeyType: 'email', pixKey: 'a@b.co', dictKey: 'a@b.co' } as const

// A database of its own: deadlocks are counted, and other tests cause some on purpose.
inOwnDatabase()

function paymentOf(merchant: Account, chargeId: string, changes: Partial<Payment> = {}): Payment {
  const endToEndId = `E${newId().replaceAll('-', '').slice(0, 31)}`
  const terms = { endToEndId, amount: 1_000, paidAt: new Date() }
  return { accountId: merchant.id, chargeId, ...terms, ...changes }
}

/** Reports one payment of a charge, as a bank does. */
function pay({ accountId, chargeId, ...payment }: Payment) {
  return receivePayment({ accountId, chargeId, payments: [{ ...payment, txid: null }] })
}

function eventsOf(merchant: Account) {
  return db().event.findMany({
    where: { accountId: merchant.id, mode: 'test' },
    orderBy: { sequence: 'asc' },
  })
}

async function expectGapless(merchant: Account, count: number): Promise<void> {
  const events = await eventsOf(merchant)
  expect(events.map(event => Number(event.sequence))).toEqual(
    Array.from({ length: count }, (_, index) => index + 1),
  )
  const sequence = await db().eventSequence.findUniqueOrThrow({
    where: { accountId_mode: { accountId: merchant.id, mode: 'test' } },
  })
  expect(Number(sequence.last)).toBe(count)
}

test('a payment credits the amount and stores its time and end-to-end id', async () => {
  const merchant = await makeMerchant()
  const { id } = await openCharge(merchant, 2_500)
  const paidAt = new Date('2026-11-20T12:34:56.789Z')
  const payment = paymentOf(merchant, id, { amount: 2_500, paidAt })
  const [row] = await settleCharges([payment])
  expect(row).toMatchObject({
    id,
    status: 'paid',
    paid_at: '2026-11-20T12:34:56.789000Z',
    end_to_end_id: payment.endToEndId,
  })
  expect(await findCharge(merchant.id, 'test', id)).toEqual(row)
  expect(await readBalances(merchant.id, 'test')).toEqual({ available: 2_500, outbound: 0 })
  await expectBalancedLedger(merchant.id)
})

test('a payment stores who paid, and its event and all later ones name the payer', async () => {
  const merchant = await makeMerchant()
  const { id } = await openCharge(merchant, 2_500)
  const payer = { name: 'Rita "Lima"', maskedDoc: '***.982.247-**', bank: null }
  const [row] = await settleCharges([paymentOf(merchant, id, { amount: 2_500, payer })])
  const named = { name: payer.name, document: payer.maskedDoc, bank: null }
  expect(row?.payer).toEqual(named)
  const [event] = await eventsOf(merchant)
  expect(serializeChargeEvent(event?.resource, true).transaction.payer).toEqual(named)
  await expectBalancedLedger(merchant.id)
})

test('a payment reported 20 times concurrently is credited once, with one event', async () => {
  const merchant = await makeMerchant()
  const { id } = await openCharge(merchant, 2_500)
  const payment = paymentOf(merchant, id, { amount: 2_500 })
  const outcomes = await Promise.all(Array.from({ length: 20 }, () => settleCharges([payment])))
  expect(outcomes.flat()).toHaveLength(1)
  expect(await settleCharges([paymentOf(merchant, id, { amount: 2_500 })])).toEqual([])
  expect(await readBalances(merchant.id, 'test')).toEqual({ available: 2_500, outbound: 0 })
  expect((await findCharge(merchant.id, 'test', id))?.end_to_end_id).toBe(payment.endToEndId)
  await expectGapless(merchant, 1)
  await expectBalancedLedger(merchant.id)
})

test('a charge that occurs twice in a batch is credited once', async () => {
  const merchant = await makeMerchant()
  const { id } = await openCharge(merchant, 2_500)
  const [first, second] = [1, 2].map(() => paymentOf(merchant, id, { amount: 2_500 }))
  const rows = await settleCharges([first, second] as Payment[])
  expect(rows[0]?.end_to_end_id).toBe(first?.endToEndId)
  const claims = await db().bookedPayment.findMany({ where: { subjectId: id } })
  expect(claims.map(({ endToEndId }) => endToEndId)).toEqual([first?.endToEndId])
  expect(rows).toHaveLength(1)
  expect(await readBalances(merchant.id, 'test')).toEqual({ available: 2_500, outbound: 0 })
  await expectGapless(merchant, 1)
  await expectBalancedLedger(merchant.id)
})

test('one batch settles charges of several merchants, each in its own ledger', async () => {
  const merchants = await Promise.all(Array.from({ length: 4 }, () => makeMerchant()))
  const payments: Payment[] = []
  for (const [index, merchant] of merchants.entries()) {
    for (let opened = 0; opened <= index; opened++) {
      const amount = 1_000 + index
      const { id } = await openCharge(merchant, amount)
      payments.push(paymentOf(merchant, id, { amount }))
    }
  }
  const missing = { ...paymentOf(merchants[0] as Account, newId()) }
  const rows = await settleCharges([...payments, missing])
  expect(rows).toHaveLength(10)
  for (const [index, merchant] of merchants.entries()) {
    const available = (1_000 + index) * (index + 1)
    expect(await readBalances(merchant.id, 'test')).toEqual({ available, outbound: 0 })
    await expectGapless(merchant, index + 1)
    await expectBalancedLedger(merchant.id)
  }
})

test("a charge is not settled under another merchant's account", async () => {
  const [merchant, otherMerchant] = await Promise.all([makeMerchant(), makeMerchant()])
  const { id } = await openCharge(merchant)
  const { amount } = CHARGE
  expect(await settleCharges([paymentOf(otherMerchant, id, { amount })])).toEqual([])
  expect(await findCharge(merchant.id, 'test', id)).toMatchObject({ status: 'pending' })
  await expectBalancedLedger(merchant.id)
  await expectBalancedLedger(otherMerchant.id)
})

test.each(['expired', 'failed'] as const)(
  'a charge that has %s is still settled when the bank reports a payment',
  async outcome => {
    const merchant = await makeMerchant()
    const { id } = await openCharge(merchant, 700)
    await closeCharge(merchant.id, id, outcome)
    const payment = paymentOf(merchant, id, { amount: 700 })
    expect(await settleCharges([payment])).toMatchObject([{ status: 'paid' }])
    expect(await readBalances(merchant.id, 'test')).toEqual({ available: 700, outbound: 0 })
    const types = (await eventsOf(merchant)).map(event => event.type)
    expect(types).toEqual([`transaction.${outcome}`, 'transaction.paid'])
    await expectBalancedLedger(merchant.id)
  },
)

test('a charge still being opened cannot be paid', async () => {
  const merchant = await makeMerchant()
  const { id } = await openCharge(merchant)
  const data = { status: 'opening', accountId: merchant.id, id: newId(), txid: newId() }
  const { clientName, clientEmail, clientDoc, ...known } = await db().charge.findFirstOrThrow({
    where: { accountId: merchant.id, id },
    select: {
      mode: true,
      amount: true,
      clientName: true,
      clientEmail: true,
      clientDoc: true,
      expiresAt: true,
    },
  })
  const client = { clientName, clientEmail, clientDoc }
  await db().charge.create({ data: { ...known, ...client, ...data, externalId: data.txid } })
  const payment = paymentOf(merchant, data.id, { amount: Number(known.amount) })
  expect(await settleCharges([payment])).toEqual([])
  expect(await findCharge(merchant.id, 'test', data.id)).toBeNull()
  await expectBalancedLedger(merchant.id)
})

test('a payment that the database refuses leaves its whole batch unpaid', async () => {
  const merchant = await makeMerchant()
  const charges = [1, 2, 3].map(() => openCharge(merchant, 1_000))
  const [earlier, first, second] = await Promise.all(charges)
  const earlierPayment = paymentOf(merchant, earlier?.id ?? '')
  await settleCharges([earlierPayment])
  const { endToEndId } = earlierPayment
  // Without its claim, the unique id of the charge refuses it.
  await runAsOwner(`DELETE FROM booked_payments WHERE end_to_end_id = '${endToEndId}'`)
  const payment = paymentOf(merchant, first?.id ?? '')
  const sameEndToEndId = paymentOf(merchant, second?.id ?? '', { endToEndId })
  await expect(settleCharges([payment, sameEndToEndId])).rejects.toThrow()
  expect((await readBalances(merchant.id, 'test')).available).toBe(1_000)
  await expectGapless(merchant, 1)
  await settleCharges([payment])
  await expectGapless(merchant, 2)
  await expectBalancedLedger(merchant.id)
})

describe('the event', () => {
  test('contains the charge in its state after the payment', async () => {
    const merchant = await makeMerchant()
    const { id } = await createCharge(
      merchant,
      'test',
      { ...CHARGE, metadata: { order: 1 }, items: [{ name: 'Pão' }] },
      '203.0.113.9',
    )
    const { amount: paidAmount } = CHARGE
    const [row] = await settleCharges([paymentOf(merchant, id, { amount: paidAmount })])
    const [event] = await eventsOf(merchant)
    expect(event).toMatchObject({ type: 'transaction.paid', subjectId: id, sequence: 1n })
    const { amount, refunded_amount, ...rest } = row ?? {}
    expect(event?.resource).toEqual({
      ...rest,
      amount: Number(amount),
      refunded_amount: Number(refunded_amount),
    })
    await expectBalancedLedger(merchant.id)
  })

  test('has no gap in its numbers when some of 50 concurrent payments are booked already', async () => {
    const merchant = await makeMerchant()
    const charges = await Promise.all(Array.from({ length: 50 }, () => openCharge(merchant, 1_000)))
    const usedPayment = paymentOf(merchant, (await openCharge(merchant, 1_000)).id)
    await settleCharges([usedPayment])
    const outcomes = await Promise.allSettled(
      charges.map(({ id }, index) => {
        const changes = index % 5 === 0 ? { endToEndId: usedPayment.endToEndId } : {}
        return settleCharges([paymentOf(merchant, id, changes)])
      }),
    )
    const rows = outcomes.flatMap(outcome => (outcome.status === 'fulfilled' ? outcome.value : []))
    expect(rows).toHaveLength(40)
    await expectGapless(merchant, 41)
    expect((await readBalances(merchant.id, 'test')).available).toBe(41_000)
    const subjects = (await eventsOf(merchant)).map(event => event.subjectId)
    expect(new Set(subjects).size).toBe(41)
    await expectBalancedLedger(merchant.id)
  })
})

/**
 * Counts the deadlocks of this database. PostgreSQL resolves one only after deadlock_timeout (1 s);
 * the code then retries.
 */
async function countDeadlocks(): Promise<bigint | undefined> {
  await db().$queryRaw`SELECT pg_stat_force_next_flush()::text`
  const [row] = await db().$queryRaw<{ deadlocks: bigint }[]>`
    SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`
  return row?.deadlocks
}

test('concurrent payments and withdrawals of one account never deadlock', async () => {
  const merchant = await makeMerchant()
  await fundMerchant(merchant, 200_000)
  const charges = await Promise.all(Array.from({ length: 60 }, () => openCharge(merchant, 1_000)))
  const withdrawals = await Promise.all(
    charges.map(() => createWithdrawal(merchant.id, 'test', { amount: 1_000, ...KEY })),
  )
  const deadlocksBefore = await countDeadlocks()
  const outcomes = await Promise.allSettled(
    charges.flatMap(({ id }, index) => {
      const settlement = { accountId: merchant.id, withdrawalId: withdrawals[index]?.id ?? '' }
      return [
        settleCharges([paymentOf(merchant, id)]),
        index % 2
          ? approveWithdrawal({ ...settlement, endToEndId: `E${newId()}` })
          : rejectWithdrawal({ ...settlement, reason: REFUSAL }),
      ]
    }),
  )
  expect(outcomes.filter(outcome => outcome.status === 'rejected')).toEqual([])
  expect(await countDeadlocks()).toBe(deadlocksBefore)
  expect(await readBalances(merchant.id, 'test')).toEqual({ available: 230_000, outbound: 0 })
  await expectGapless(merchant, 121)
  await expectBalancedLedger(merchant.id)
}, 30_000)

test('a batch pays a charge that another statement changes while the batch waits for it', async () => {
  const merchant = await makeMerchant()
  const charges = [await openCharge(merchant, 1_000), await openCharge(merchant, 1_000)]
  const rows = await withClient(async client => {
    await client.query('BEGIN')
    const change = 'UPDATE charges SET updated_at = now() WHERE account_id = $1 AND id = $2'
    await client.query(change, [merchant.id, charges[0]?.id])
    const settled = settleCharges(charges.map(({ id }) => paymentOf(merchant, id)))
    await untilLocked(1)
    await client.query('COMMIT')
    return settled
  })
  expect(rows).toHaveLength(2)
  expect((await readBalances(merchant.id, 'test')).available).toBe(2_000)
})

test('concurrent batches over several merchants in opposite orders all succeed', async () => {
  const merchants = await Promise.all(Array.from({ length: 5 }, () => makeMerchant()))
  const batches = await Promise.all(
    Array.from({ length: 24 }, async (_, index) => {
      const charges = await Promise.all(merchants.map(merchant => openCharge(merchant, 1_000)))
      const payments = charges.map(({ id }, position) =>
        paymentOf(merchants[position] as Account, id),
      )
      return index % 2 ? payments : payments.toReversed()
    }),
  )
  const deadlocksBefore = await countDeadlocks()
  const outcomes = await Promise.allSettled(batches.map(batch => settleCharges(batch)))
  expect(outcomes.filter(outcome => outcome.status === 'rejected')).toEqual([])
  expect(await countDeadlocks()).toBe(deadlocksBefore)
  for (const merchant of merchants) {
    expect((await readBalances(merchant.id, 'test')).available).toBe(24_000)
    await expectGapless(merchant, 24)
    await expectBalancedLedger(merchant.id)
  }
}, 30_000)

describe('concurrent payments to one account', () => {
  test('are settled together, and each caller gets its own row', async () => {
    const merchant = await makeMerchant()
    const charges = await Promise.all(Array.from({ length: 40 }, () => openCharge(merchant, 1_000)))
    const transactions = async () => {
      const [row] = await db().$queryRaw<{ many: bigint }[]>`
        SELECT count(DISTINCT xmin::text) AS many FROM charges
        WHERE account_id = ${merchant.id}::uuid AND status = 'paid'`
      return Number(row?.many)
    }
    const rows = await Promise.all(charges.map(({ id }) => pay(paymentOf(merchant, id))))
    expect(rows.map(row => row?.id)).toEqual(charges.map(({ id }) => id))
    // The first one alone, then two statements at a time.
    expect(await transactions()).toBeLessThanOrEqual(4)
    expect((await readBalances(merchant.id, 'test')).available).toBe(40_000)
    await expectGapless(merchant, 40)
    await expectBalancedLedger(merchant.id)
  })

  test('for the same charge credit it once; the other caller gets null', async () => {
    const merchant = await makeMerchant()
    const [first, second] = [await openCharge(merchant, 1_000), await openCharge(merchant, 1_000)]
    const rows = await Promise.all([
      pay(paymentOf(merchant, first.id)),
      pay(paymentOf(merchant, second.id)),
      pay(paymentOf(merchant, second.id)),
      pay(paymentOf(merchant, first.id)),
    ])
    expect(rows.map(row => row?.id ?? null)).toEqual([first.id, second.id, null, null])
    expect((await readBalances(merchant.id, 'test')).available).toBe(2_000)
    await expectGapless(merchant, 2)
    await expectBalancedLedger(merchant.id)
  })

  test('with a used end-to-end id credit nothing, and only for their own caller', async () => {
    const merchant = await makeMerchant()
    const charges = await Promise.all(Array.from({ length: 6 }, () => openCharge(merchant, 1_000)))
    const payments = charges.map(({ id }) => paymentOf(merchant, id))
    const [original, , , duplicate] = payments
    if (original && duplicate) duplicate.endToEndId = original.endToEndId
    const outcomes = await Promise.all(payments.map(pay))
    expect(outcomes.map(row => row?.id ?? null)).toEqual(
      payments.map(one => (one === duplicate ? null : one.chargeId)),
    )
    expect((await readBalances(merchant.id, 'test')).available).toBe(5_000)
    await expectGapless(merchant, 5)
    await expectBalancedLedger(merchant.id)
  })
})

test('a payment reported with a stale lease is not credited; the others of its batch are', async () => {
  const merchant = await makeMerchant()
  const [held, lost] = [await openCharge(merchant, 1_000), await openCharge(merchant, 1_000)]
  const lease = newId()
  await db().$executeRaw`UPDATE charges SET lease = ${lease}::uuid WHERE id = ${held.id}::uuid`
  const rows = await settleCharges([
    paymentOf(merchant, held.id, { lease }),
    paymentOf(merchant, lost.id, { lease }),
  ])
  expect(rows.map(row => row.id)).toEqual([held.id])
  expect((await readBalances(merchant.id, 'test')).available).toBe(1_000)
  await expectBalancedLedger(merchant.id)
})

test('the statement that settles or closes charges is planned once per session, for batches of any length', async () => {
  const merchant = await makeMerchant()
  const charges = await Promise.all(Array.from({ length: 20 }, () => openCharge(merchant, 1_000)))
  await disconnect()
  for (const { id } of charges.slice(0, 8)) await settleCharges([paymentOf(merchant, id)])
  for (const { id } of charges.slice(8, 16)) await closeCharge(merchant.id, id, 'expired')
  await settleCharges(charges.slice(16).map(({ id }) => paymentOf(merchant, id)))
  const { rows } = await pool().query(
    `SELECT split_part(split_part(statement, ' ', 2), ' ', 1) AS name, generic_plans > 0 AS "isPlannedOnce"
     FROM pg_prepared_statements WHERE statement ~ '^WITH (payments|closings)' ORDER BY name`,
  )
  expect(rows).toEqual([
    { name: 'closings', isPlannedOnce: true },
    { name: 'payments', isPlannedOnce: true },
  ])
})
