import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import type { PaymentReturn, ReceivedPayment } from '#lib/banks/gateway.ts'
import { SIMULATOR_CONNECTION_ID } from '#lib/banks/served.ts'
import { newEndToEndId } from '#lib/banks/simulator.ts'
import { loseDispute, openDispute, winDispute } from '#lib/charges/disputes/dispute.ts'
import { findCharge } from '#lib/charges/list.ts'
import { matchPayments, payByUnmatched } from '#lib/charges/receive.ts'
import { completeRefund, createRefund } from '#lib/charges/refunds/refund.ts'
import { newId, OPERATOR_ACCOUNT_ID, removeHyphens } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { correctAlone } from '#lib/differences/corrections.ts'
import { listOpenItems } from '#lib/differences/differences.ts'
import { assessDisputes, lockBooks } from '#lib/ledger/owed.ts'
import { creditAccount, giveBack, takeUnmatched } from '#lib/operator/differences/differences.ts'
import { keepStray, operatorBalances } from '#lib/testing/differences.ts'
import { Faults } from '#lib/testing/faults.ts'
import {
  expectBalancedLedger,
  inOwnDatabase,
  makeMerchant,
  openCharge,
} from '#lib/testing/fixtures.ts'
import { makePayment } from '#lib/testing/payments.ts'
import { untilLocked } from '#lib/testing/waiting.ts'
import { createWithdrawal } from '#lib/withdrawals/create.ts'
import { approveWithdrawal } from '#lib/withdrawals/outcome.ts'

inOwnDatabase()
const faults = new Faults(['payment_returns', 'ledger_transfers', 'events'])

const AMOUNT = 10_000
const KEY = { pixKeyType: 'email', pixKey: 'a@b.co', dictKey: 'a@b.co' } as const
const CONNECTION = { id: SIMULATOR_CONNECTION_ID, mode: 'test' } as const
const DECISION = { reason: 'Test', actor: { type: 'user', id: newId() } } as const

let merchant: Account
beforeEach(async () => {
  merchant = await makeMerchant()
})
afterEach(async () => {
  await expectBalancedLedger(merchant.id)
  await expectBalancedLedger(OPERATOR_ACCOUNT_ID)
})

/** A charge that is paid, and its payment as the bank lists it. */
async function pay(amount = AMOUNT) {
  const { id } = await openCharge(merchant, amount)
  const payment = makePayment(amount, { txid: removeHyphens(id) })
  await list(payment)
  return { id, payment }
}

function makeReturn(amount: number, changes: Partial<PaymentReturn> = {}): PaymentReturn {
  const id = newEndToEndId().replace('E', 'D')
  const nature = 'ORIGINAL'
  return { id, orderId: id, amount, nature, returnedAt: new Date(), ...changes }
}
const makeMed = (amount: number) => makeReturn(amount, { nature: 'MED_FRAUDE' })

/** The bank lists the payment with these returns. */
const list = (payment: ReceivedPayment, ...returns: PaymentReturn[]) =>
  matchPayments(CONNECTION, [returns.length > 0 ? { ...payment, returns } : payment])

const reportOf = ({ endToEndId }: ReceivedPayment, amount = AMOUNT) => ({
  connectionId: SIMULATOR_CONNECTION_ID,
  bankId: newId(),
  endToEndId,
  amount,
})

async function withdraw(amount: number): Promise<void> {
  const { id } = await createWithdrawal(merchant.id, 'test', { amount, ...KEY })
  const ended = { accountId: merchant.id, withdrawalId: id, endToEndId: newEndToEndId() }
  await approveWithdrawal(ended)
}

async function refund(chargeId: string, amount: number): Promise<void> {
  const { id: refundId } = await createRefund(merchant.id, 'test', chargeId, { amount })
  await completeRefund({ accountId: merchant.id, refundId, returnId: newId() })
}

async function readBooks() {
  const where = { accountId: merchant.id, mode: 'test' }
  const rows = await db().ledgerAccount.findMany({ where })
  const balances = Object.fromEntries(rows.map(({ ledger, balance }) => [ledger, balance]))
  const { available, disputed, claim } = assessDisputes(balances)
  return { available, disputed, claim, external: 0 - Number(balances.external) }
}

const returnedOf = async (id: string) =>
  (await findCharge(merchant.id, 'test', id))?.returned_amount

const eventsOf = async (subjectId: string) =>
  (await db().event.findMany({ where: { subjectId }, orderBy: { sequence: 'asc' } })).map(
    ({ type, resource }) => ({ type, ...(resource as { return?: object }).return }),
  )

const itemsAbout = async (key: string) =>
  (await listOpenItems()).filter(({ facts }) => Object.values(facts).includes(key))

describe('of a charge', () => {
  test('a return leaves the balance and is announced, once however often it is listed', async () => {
    const { id, payment } = await pay()
    const returned = makeReturn(AMOUNT)
    for (let time = 0; time < 3; time++) await list(payment, returned)
    expect(await readBooks()).toEqual({ available: 0, disputed: 0, claim: 0, external: 0 })
    expect(await returnedOf(id)).toBe(AMOUNT)
    const { id: returnId, amount, nature } = returned
    expect(await eventsOf(id)).toEqual([
      { type: 'transaction.paid' },
      {
        type: 'transaction.returned',
        id: returnId,
        amount,
        nature,
        returned_at: expect.stringMatching(/Z$/),
      },
    ])
  })

  test('what is not available is owed, and repaid by what comes in', async () => {
    const { payment } = await pay()
    await withdraw(7_000)
    await list(payment, makeMed(AMOUNT))
    expect(await readBooks()).toEqual({ available: 0, disputed: 0, claim: 7_000, external: -7_000 })
    await pay(9_000)
    expect(await readBooks()).toMatchObject({ available: 2_000, claim: 0 })
  })

  test('parts are booked each, with a reason that is unknown, or none', async () => {
    const { id, payment } = await pay()
    const first = makeReturn(3_000, { nature: 'NOVA_NATUREZA' })
    const second = makeReturn(7_000, { nature: null })
    await list(payment, first)
    expect(await readBooks()).toMatchObject({ available: 7_000 })
    await list(payment, first, second)
    expect(await readBooks()).toMatchObject({ available: 0, claim: 0 })
    expect(await returnedOf(id)).toBe(AMOUNT)
  })

  test('a payment that is listed with its return first is credited, then returned', async () => {
    const { id } = await openCharge(merchant, AMOUNT)
    const payment = makePayment(AMOUNT, { txid: removeHyphens(id) })
    await list(payment, makeReturn(4_000))
    expect(await readBooks()).toMatchObject({ available: 6_000 })
  })

  test('refunds of Troco are none, and count in what is left', async () => {
    const { id, payment } = await pay()
    await pay(5_000)
    const { id: refundId } = await createRefund(merchant.id, 'test', id, { amount: 4_000 })
    const own = makeReturn(4_000, { orderId: removeHyphens(refundId) })
    await list(payment, own)
    await completeRefund({ accountId: merchant.id, refundId, returnId: own.id })
    const more = makeReturn(5_000)
    await list(payment, own, more)
    expect(await readBooks()).toMatchObject({ available: 6_000 })
    const refused = createRefund(merchant.id, 'test', id, { amount: 1_001 })
    await expect(refused).rejects.toMatchObject({ code: 'refund_exceeds_remainder' })
    await refund(id, 1_000)
    expect(await readBooks()).toMatchObject({ available: 5_000, external: 5_000 })
  })

  test('more than is left moves nothing, and is a difference', async () => {
    const { id, payment } = await pay()
    await refund(id, 4_000)
    const returned = makeReturn(6_001)
    for (let time = 0; time < 2; time++) await list(payment, returned)
    expect(await readBooks()).toMatchObject({ available: 6_000 })
    expect(await itemsAbout(returned.id)).toMatchObject([
      {
        kind: 'return_above_payment',
        facts: { transaction_id: id, amount: 6_001, left_amount: 6_000, nature: 'ORIGINAL' },
      },
    ])
  })

  test('an order that Troco does not know, with an id like its own, is a difference', async () => {
    const { payment } = await pay()
    const orderId = removeHyphens(newId())
    await list(payment, makeReturn(1_000, { orderId }))
    expect(await readBooks()).toMatchObject({ available: AMOUNT })
    expect(await itemsAbout(orderId)).toMatchObject([
      { kind: 'refund_unbooked', facts: { cause: 'order_unknown', account_id: merchant.id } },
    ])
  })

  test('the id of an order names a return within its payment only', async () => {
    const payments = [(await pay()).payment, (await pay()).payment]
    for (const payment of payments)
      await list(payment, makeReturn(1_000, { id: '1', orderId: '1' }))
    expect(await readBooks()).toMatchObject({ available: 18_000 })
  })

  test.each([true, false])(
    'it is booked once, if the bank names its own id of it only later or before: %s',
    async isLater => {
      const { payment } = await pay()
      const named = makeReturn(1_000, { orderId: 'order1' })
      const unnamed = { ...named, id: 'order1' }
      for (const returned of isLater ? [unnamed, named, unnamed] : [named, unnamed, named])
        await list(payment, returned)
      expect(await readBooks()).toMatchObject({ available: 9_000 })
      await list(payment, named, makeReturn(2_000, { orderId: 'order2' }))
      expect(await readBooks()).toMatchObject({ available: 7_000 })
    },
  )

  test('twice at once, it is booked once', async () => {
    const { id, payment } = await pay()
    const [first, second] = [makeReturn(3_000), makeMed(7_000)]
    let works: Promise<unknown>[] = []
    await db().$transaction(
      async tx => {
        await lockBooks(tx, merchant.id, 'test')
        works = [1, 2, 3].map(() => list(payment, first, second))
        await untilLocked(3)
      },
      { timeout: 60_000 },
    )
    await Promise.all(works)
    expect(await readBooks()).toMatchObject({ available: 0, claim: 0, external: 0 })
    expect((await eventsOf(id)).map(({ type }) => type)).toHaveLength(3)
  })

  test.each(['payment_returns', 'ledger_transfers', 'events'])(
    'after a crash before %s is written, nothing is booked, and the next list books it',
    async table => {
      const { id, payment } = await pay()
      await withdraw(2_000)
      const returned = makeMed(AMOUNT)
      expect(await faults.during(table, () => list(payment, returned))).toBe(true)
      expect(await readBooks()).toMatchObject({ available: 8_000, claim: 0 })
      expect(await returnedOf(id)).toBe(0)
      await list(payment, returned)
      expect(await readBooks()).toMatchObject({ available: 0, claim: 2_000 })
    },
  )
})

describe('with a dispute, a return for it (MED) costs once:', () => {
  const GONE = { available: 5_000, disputed: 0, claim: 0, external: 5_000 }

  test('of a lost dispute', async () => {
    const { payment } = await pay()
    await pay(5_000)
    await loseDispute(reportOf(payment))
    for (const returned of [makeMed(4_000), makeMed(6_000)]) await list(payment, returned)
    expect(await readBooks()).toEqual(GONE)
    const excess = makeMed(1)
    await list(payment, excess)
    expect(await readBooks()).toEqual(GONE)
    expect(await itemsAbout(excess.id)).toHaveLength(1)
  })

  test('of an open dispute, which it ends', async () => {
    const { id, payment } = await pay()
    await pay(5_000)
    const report = reportOf(payment)
    await openDispute(report)
    await list(payment, makeMed(AMOUNT))
    expect(await readBooks()).toEqual(GONE)
    expect((await eventsOf(id)).map(({ type }) => type)).toEqual([
      'transaction.paid',
      'transaction.dispute_opened',
      'transaction.dispute_closed',
      'transaction.returned',
    ])
    expect(await loseDispute(report)).toMatchObject({ status: 'lost', lostAmount: 10_000n })
    expect(await readBooks()).toEqual(GONE)
    expect(await itemsAbout(report.bankId)).toEqual([])
  })

  test('in parts', async () => {
    const { payment } = await pay()
    await pay(5_000)
    const report = reportOf(payment)
    await openDispute(report)
    await list(payment, makeMed(3_000))
    await list(payment, makeMed(7_000))
    expect(await readBooks()).toEqual(GONE)
    await loseDispute(report)
    expect(await readBooks()).toEqual(GONE)
  })

  test.each([10_000, 3_000])('in part, before %i of an open one is lost', async lost => {
    const { payment } = await pay()
    await pay(5_000)
    const report = reportOf(payment)
    await openDispute(report)
    await list(payment, makeMed(3_000))
    await loseDispute({ ...report, amount: lost })
    expect(await readBooks()).toEqual({
      available: 15_000 - lost,
      disputed: 0,
      claim: 0,
      external: 15_000 - lost,
    })
    await list(payment, ...(lost > 3_000 ? [makeMed(lost - 3_000)] : []))
    expect(await readBooks()).toMatchObject({ available: 15_000 - lost })
    expect(await itemsAbout(report.bankId)).toEqual([])
  })

  test('before a dispute is reported, open or lost at once', async () => {
    for (const isOpenFirst of [true, false]) {
      const { payment } = await pay()
      const report = reportOf(payment)
      const before = await readBooks()
      await list(payment, makeMed(4_000))
      if (isOpenFirst) {
        expect(await openDispute(report)).toMatchObject({ status: 'open', amount: 10_000n })
        expect(await readBooks()).toMatchObject({ disputed: 6_000 })
      }
      expect(await loseDispute(report)).toMatchObject({ status: 'lost', lostAmount: 10_000n })
      expect(await readBooks()).toMatchObject({
        available: before.available - AMOUNT,
        disputed: 0,
        claim: 0,
      })
      expect(await itemsAbout(report.bankId)).toEqual([])
    }
  })

  test('whole, before a dispute is reported', async () => {
    const { payment } = await pay()
    await pay(5_000)
    await list(payment, makeMed(AMOUNT))
    const report = reportOf(payment)
    expect(await openDispute(report)).toMatchObject({ status: 'open' })
    expect(await readBooks()).toEqual(GONE)
    expect(await loseDispute(report)).toMatchObject({ status: 'lost' })
    expect(await readBooks()).toEqual(GONE)
    expect(await itemsAbout(report.bankId)).toEqual([])
  })

  test.each([null, 'NOVA_NATUREZA'])(
    'for a reason that is unknown (%s), until the bank lists another one',
    async nature => {
      const { payment } = await pay()
      const report = reportOf(payment, 4_000)
      await openDispute(report)
      await list(payment, makeReturn(4_000, { nature }))
      await loseDispute(report)
      expect(await readBooks()).toEqual({
        available: 6_000,
        disputed: 0,
        claim: 0,
        external: 6_000,
      })
      await list(payment, makeMed(4_000))
      expect(await readBooks()).toMatchObject({ available: 2_000, disputed: 0, external: 2_000 })
      expect(await itemsAbout(report.bankId)).toEqual([])
    },
  )

  test('and one that people ordered at the bank is no dispute: the rest can be lost', async () => {
    const { payment } = await pay()
    await list(payment, makeReturn(4_000))
    const report = reportOf(payment)
    expect(await openDispute(report)).toMatchObject({ amount: 6_000n })
    await loseDispute(report)
    expect(await readBooks()).toMatchObject({ available: 0, disputed: 0, claim: 0, external: 0 })
    expect(await itemsAbout(report.bankId)).toEqual([])
  })

  test('a dispute that is won after the bank gave the money back is a difference', async () => {
    const { payment } = await pay()
    const report = reportOf(payment)
    await openDispute(report)
    await list(payment, makeMed(AMOUNT))
    expect(await winDispute(report)).toMatchObject({ status: 'lost' })
    expect(await itemsAbout(report.bankId)).toMatchObject([{ kind: 'dispute_contradicted' }])
  })
})

describe('of an unmatched payment', () => {
  const listStray = (payment: ReceivedPayment, ...returns: PaymentReturn[]) =>
    list(payment, ...returns)

  test('a part leaves `unmatched`, and the rest can be decided about', async () => {
    const before = await operatorBalances()
    const { itemId, payment } = await keepStray(AMOUNT)
    const returned = makeReturn(4_000)
    for (let time = 0; time < 2; time++) await listStray(payment, returned)
    expect((await operatorBalances()).unmatched).toBe((before.unmatched ?? 0) + 6_000)
    await creditAccount({ ...DECISION, itemId }, merchant.id)
    expect(await readBooks()).toMatchObject({ available: 6_000 })
    expect((await operatorBalances()).unmatched).toBe(before.unmatched ?? 0)
    await listStray(payment, returned, makeMed(5_000))
    expect(await readBooks()).toMatchObject({ available: 1_000, claim: 0 })
    const excess = makeMed(1_001)
    await listStray(payment, excess)
    expect(await itemsAbout(excess.id)).toMatchObject([{ kind: 'return_above_payment' }])
  })

  test('the whole resolves its item', async () => {
    const { itemId, payment } = await keepStray(AMOUNT)
    await listStray(payment, makeReturn(1_000), makeReturn(9_000))
    const item = await db().difference.findUniqueOrThrow({ where: { id: itemId } })
    expect(item).toMatchObject({ resolution: 'returned', resolvedAt: expect.any(Date) })
    await expect(takeUnmatched({ ...DECISION, itemId })).rejects.toMatchObject({
      code: 'already_final',
    })
  })

  test('that has paid a charge is taken from the account of the charge', async () => {
    const { itemId, payment } = await keepStray(AMOUNT)
    const { id } = await openCharge(merchant, AMOUNT)
    await payByUnmatched({ ...DECISION, itemId }, id)
    await listStray(payment, makeReturn(AMOUNT))
    expect(await readBooks()).toMatchObject({ available: 0, claim: 0 })
    expect(await returnedOf(id)).toBe(AMOUNT)
    expect((await eventsOf(id)).map(({ type }) => type)).toContain('transaction.returned')
  })

  test('that the operator has kept is taken from its own money', async () => {
    const before = await operatorBalances()
    const { itemId, payment } = await keepStray(AMOUNT)
    await listStray(payment, makeReturn(1_000))
    await takeUnmatched({ ...DECISION, itemId })
    await listStray(payment, makeReturn(9_000))
    expect(await operatorBalances()).toEqual(before)
  })

  test('that an entry of people has taken costs nothing more', async () => {
    const before = await operatorBalances()
    const { itemId, payment } = await keepStray(AMOUNT)
    await listStray(payment, makeReturn(1_000))
    const attachment = Buffer.from('%PDF-1.7 -')
    const entry = {
      itemId,
      from: 'operator',
      to: 'bank',
      amount: 9_000,
      reason: 'Test',
      attachment,
    }
    await correctAlone(entry)
    expect(await operatorBalances()).toEqual(before)
    for (const amount of [4_000, 5_000]) await listStray(payment, makeReturn(amount))
    expect(await operatorBalances()).toEqual(before)
    const excess = makeReturn(1)
    await listStray(payment, excess)
    expect(await itemsAbout(excess.id)).toMatchObject([{ kind: 'return_above_payment' }])
  })

  test('that the bank gives back for people waits for the end of their order', async () => {
    const { itemId, payment } = await keepStray(AMOUNT)
    const { id } = await giveBack({ ...DECISION, itemId })
    const before = await operatorBalances()
    await listStray(payment, makeReturn(AMOUNT, { orderId: removeHyphens(id) }), makeReturn(1_000))
    expect(await operatorBalances()).toEqual(before)
    await db().$executeRaw`UPDATE unmatched_returns SET status = 'rejected', rejected_at = now(),
      rejection_code = 'other', rejection_reason = 'x' WHERE id = ${id}::uuid`
    await listStray(payment, makeReturn(1_000))
    expect((await operatorBalances()).unmatched).toBe((before.unmatched ?? 0) - 1_000)
  })
})
