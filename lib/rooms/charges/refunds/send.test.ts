import { beforeEach, describe, expect, test } from 'vitest'
import { claim } from '#lib/base/db/claim.ts'
import { db } from '#lib/base/db/client.ts'
import { bareId } from '#lib/base/ids.ts'
import { startWorker } from '#lib/edge/jobs/worker.ts'
import type { Account } from '#lib/rooms/accounts/schema.ts'
import { chargeColumns, findCharge } from '#lib/rooms/charges/queries.ts'
import { createRefund } from '#lib/rooms/charges/refunds/create.ts'
import { findRefund } from '#lib/rooms/charges/refunds/queries.ts'
import { sendDueRefunds } from '#lib/rooms/charges/refunds/send.ts'
import { simulateCharge } from '#lib/rooms/charges/simulate.ts'
import type { Answer, Gateway, OrderState, RefundOrder } from '#lib/services/gateway/gateway.ts'
import { simulator } from '#lib/services/gateway/simulator.ts'
import { readBalances } from '#lib/services/ledger/accounts.ts'
import { StubBank } from '#lib/testing/bank.ts'
import { expectBalancedBooks, inOwnDatabase, makeMerchant, openCharge } from '#lib/testing/stage.ts'

inOwnDatabase()

let merchant: Account
beforeEach(async () => {
  await db().$executeRaw`UPDATE refunds SET due_at = NULL`
  merchant = await makeMerchant()
})

async function payCharge(amount = 10_000): Promise<string> {
  const { id } = await openCharge(merchant, amount)
  await simulateCharge(merchant.id, id, 'paid')
  return id
}

async function openRefund(): Promise<{ id: string; chargeId: string; endToEndId: string }> {
  const chargeId = await payCharge()
  const { id } = await createRefund(merchant.id, 'test', chargeId, { amount: 3_000 })
  const charge = await findCharge(merchant.id, 'test', chargeId)
  return { id, chargeId, endToEndId: charge?.end_to_end_id ?? '' }
}

const stateOf = ({ id, chargeId }: { id: string; chargeId: string }) =>
  findRefund(merchant.id, 'test', chargeId, id)
const fallDue = () => db().$executeRaw`UPDATE refunds SET due_at = now() WHERE due_at IS NOT NULL`
const ordersOf = (id: string) => db().simulatorOrder.findMany({ where: { id: bareId(id) } })
/** The simulated bank has done by now what it took. */
const letBankSettle = () =>
  db().$executeRaw`UPDATE simulator_orders SET settles_at = now() WHERE kind = 'refund'`
const send = () => sendDueRefunds(chargeColumns)

async function databaseTime(): Promise<string> {
  const [row] = await db().$queryRaw<{ time: string }[]>`SELECT clock_timestamp()::text AS time`
  return row?.time ?? ''
}

const LOST: Answer<never> = { outcome: 'unknown', reason: 'the connection broke' }
const DOWN: Answer<never> = { outcome: 'retryable', reason: 'down' }
const NO: Answer<never> = { outcome: 'rejected', reason: 'The account was closed' }
const TAKEN: Answer<OrderState> = { outcome: 'ok', value: { state: 'taken' } }

interface Plan {
  /** What is answered to each order; then, and to what is left out, what the bank says. */
  sent?: (Answer<OrderState> | null)[]
  asked?: Answer<OrderState | null>[]
  /** Whether an order reaches the bank at all; it does, unless said. */
  arrives?: boolean
}

/** The simulated bank behind a line of ours, and all that was said to it. */
function bank({ sent = [], asked = [], arrives = true }: Plan = {}) {
  const orders: RefundOrder[] = []
  const questions: string[] = []
  const gateway: Gateway = {
    ...simulator,
    async refundCharge(order) {
      orders.push(order)
      const planned = sent.shift()
      const real = arrives || !planned ? await simulator.refundCharge(order) : null
      return planned ?? real ?? LOST
    },
    async getRefund(id) {
      questions.push(id)
      return asked.shift() ?? simulator.getRefund(id)
    },
  }
  return { gateway, orders, questions }
}

/** One turn of a worker, by this bank. */
async function turn(gateway: Gateway): Promise<void> {
  await fallDue()
  expect(await sendDueRefunds(chargeColumns, () => gateway)).toBeLessThanOrEqual(1)
}

test('what is due is sent once, under its own id, and completed when the bank has done it', async () => {
  const refund = await openRefund()
  expect(await send()).toBe(1)
  expect(await ordersOf(refund.id)).toMatchObject([{ kind: 'refund', amount: 3_000n }])
  expect(await stateOf(refund)).toMatchObject({ status: 'pending' })
  expect(await send()).toBe(0)
  await letBankSettle()
  await fallDue()
  expect(await send()).toBe(1)
  const [order] = await ordersOf(refund.id)
  expect(await stateOf(refund)).toMatchObject({ status: 'completed', return_id: order?.endToEndId })
  expect(await readBalances(merchant.id, 'test')).toEqual({ available: 7_000, outbound: 0 })
  await fallDue()
  expect(await send()).toBe(0)
  await expectBalancedBooks(merchant.id)
})

test('the bank is told the payment, the amount and the id without hyphens', async () => {
  const refund = await openRefund()
  const { gateway, orders, questions } = bank()
  await turn(gateway)
  expect(orders).toEqual([{ id: bareId(refund.id), endToEndId: refund.endToEndId, amount: 3_000 }])
  expect(questions).toEqual([])
})

test('one that the bank has taken waits longer each time, and is asked about, not sent again', async () => {
  const refund = await openRefund()
  const { gateway, orders, questions } = bank({ asked: [TAKEN, TAKEN] })
  for (const pauseS of [1, 2, 4]) {
    const began = await databaseTime()
    await turn(gateway)
    const [row] = await db().$queryRaw<{ waits: boolean; lease: string | null }[]>`
      SELECT lease, due_at BETWEEN ${began}::timestamptz + make_interval(secs => ${pauseS}::int)
        AND clock_timestamp() + make_interval(secs => ${pauseS}::int) AS waits
      FROM refunds WHERE id = ${refund.id}::uuid`
    expect(row).toEqual({ waits: true, lease: null })
  }
  expect(orders).toHaveLength(1)
  expect(questions).toEqual([bareId(refund.id), bareId(refund.id)])
  expect(await stateOf(refund)).toMatchObject({ status: 'pending' })
  await expectBalancedBooks(merchant.id)
})

describe('a lost answer', () => {
  test('to an order that the bank has: it is asked about, and never ordered again', async () => {
    const refund = await openRefund()
    const { gateway, orders } = bank({ sent: [LOST] })
    await turn(gateway)
    expect(await stateOf(refund)).toMatchObject({ status: 'pending', rejection_reason: null })
    await letBankSettle()
    await turn(gateway)
    expect(orders).toHaveLength(1)
    expect(await stateOf(refund)).toMatchObject({ status: 'completed' })
    await expectBalancedBooks(merchant.id)
  })

  test.each([
    ['lost', LOST],
    ['down', DOWN],
  ])(
    'to an order that never arrived (%s): it is sent again under the same id',
    async (_, answer) => {
      const refund = await openRefund()
      const { gateway, orders } = bank({ sent: [answer, answer], arrives: false })
      for (let count = 0; count < 3; count++) await turn(gateway)
      expect(orders.map(order => order.id)).toEqual(Array(3).fill(bareId(refund.id)))
      await letBankSettle()
      await turn(gateway)
      expect(orders).toHaveLength(3)
      expect(await stateOf(refund)).toMatchObject({ status: 'completed' })
      expect(await ordersOf(refund.id)).toHaveLength(1)
      await expectBalancedBooks(merchant.id)
    },
  )

  test.each([
    ['lost', LOST],
    ['down', DOWN],
    ['turned down', NO],
  ])('to a question (%s) rejects nothing and sends nothing', async (_, answer) => {
    const refund = await openRefund()
    const { gateway, orders } = bank({ sent: [LOST], asked: Array(5).fill(answer) })
    for (let count = 0; count < 6; count++) await turn(gateway)
    expect(orders).toHaveLength(1)
    expect(await stateOf(refund)).toMatchObject({ status: 'pending' })
    expect(await readBalances(merchant.id, 'test')).toEqual({ available: 7_000, outbound: 3_000 })
    await expectBalancedBooks(merchant.id)
  })

  test('for as long as it takes: the money stays held', async () => {
    const refund = await openRefund()
    const { gateway, orders } = bank({ sent: Array(30).fill(LOST), arrives: false })
    for (let count = 0; count < 30; count++) await turn(gateway)
    expect(new Set(orders.map(order => order.id))).toEqual(new Set([bareId(refund.id)]))
    expect(await stateOf(refund)).toMatchObject({ status: 'pending' })
    await expectBalancedBooks(merchant.id)
  })
})

describe('refused', () => {
  test('at once: it is rejected with the reason, and the merchant has the money', async () => {
    const refund = await openRefund()
    const { gateway } = bank({ sent: [NO], arrives: false })
    await turn(gateway)
    const rejected = { status: 'rejected', rejection_reason: 'The account was closed' }
    expect(await stateOf(refund)).toMatchObject(rejected)
    expect(await readBalances(merchant.id, 'test')).toEqual({ available: 10_000, outbound: 0 })
    await expectBalancedBooks(merchant.id)
  })

  test('after it was taken, by the simulated bank itself', async () => {
    const refund = await openRefund()
    await db().$executeRaw`
      INSERT INTO simulator_orders (id, kind, amount, state, reason, settles_at)
      VALUES (${bareId(refund.id)}, 'refund', 3000, 'refused', 'Past the limit', now())`
    expect(await send()).toBe(1)
    const rejected = { status: 'rejected', rejection_reason: 'Past the limit' }
    expect(await stateOf(refund)).toMatchObject(rejected)
    await expectBalancedBooks(merchant.id)
  })
})

describe('a crash', () => {
  test('after the bank was told, before we wrote it down: the same order is found again', async () => {
    const refund = await openRefund()
    const [held] = await claim('refunds', 1)
    await simulator.refundCharge({ id: bareId(refund.id), endToEndId: '-', amount: 3_000 })
    await letBankSettle()
    expect(held?.attempts).toBe(1)
    const { gateway, orders } = bank()
    await turn(gateway)
    expect(orders).toEqual([])
    expect(await stateOf(refund)).toMatchObject({ status: 'completed' })
    expect(await ordersOf(refund.id)).toHaveLength(1)
    await expectBalancedBooks(merchant.id)
  })

  test('before the bank was told: it is told by whoever takes it up', async () => {
    const refund = await openRefund()
    await claim('refunds', 1)
    const { gateway, orders, questions } = bank()
    await turn(gateway)
    expect(questions).toEqual([bareId(refund.id)])
    expect(orders).toHaveLength(1)
  })

  test('of one refund keeps its lease, and the others do not wait for it', async () => {
    const broken = await openRefund()
    const fine = await openRefund()
    await db().$executeRaw`
      UPDATE charges SET end_to_end_id = NULL WHERE id = ${broken.chargeId}::uuid`
    expect(await send()).toBe(2)
    expect(await ordersOf(fine.id)).toHaveLength(1)
    expect(await ordersOf(broken.id)).toEqual([])
    const kept = await db().refund.findFirstOrThrow({ where: { id: broken.id } })
    expect(kept).toMatchObject({ status: 'pending', lease: expect.any(String) })
    await expectBalancedBooks(merchant.id)
  })
})

describe('a worker whose lease has passed to another', () => {
  async function expectCompletedOnce(refund: { id: string; chargeId: string }, stub: StubBank) {
    stub.settle()
    await turn(stub)
    expect(await stateOf(refund)).toMatchObject({ status: 'completed', rejection_reason: null })
    expect(stub.debitsOf(bareId(refund.id))).toBe(1)
    const where = { subjectId: refund.chargeId, type: { startsWith: 'transaction.refund' } }
    expect(await db().event.count({ where })).toBe(1)
    expect(await readBalances(merchant.id, 'test')).toEqual({ available: 7_000, outbound: 0 })
    await expectBalancedBooks(merchant.id)
  }

  test('rejects nothing that its successor has sent, whatever the bank answers it', async () => {
    const refund = await openRefund()
    const stub = new StubBank()
    stub.stall('before', async () => {
      await turn(stub)
      return NO
    })
    await turn(stub)
    expect(await stateOf(refund)).toMatchObject({ status: 'pending', rejection_reason: null })
    await expectCompletedOnce(refund, stub)
  })

  test('neither completes nor sends anything while the successor is at work', async () => {
    const refund = await openRefund()
    const stub = new StubBank()
    stub.isQuick = true
    await turn(stub)
    stub.stall('after', async () => {
      await fallDue()
      await claim('refunds', 1)
    })
    await turn(stub)
    expect(await stateOf(refund)).toMatchObject({ status: 'pending' })
    await expectCompletedOnce(refund, stub)
  })

  test('sends nothing any more: the successor has', async () => {
    const refund = await openRefund()
    const stub = new StubBank()
    stub.decide(bareId(refund.id), { sends: ['lost before'] })
    await turn(stub)
    stub.stall('after', () => turn(stub))
    await turn(stub)
    expect(stub.sent).toHaveLength(2)
    await expectCompletedOnce(refund, stub)
  })
})

test('four workers at once send each of 60 refunds once, and complete it once', async () => {
  const chargeId = await payCharge(60_000)
  const order = { amount: 1_000 }
  const refunds = await Promise.all(
    Array.from({ length: 60 }, () => createRefund(merchant.id, 'test', chargeId, order)),
  )
  const where = { accountId: merchant.id, status: 'completed' }
  for (let round = 0; round < 2; round++) {
    const taken = await Promise.all(Array.from({ length: 4 }, send))
    expect(taken.reduce((sum, count) => sum + count)).toBeGreaterThanOrEqual(60)
    await letBankSettle()
    await fallDue()
  }
  expect(await db().refund.count({ where })).toBe(60)
  const ids = refunds.map(({ id }) => bareId(id))
  expect(await db().simulatorOrder.count({ where: { id: { in: ids } } })).toBe(60)
  expect(await db().event.count({ where: { subjectId: chargeId } })).toBe(61)
  expect(await readBalances(merchant.id, 'test')).toEqual({ available: 0, outbound: 0 })
  await expectBalancedBooks(merchant.id)
})

test('the worker does it: a few seconds after it was asked for, the payer has the money', async () => {
  const refund = await openRefund()
  const worker = startWorker()
  const status = async () => (await stateOf(refund))?.status
  await expect.poll(status, { timeout: 15_000, interval: 100 }).toBe('completed')
  await worker.stop()
  expect(await findCharge(merchant.id, 'test', refund.chargeId)).toMatchObject({
    refunded_amount: 3_000,
  })
  await expectBalancedBooks(merchant.id)
})
