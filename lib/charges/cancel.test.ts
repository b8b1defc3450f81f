import { describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { decideCharge } from '#lib/banks/simulator.ts'
import { cancelCharge } from '#lib/charges/cancel.ts'
import { closeCharge, closeCharges } from '#lib/charges/close.ts'
import { createCharge } from '#lib/charges/create.ts'
import { findCharge, serializeCharge } from '#lib/charges/list.ts'
import { receivePayments } from '#lib/charges/receive.ts'
import { simulateCharge } from '#lib/charges/simulate.ts'
import { CHARGE_STATUSES } from '#lib/charges/states.ts'
import { newId, removeHyphens } from '#lib/core/ids.ts'
import { claim } from '#lib/db/claim.ts'
import { db, Prisma } from '#lib/db/client.ts'
import { readBalances } from '#lib/testing/balances.ts'
import { StubBank } from '#lib/testing/bank.ts'
import {
  connectBank,
  openLiveCharge,
  readRestsAlways,
  restConnection,
} from '#lib/testing/connection.ts'
import { Faults } from '#lib/testing/faults.ts'
import {
  CHARGE,
  expectBalancedLedger,
  inOwnDatabase,
  makeMerchant,
  openCharge,
} from '#lib/testing/fixtures.ts'
import { expireDueCharges } from '#lib/testing/orders.ts'
import { makePayment, paidState } from '#lib/testing/payments.ts'

inOwnDatabase()
const faults = new Faults(['events', 'audit_log'])

const AMOUNT = 1_000
const CANCELLED = { status: 'expired', cancelled_at: expect.any(String), paid_at: null }

const inTest = ({ id: accountId }: Account) => ({ accountId, mode: 'test' as const })
const inLive = ({ id: accountId }: Account) => ({ accountId, mode: 'live' as const })

async function eventTypesOf(chargeId: string): Promise<string[]> {
  const where = { subjectId: chargeId }
  const events = await db().event.findMany({ where, orderBy: { sequence: 'asc' } })
  return events.map(({ type }) => type)
}

async function openAtBank() {
  const [merchant, bank] = [await makeMerchant(), new StubBank()]
  const connectionId = await connectBank(bank, merchant)
  const { id } = await openLiveCharge(merchant, AMOUNT)
  const find = () => findCharge(merchant.id, 'live', id)
  const pay = (amount = AMOUNT) =>
    receivePayments([{ accountId: merchant.id, chargeId: id, payments: [makePayment(amount)] }])
  const cancel = (callsMaxMs?: number) => cancelCharge(inLive(merchant), id, callsMaxMs)
  return { merchant, bank, connectionId, id, txid: removeHyphens(id), find, pay, cancel }
}

/** Runs `work` after the bank has removed a charge and before its response is read. */
function whileRemoving(bank: StubBank, work: () => Promise<unknown>): void {
  const remove = bank.cancelCharge.bind(bank)
  bank.cancelCharge = async (txid, signal) => {
    const removal = await remove(txid, signal)
    await work()
    return removal
  }
}

describe('a pending charge of test mode', () => {
  test('ends as expired with its time and one event, and moves no money', async () => {
    const merchant = await makeMerchant()
    const webhook_url = 'https://shop.example.com/hook'
    const { id } = await createCharge(merchant, 'test', { ...CHARGE, webhook_url }, null)
    const before = serializeCharge((await findCharge(merchant.id, 'test', id)) ?? expect.fail())
    expect(before).not.toHaveProperty('cancelled_at')
    const row = await cancelCharge(inTest(merchant), id)
    expect(row).toMatchObject({ id, ...CANCELLED })
    expect(await findCharge(merchant.id, 'test', id)).toEqual(row)
    const { status, updated_at, ...same } = before
    const { cancelled_at } = row
    expect(serializeCharge(row)).toMatchObject({ ...same, status: 'expired', cancelled_at })
    const event = await db().event.findFirstOrThrow({ where: { subjectId: id } })
    expect(event).toMatchObject({ type: 'transaction.expired', resource: { cancelled_at } })
    const deliveries = await db().delivery.findMany({ where: { accountId: merchant.id } })
    expect(deliveries).toMatchObject([{ eventId: event.id, url: webhook_url, status: 'pending' }])
    expect(await readBalances(merchant.id, 'test')).toEqual({ available: 0, outbound: 0 })
    await expectBalancedLedger(merchant.id)
  })

  test('is found by its reference, but not in another account or mode', async () => {
    const [merchant, otherMerchant] = [await makeMerchant(), await makeMerchant()]
    const request = { ...CHARGE, external_id: `order-${newId()}` }
    const { id } = await createCharge(merchant, 'test', request, null)
    for (const stranger of [inTest(otherMerchant), inLive(merchant)])
      for (const name of [id, request.external_id])
        await expect(cancelCharge(stranger, name)).rejects.toMatchObject({
          code: 'transaction_not_found',
        })
    expect(await cancelCharge(inTest(merchant), request.external_id)).toMatchObject({ id })
  })

  test('that the simulator has decided as paid is credited', async () => {
    const merchant = await makeMerchant()
    const { id } = await openCharge(merchant, AMOUNT)
    await decideCharge(removeHyphens(id), AMOUNT, 'paid')
    await expect(cancelCharge(inTest(merchant), id)).rejects.toMatchObject({
      code: 'already_final',
    })
    expect(await eventTypesOf(id)).toEqual(['transaction.paid'])
    expect((await readBalances(merchant.id, 'test')).available).toBe(AMOUNT)
    await expectBalancedLedger(merchant.id)
  })

  test('is credited when it is paid after it was cancelled', async () => {
    const merchant = await makeMerchant()
    const { id } = await openCharge(merchant, AMOUNT)
    const { cancelled_at } = await cancelCharge(inTest(merchant), id)
    const paid = await simulateCharge(merchant.id, id, 'paid')
    expect(paid).toMatchObject({ status: 'paid', cancelled_at })
    await expect(cancelCharge(inTest(merchant), id)).rejects.toMatchObject({
      code: 'already_final',
    })
    await expectBalancedLedger(merchant.id)
  })
})

test.each(CHARGE_STATUSES.filter(status => status !== 'pending'))(
  'a charge that is %s is refused',
  async status => {
    const merchant = await makeMerchant()
    const { id } = await openCharge(merchant)
    const row = await simulateCharge(merchant.id, id, status)
    await expect(cancelCharge(inTest(merchant), id)).rejects.toMatchObject({
      code: 'already_final',
      message: expect.stringContaining(status),
    })
    expect(await findCharge(merchant.id, 'test', id)).toEqual(row)
    expect(await eventTypesOf(id)).toEqual([`transaction.${status}`])
  },
)

test('the action of a member is audited once, that of a program is not', async () => {
  const merchant = await makeMerchant()
  const [one, other] = [await openCharge(merchant, AMOUNT), await openCharge(merchant)]
  const by = newId()
  for (let times = 0; times < 2; times++) await cancelCharge({ ...inTest(merchant), by }, one.id)
  await cancelCharge(inTest(merchant), other.id)
  const where = { accountId: merchant.id, action: 'charge.cancelled' }
  expect(await db().auditRecord.findMany({ where })).toMatchObject([
    { actorType: 'user', actorId: by, target: one.id, after: { mode: 'test', amount: AMOUNT } },
  ])
})

describe('at a bank', () => {
  test('it is removed there first, and asked about no more', async () => {
    const { merchant, bank, id, txid, cancel } = await openAtBank()
    expect(await cancel()).toMatchObject(CANCELLED)
    expect(bank.charges.get(txid)).toEqual({ state: 'cancelled' })
    const row = await db().charge.findFirstOrThrow({ where: { id } })
    expect(row).toMatchObject({ dueAt: null, lease: null })
    const where = { accountId: merchant.id, subjectId: id, operation: 'cancelCharge' }
    expect(await db().gatewayCall.findMany({ where })).toMatchObject([{ outcome: 'ok' }])
  })

  test('a repeated call returns the same charge without asking the bank', async () => {
    const { bank, id, cancel } = await openAtBank()
    const row = await cancel()
    bank.hang()
    expect(await cancel()).toEqual(row)
    expect(bank.cancelledIds).toHaveLength(1)
    expect(await eventTypesOf(id)).toEqual(['transaction.expired'])
  })

  test.each(['lost', 'blocked', 'turned down'] as const)(
    'an unconfirmed removal (%s) leaves it pending, and a later call ends it',
    async behavior => {
      const { bank, id, find, cancel } = await openAtBank()
      const before = await find()
      bank.cancelBehaviors.push(behavior)
      await expect(cancel()).rejects.toMatchObject({ code: 'service_unavailable' })
      expect(await find()).toEqual(before)
      expect(await eventTypesOf(id)).toEqual([])
      expect(await cancel()).toMatchObject(CANCELLED)
    },
  )

  test('a bank that hangs at either call leaves it pending', async () => {
    const { bank, find, cancel } = await openAtBank()
    bank.cancelBehaviors.push('turned down')
    bank.getCharges = () => new Promise(() => {})
    await expect(cancel(100)).rejects.toMatchObject({ code: 'service_unavailable' })
    bank.hang()
    await expect(cancel(100)).rejects.toMatchObject({ code: 'service_unavailable' })
    expect(await find()).toMatchObject({ status: 'pending' })
  })

  test('while the connection rests, the refusal says when to repeat the call', async () => {
    const { bank, connectionId, find, cancel } = await openAtBank()
    await restConnection(connectionId)
    readRestsAlways()
    const refusal = await cancel().catch(error => error)
    expect(refusal.code).toBe('service_unavailable')
    expect(refusal.retryAfterS).toBeGreaterThan(1)
    expect(bank.cancelledIds).toEqual([])
    expect(await find()).toMatchObject({ status: 'pending' })
  })

  test('one that was paid there is credited', async () => {
    const { merchant, bank, id, txid, find, cancel } = await openAtBank()
    bank.charges.set(txid, paidState(AMOUNT))
    await expect(cancel()).rejects.toMatchObject({ code: 'already_final' })
    expect(await find()).toMatchObject({ status: 'paid' })
    expect(await find()).toMatchObject({ cancelled_at: null })
    expect(await eventTypesOf(id)).toEqual(['transaction.paid'])
    expect((await readBalances(merchant.id, 'live')).available).toBe(AMOUNT)
    await expectBalancedLedger(merchant.id)
  })

  test('one that was paid with another amount ends, and the bank is asked about it again', async () => {
    const { merchant, bank, id, txid, cancel } = await openAtBank()
    bank.charges.set(txid, paidState(AMOUNT - 1))
    expect(await cancel()).toMatchObject(CANCELLED)
    expect(await db().unmatchedPayment.findMany({ where: { chargeId: id } })).toMatchObject([
      { amount: BigInt(AMOUNT - 1), reason: 'payment_amount' },
    ])
    bank.charges.set(txid, paidState(AMOUNT))
    await expireDueCharges()
    expect((await readBalances(merchant.id, 'live')).available).toBe(AMOUNT)
    expect(await eventTypesOf(id)).toEqual([
      'transaction.amount_mismatch',
      'transaction.expired',
      'transaction.paid',
    ])
    await expectBalancedLedger(merchant.id)
  })

  test('one that the bank does not have ends, unless its creation may still arrive there', async () => {
    const { merchant, bank, txid, cancel } = await openAtBank()
    bank.charges.delete(txid)
    expect(await cancel()).toMatchObject(CANCELLED)
    const create = bank.createCharge.bind(bank)
    bank.createCharge = async () => {
      bank.createCharge = create
      return { outcome: 'unknown', reason: 'the connection broke' }
    }
    const { id } = await openLiveCharge(merchant)
    bank.charges.delete(removeHyphens(id))
    await expect(cancelCharge(inLive(merchant), id)).rejects.toMatchObject({
      code: 'service_unavailable',
    })
    expect(await findCharge(merchant.id, 'live', id)).toMatchObject({ status: 'pending' })
  })

  test('one that the bank does not have stays pending while a call to create it is running', async () => {
    const { bank, id, txid, cancel, find } = await openAtBank()
    bank.charges.delete(txid)
    // As the journal is while another process repeats the creation.
    await db().gatewayCall.updateMany({
      where: { subjectId: id, operation: 'createCharge' },
      data: { outcome: null, finishedAt: null },
    })
    await expect(cancel()).rejects.toMatchObject({ code: 'service_unavailable' })
    expect(await find()).toMatchObject({ status: 'pending' })
  })

  test.each(['events', 'audit_log'])(
    'after a crash at %s, between the removal and the end, a repeated call ends it',
    async table => {
      const { merchant, id, find } = await openAtBank()
      const cancel = () => cancelCharge({ ...inLive(merchant), by: newId() }, id)
      expect(await faults.during(table, cancel)).toBe(true)
      expect(await find()).toMatchObject({ status: 'pending' })
      expect(await cancel()).toMatchObject(CANCELLED)
      expect(await eventTypesOf(id)).toEqual(['transaction.expired'])
    },
  )

  test('after a crash that nobody repeats, the worker ends it when it expires', async () => {
    const { bank, id, find, cancel } = await openAtBank()
    await faults.during('events', cancel)
    await db().$executeRaw`
      UPDATE charges SET expires_at = now(), due_at = now() WHERE id = ${id}::uuid`
    await expireDueCharges()
    expect(await find()).toMatchObject({ status: 'expired', cancelled_at: null })
    expect(bank.charges.get(removeHyphens(id))).toEqual({ state: 'cancelled' })
  })
})

describe('races', () => {
  test('a payment that is booked during the removal wins', async () => {
    const { merchant, bank, id, find, pay, cancel } = await openAtBank()
    whileRemoving(bank, pay)
    await expect(cancel()).rejects.toMatchObject({ code: 'already_final' })
    expect(await find()).toMatchObject({ status: 'paid', cancelled_at: null })
    expect(await eventTypesOf(id)).toEqual(['transaction.paid'])
    await expectBalancedLedger(merchant.id)
  })

  test('30 payments concurrent with cancellations are all credited', async () => {
    const merchant = await makeMerchant()
    const charges = await Promise.all(
      Array.from({ length: 30 }, () => openCharge(merchant, AMOUNT)),
    )
    const cancelling: Promise<unknown>[] = []
    await Promise.all(
      charges.map(({ id }) => {
        cancelling.push(cancelCharge(inTest(merchant), id).catch(error => error.code))
        const payments = [makePayment(AMOUNT)]
        return receivePayments([{ accountId: merchant.id, chargeId: id, payments }])
      }),
    )
    const ends = await Promise.all(cancelling)
    expect((await readBalances(merchant.id, 'test')).available).toBe(30 * AMOUNT)
    for (const [index, { id }] of charges.entries()) {
      const isRefused = ends[index] === 'already_final'
      expect(await eventTypesOf(id)).toEqual([
        ...(isRefused ? [] : ['transaction.expired']),
        'transaction.paid',
      ])
      const row = await findCharge(merchant.id, 'test', id)
      expect(row).toMatchObject({
        status: 'paid',
        cancelled_at: isRefused ? null : expect.any(String),
      })
    }
    await expectBalancedLedger(merchant.id)
  })

  test('a charge that expires during the removal is not cancelled', async () => {
    const { merchant, bank, id, find, cancel } = await openAtBank()
    whileRemoving(bank, () => closeCharge(merchant.id, id, 'expired'))
    await expect(cancel()).rejects.toMatchObject({ code: 'already_final' })
    expect(await find()).toMatchObject({ status: 'expired', cancelled_at: null })
    expect(await eventTypesOf(id)).toEqual(['transaction.expired'])
  })

  test('a worker that claimed the charge before writes nothing afterwards', async () => {
    const { merchant, id, find, cancel } = await openAtBank()
    await db().$executeRaw`
      UPDATE charges SET expires_at = now(), due_at = now() WHERE id = ${id}::uuid`
    const [claimed] = await claim('charges', 1, { condition: Prisma.sql`id = ${id}::uuid` })
    const row = await cancel()
    const closing = { accountId: merchant.id, chargeId: id, lease: claimed?.lease, ifTimeUp: true }
    expect(await closeCharges([closing], 'expired')).toEqual([])
    expect(await find()).toEqual(row)
    expect(await eventTypesOf(id)).toEqual(['transaction.expired'])
  })

  test('a second cancellation during the removal returns the same charge', async () => {
    const { bank, id, cancel } = await openAtBank()
    const rows: unknown[] = []
    const remove = bank.cancelCharge.bind(bank)
    bank.cancelCharge = async (txid, signal) => {
      bank.cancelCharge = remove
      const removal = await remove(txid, signal)
      rows.push(await cancel())
      return removal
    }
    rows.push(await cancel())
    expect(rows[0]).toMatchObject(CANCELLED)
    expect(rows[1]).toEqual(rows[0])
    expect(await eventTypesOf(id)).toEqual(['transaction.expired'])
  })

  test('10 concurrent cancellations return the same charge, with one event and one record', async () => {
    const merchant = await makeMerchant()
    const { id } = await openCharge(merchant)
    const by = newId()
    const rows = await Promise.all(
      Array.from({ length: 10 }, () => cancelCharge({ ...inTest(merchant), by }, id)),
    )
    expect(new Set(rows.map(row => JSON.stringify(row))).size).toBe(1)
    expect(rows[0]).toMatchObject(CANCELLED)
    expect(await eventTypesOf(id)).toEqual(['transaction.expired'])
    expect(await db().auditRecord.count({ where: { target: id } })).toBe(1)
    await expectBalancedLedger(merchant.id)
  })
})
