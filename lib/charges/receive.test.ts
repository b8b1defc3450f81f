import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import type { ReceivedPayment } from '#lib/banks/gateway.ts'
import { SIMULATOR_CONNECTION_ID } from '#lib/banks/served.ts'
import { createCharge } from '#lib/charges/create.ts'
import { findCharge, serializeChargeEvent } from '#lib/charges/list.ts'
import { matchPayments, receivePayments } from '#lib/charges/receive.ts'
import { createRefund } from '#lib/charges/refunds/refund.ts'
import { newId, OPERATOR_ACCOUNT_ID, removeHyphens } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { listOpenItems } from '#lib/differences/differences.ts'
import { readBalances } from '#lib/testing/balances.ts'
import { StubBank } from '#lib/testing/bank.ts'
import { connectBank, openLiveCharge } from '#lib/testing/connection.ts'
import {
  CHARGE,
  expectBalancedLedger,
  inOwnDatabase,
  makeMerchant,
  openCharge,
} from '#lib/testing/fixtures.ts'
import { expireDueCharges, makeOrdersDue, sendDueRefunds } from '#lib/testing/orders.ts'
import { makePayment } from '#lib/testing/payments.ts'

// The operator is one per database, and the worker claims the due charges of all accounts.
inOwnDatabase()

const AMOUNT = 100_000
const CONNECTION = { id: SIMULATOR_CONNECTION_ID, mode: 'test' } as const

let merchant: Account
beforeAll(async () => {
  merchant = await makeMerchant()
})
afterAll(async () => {
  await expectBalancedLedger(merchant.id)
  await expectBalancedLedger(OPERATOR_ACCOUNT_ID)
})

/** Payments that are unmatched, with the kind of their difference. */
async function unmatchedOf(payments: ReceivedPayment[]): Promise<(string | null)[]> {
  const items = new Map((await listOpenItems()).map(item => [item.facts.end_to_end_id, item.kind]))
  const rows = await db().unmatchedPayment.findMany()
  const amounts = new Map(rows.map(row => [row.endToEndId, Number(row.amount)]))
  expect(new Set(amounts.keys())).toEqual(new Set(items.keys()))
  return payments.map(({ endToEndId, amount }) => {
    if (amounts.has(endToEndId)) expect(amounts.get(endToEndId)).toBe(amount)
    return items.get(endToEndId) ?? null
  })
}

async function unmatched(): Promise<number> {
  const row = await db().ledgerAccount.findFirstOrThrow({
    where: { accountId: OPERATOR_ACCOUNT_ID, mode: 'test', ledger: 'unmatched' },
  })
  return Number(row.balance)
}

async function statusOf(id: string): Promise<string | undefined> {
  return (await findCharge(merchant.id, 'test', id))?.status
}

async function report(chargeId: string, payments: ReceivedPayment[]) {
  const [row] = await receivePayments([{ accountId: merchant.id, chargeId, payments }])
  return row
}

async function setOverdue(id: string): Promise<void> {
  await db().$executeRaw`
    UPDATE charges SET expires_at = now() - interval '1 second', due_at = now() WHERE id = ${id}::uuid`
}

async function creditOf(work: () => Promise<unknown>): Promise<number> {
  const before = await readBalances(merchant.id, 'test')
  await work()
  return (await readBalances(merchant.id, 'test')).available - before.available
}

test('one cent paid on a charge of R$ 1.000,00 credits nothing and moves to `unmatched`', async () => {
  const { id } = await openCharge(merchant, AMOUNT)
  const payment = makePayment(1, { txid: removeHyphens(id) })
  const before = await unmatched()
  expect(await creditOf(() => report(id, [payment]))).toBe(0)
  expect(await statusOf(id)).toBe('pending')
  expect(await unmatched()).toBe(before + 1)
  expect(await unmatchedOf([payment])).toEqual(['payment_amount'])
  const item = (await listOpenItems()).find(
    ({ facts }) => facts.end_to_end_id === payment.endToEndId,
  )
  expect(item).toMatchObject({
    connection: 'simulator',
    facts: {
      amount: 1,
      expected_amount: AMOUNT,
      txid: removeHyphens(id),
      mode: 'test',
      account_id: merchant.id,
      transaction_id: id,
    },
  })
})

test('of several payments the earliest of the right amount is credited, the others are suspended', async () => {
  const { id } = await openCharge(merchant, AMOUNT)
  const at = (second: number) => new Date(Date.UTC(2026, 10, 21, 0, 0, second))
  const payments = [
    makePayment(AMOUNT, { paidAt: at(3) }),
    makePayment(AMOUNT + 5, { paidAt: at(1) }),
    makePayment(AMOUNT, { paidAt: at(2) }),
  ]
  expect(await creditOf(() => report(id, payments))).toBe(AMOUNT)
  expect(await findCharge(merchant.id, 'test', id)).toMatchObject({
    end_to_end_id: payments[2]?.endToEndId,
  })
  expect(await unmatchedOf(payments)).toEqual(['payment_repeated', 'payment_repeated', null])
  expect(await creditOf(() => report(id, payments))).toBe(0)
})

describe('at a bank', () => {
  let bank: StubBank
  let shop: Account
  beforeEach(async () => {
    bank = new StubBank()
    shop = await makeMerchant()
    await connectBank(bank, shop)
  })
  afterEach(() => expectBalancedLedger(shop.id))

  const reportPaid = (id: string, payments: ReceivedPayment[]) =>
    bank.charges.set(removeHyphens(id), { state: 'paid', payments })

  test('a charge with a wrong payment alone expires, and its right payment is credited later', async () => {
    const { id } = await openLiveCharge(shop, AMOUNT)
    const [wrong, right] = [makePayment(AMOUNT - 1), makePayment(AMOUNT)]
    reportPaid(id, [wrong])
    await setOverdue(id)
    await expireDueCharges()
    expect(await findCharge(shop.id, 'live', id)).toMatchObject({ status: 'expired' })
    reportPaid(id, [wrong, right])
    const askAgain = async () => {
      const where = { id, dueAt: { not: null } }
      const asked = await db().charge.updateMany({ where, data: { dueAt: new Date() } })
      await expireDueCharges()
      return asked.count
    }
    expect(await askAgain()).toBe(1)
    expect(await findCharge(shop.id, 'live', id)).toMatchObject({
      status: 'paid',
      end_to_end_id: right.endToEndId,
    })
    expect(await readBalances(shop.id, 'live')).toMatchObject({ available: AMOUNT })
    expect(await unmatchedOf([wrong, right])).toEqual(['payment_amount', null])
    expect(await askAgain()).toBe(0)
  })

  test('a refund returns the payment that credited the charge, not an earlier wrong one', async () => {
    const { id } = await openLiveCharge(shop, AMOUNT)
    const [wrong, right] = [makePayment(7), makePayment(AMOUNT)]
    for (const payments of [[wrong], [wrong, right]])
      await receivePayments([{ accountId: shop.id, chargeId: id, payments }])
    await createRefund(shop.id, 'live', id, {})
    await sendDueRefunds()
    expect(bank.sentOrders).toMatchObject([{ endToEndId: right.endToEndId, amount: AMOUNT }])
    bank.settle()
    await makeOrdersDue()
    await sendDueRefunds()
    expect(await readBalances(shop.id, 'live')).toEqual({ available: 0, outbound: 0 })
  })
})

test('payments that a bank lists pay their charges; those of no charge are suspended', async () => {
  const [first, second] = [await openCharge(merchant, AMOUNT), await openCharge(merchant, AMOUNT)]
  const payments = [
    makePayment(AMOUNT, { txid: removeHyphens(first.id) }),
    makePayment(AMOUNT - 7, { txid: removeHyphens(second.id) }),
    makePayment(AMOUNT),
    makePayment(AMOUNT, { txid: removeHyphens(newId()) }),
  ]
  const expected = [null, 'payment_amount', 'payment_unmatched', 'payment_unmatched']
  const before = await unmatched()
  expect(await creditOf(() => matchPayments(CONNECTION, payments))).toBe(AMOUNT)
  expect(await unmatchedOf(payments)).toEqual(expected)
  const after = before + 3 * AMOUNT - 7
  expect(await unmatched()).toBe(after)
  expect(await creditOf(() => matchPayments(CONNECTION, payments.toReversed()))).toBe(0)
  expect(await unmatchedOf(payments)).toEqual(expected)
  expect(await unmatched()).toBe(after)
})

describe('a payment of the charge of another connection', () => {
  async function makeCase(ageMs: number) {
    const id = newId()
    await db().connection.create({
      data: { id, name: id, kind: 'efi', environment: 'homologation', settings: {} },
    })
    const { id: chargeId } = await openCharge(merchant, AMOUNT)
    const changes = { txid: removeHyphens(chargeId), paidAt: new Date(Date.now() - ageMs) }
    const payment = makePayment(AMOUNT, changes)
    const list = () => matchPayments({ id, mode: 'test' }, [payment])
    const listAtOwn = () => matchPayments(CONNECTION, [payment])
    return { chargeId, payment, list, listAtOwn }
  }

  test('is left to that connection, which credits it', async () => {
    const { payment, list, listAtOwn } = await makeCase(60_000)
    expect(await list()).toEqual([payment])
    expect(await unmatchedOf([payment])).toEqual([null])
    expect(await creditOf(listAtOwn)).toBe(AMOUNT)
    expect(await list()).toEqual([])
    expect(await unmatchedOf([payment])).toEqual([null])
  })

  test('is suspended after an hour, and then credits nothing', async () => {
    const { chargeId, payment, list, listAtOwn } = await makeCase(3_660_000)
    const before = await unmatched()
    for (const again of [list, listAtOwn, list]) expect(await creditOf(again)).toBe(0)
    expect(await unmatchedOf([payment])).toEqual(['payment_unmatched'])
    expect(await unmatched()).toBe(before + AMOUNT)
    expect(await statusOf(chargeId)).toBe('pending')
  })

  test('is not suspended after an hour if it was credited', async () => {
    const { payment, list, listAtOwn } = await makeCase(3_660_000)
    expect(await creditOf(listAtOwn)).toBe(AMOUNT)
    expect(await creditOf(list)).toBe(0)
    expect(await unmatchedOf([payment])).toEqual([null])
  })
})

test('a payment of a charge that is being opened is returned, to be listed again', async () => {
  const { id: otherId } = await openCharge(merchant, AMOUNT)
  const id = newId()
  await db().$executeRaw`
    INSERT INTO charges (account_id, id, mode, connection_id, status, amount, external_id, txid, br_code,
      client_name, client_email, client_doc, expires_at, due_at)
    SELECT account_id, ${id}::uuid, mode, connection_id, 'opening', amount, ${id}, ${removeHyphens(id)},
      '', client_name, client_email, client_doc, expires_at, now() + interval '1 day'
    FROM charges WHERE account_id = ${merchant.id}::uuid AND id = ${otherId}::uuid`
  const known = makePayment(AMOUNT, { txid: removeHyphens(otherId) })
  const early = makePayment(AMOUNT, { txid: removeHyphens(id) })
  const list = () => matchPayments(CONNECTION, [known, early])
  expect(await list()).toEqual([early])
  await db().charge.updateMany({ where: { id }, data: { status: 'pending', brCode: '-' } })
  expect(await creditOf(list)).toBe(AMOUNT)
  expect(await list()).toEqual([])
})

describe('a payment is booked once', () => {
  test('and stays unmatched if its txid is reported only later', async () => {
    const { id } = await openCharge(merchant, AMOUNT)
    const payment = makePayment(AMOUNT)
    await matchPayments(CONNECTION, [payment])
    expect(await creditOf(() => report(id, [payment]))).toBe(0)
    expect(await unmatchedOf([payment])).toEqual(['payment_unmatched'])
    expect(await statusOf(id)).toBe('pending')
  })

  test('and stays credited if it is reported without its txid later', async () => {
    const { id } = await openCharge(merchant, AMOUNT)
    const payment = makePayment(AMOUNT)
    expect(await creditOf(() => report(id, [payment]))).toBe(AMOUNT)
    await matchPayments(CONNECTION, [payment])
    expect(await unmatchedOf([payment])).toEqual([null])
  })

  test('when two workers report it at once, with its txid and without', async () => {
    for (let round = 0; round < 20; round++) {
      const { id } = await openCharge(merchant, AMOUNT)
      const payment = makePayment(AMOUNT)
      const before = await unmatched()
      const credited = await creditOf(() =>
        Promise.all([
          report(id, [payment]),
          matchPayments(CONNECTION, [payment]),
          report(id, [payment]),
          matchPayments(CONNECTION, [payment]),
        ]),
      )
      const suspended = (await unmatched()) - before
      expect([credited, suspended].toSorted()).toEqual([0, AMOUNT])
      expect(await statusOf(id)).toBe(credited === AMOUNT ? 'paid' : 'pending')
    }
  })
})

test('a job that has lost its lease credits nothing and suspends nothing', async () => {
  const { id } = await openCharge(merchant, AMOUNT)
  const payment = makePayment(AMOUNT)
  const lost = { accountId: merchant.id, chargeId: id, payments: [payment], lease: newId() }
  expect(await creditOf(() => receivePayments([lost]))).toBe(0)
  expect(await unmatchedOf([payment])).toEqual([null])
  expect(await creditOf(() => report(id, [payment]))).toBe(AMOUNT)
})

describe('a payment of another amount', () => {
  const eventsOf = (subjectId: string) =>
    db().event.findMany({ where: { subjectId }, orderBy: { sequence: 'asc' } })

  test('is an event of its charge, once, which goes to no webhook_url', async () => {
    const receiver = 'https://shop.example/hooks'
    const order = { ...CHARGE, amount: AMOUNT, webhook_url: receiver }
    const { id } = await createCharge(merchant, 'test', order, null)
    const payment = makePayment(AMOUNT - 1)
    for (let times = 0; times < 2; times++) await report(id, [payment])
    const [event, ...more] = await eventsOf(id)
    expect([event, more]).toMatchObject([{ type: 'transaction.amount_mismatch' }, []])
    const { endToEndId: end_to_end_id, amount } = payment
    const paid_at = expect.stringMatching(/^\d{4}-.*\.\d{6}Z$/)
    expect(serializeChargeEvent(event?.resource, false)).toMatchObject({
      transaction: { transaction_id: id, status: 'pending', amount: AMOUNT },
      payment: { end_to_end_id, amount, paid_at },
    })
    expect(await db().delivery.count({ where: { subjectId: id } })).toBe(0)
  })

  test('is none if the charge is paid already, or the payment is of no charge', async () => {
    const { id } = await openCharge(merchant, AMOUNT)
    const before = await db().event.count()
    await report(id, [makePayment(AMOUNT), makePayment(AMOUNT - 1)])
    await matchPayments(CONNECTION, [makePayment(AMOUNT - 1)])
    expect((await eventsOf(id)).map(({ type }) => type)).toEqual(['transaction.paid'])
    expect(await db().event.count()).toBe(before + 1)
  })

  test('of several charges at once is an event of each', async () => {
    const charges = await Promise.all([1, 2, 3].map(() => openCharge(merchant, AMOUNT)))
    const others = await Promise.all(
      [1, 2].map(async () => openCharge(await makeMerchant(), AMOUNT)),
    )
    const reports = [
      ...charges.map(({ id: chargeId }) => ({ accountId: merchant.id, chargeId })),
      ...(await db().charge.findMany({ where: { id: { in: others.map(({ id }) => id) } } })).map(
        ({ accountId, id: chargeId }) => ({ accountId, chargeId }),
      ),
    ]
    await receivePayments(reports.map(one => ({ ...one, payments: [makePayment(AMOUNT + 1)] })))
    for (const { accountId, chargeId } of reports)
      expect(await eventsOf(chargeId)).toMatchObject([{ accountId }])
  })
})
