import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import {
  type Gateway,
  type GatewayResult,
  type OrderState,
  type RefundOrder,
  spiRefusal,
} from '#lib/banks/gateway.ts'
import { simulator } from '#lib/banks/simulator.ts'
import { findCharge } from '#lib/charges/list.ts'
import { createRefund, findRefund } from '#lib/charges/refunds/refund.ts'
import { simulateCharge } from '#lib/charges/simulate.ts'
import { removeHyphens } from '#lib/core/ids.ts'
import type { Mode } from '#lib/core/mode.ts'
import { db } from '#lib/db/client.ts'
import { renewSlot } from '#lib/orders/order.ts'
import { readBalances } from '#lib/testing/balances.ts'
import { StubBank } from '#lib/testing/bank.ts'
import {
  addConnection,
  assignConnection,
  fundLive,
  readRestsAlways,
  replaceBank,
  restConnection,
} from '#lib/testing/connection.ts'
import {
  CHARGE,
  expectBalancedLedger,
  inOwnDatabase,
  makeMerchant,
  openCharge,
  runAsOwner,
} from '#lib/testing/fixtures.ts'
import {
  changeOrder,
  claimOrders,
  dropOrders,
  orderOf,
  sendDueRefunds,
} from '#lib/testing/orders.ts'
import { startWorker } from '#lib/worker/worker.ts'

inOwnDatabase()

let merchant: Account
let connectionId: string
beforeAll(async () => {
  connectionId = await addConnection(simulator)
})
beforeEach(async () => {
  await dropOrders()
  merchant = await makeMerchant()
  await assignConnection(connectionId, merchant)
})

interface OpenedRefund {
  id: string
  chargeId: string
  mode: Mode
  endToEndId: string
}

async function openRefund(mode: Mode = 'live'): Promise<OpenedRefund> {
  const chargeId = mode === 'live' ? await fundLive(merchant, 10_000) : await payTestCharge(10_000)
  const { id } = await createRefund(merchant.id, mode, chargeId, { amount: 3_000 })
  const charge = await findCharge(merchant.id, mode, chargeId)
  return { id, chargeId, mode, endToEndId: charge?.end_to_end_id ?? '' }
}

async function payTestCharge(amount: number): Promise<string> {
  const { id } = await openCharge(merchant, amount)
  await simulateCharge(merchant.id, id, 'paid')
  return id
}

const stateOf = ({ id, chargeId, mode }: OpenedRefund) =>
  findRefund(merchant.id, mode, chargeId, id)
/** As if time had passed: also for orders of workers that died. */
const makeDue = () => db().$executeRaw`
  UPDATE bank_orders SET due_at = now(), slot_until = LEAST(slot_until, now() - interval '1 second')
  WHERE due_at IS NOT NULL`
const ordersOf = (id: string) => db().simulatorOrder.findMany({ where: { id: removeHyphens(id) } })
const settleAtBank = () =>
  db().$executeRaw`UPDATE simulator_orders SET settles_at = now() WHERE kind = 'refund'`
const send = (bank: Gateway = simulator) => {
  replaceBank(connectionId, bank)
  return sendDueRefunds()
}

const LOST: GatewayResult<never> = { outcome: 'unknown', reason: 'the connection broke' }
const DOWN: GatewayResult<never> = { outcome: 'retryable', reason: 'down' }
const REJECTED: GatewayResult<never> = {
  outcome: 'rejected',
  ...spiRefusal('AC07', 'Conta encerrada'),
}
const ACCEPTED: GatewayResult<OrderState> = { outcome: 'ok', value: { state: 'taken' } }

interface BankScript {
  /** Responses to the first orders. Null, and every later order, uses the simulator. */
  orderResponses?: (GatewayResult<OrderState> | null)[]
  /** Responses to the first queries; later queries use the simulator. */
  queryResponses?: GatewayResult<OrderState | null>[]
  /** Whether orders reach the bank; true by default. */
  reachesBank?: boolean
}

function scriptedBank({
  orderResponses = [],
  queryResponses = [],
  reachesBank = true,
}: BankScript = {}) {
  const orders: RefundOrder[] = []
  const queries: Parameters<Gateway['getRefund']>[0][] = []
  const gateway: Gateway = {
    ...simulator,
    failuresMax: Number.POSITIVE_INFINITY,
    async refundCharge(order) {
      const { payerEmail: _, ...sent } = order
      orders.push(sent)
      const planned = orderResponses.shift()
      const real = reachesBank || !planned ? await simulator.refundCharge(order) : null
      return planned ?? real ?? LOST
    },
    async getRefund(refund) {
      queries.push(refund)
      return queryResponses.shift() ?? simulator.getRefund(refund)
    },
  }
  return { gateway, orders, queries }
}

async function makeDueAndSend(gateway: Gateway): Promise<void> {
  await makeDue()
  await send(gateway)
}

test('a due refund is sent once under its own id and completed when the bank has settled it', async () => {
  const refund = await openRefund('test')
  expect(await send()).toBe(1)
  expect(await ordersOf(refund.id)).toMatchObject([{ kind: 'refund', amount: 3_000n }])
  expect(await stateOf(refund)).toMatchObject({ status: 'pending' })
  expect(await send()).toBe(0)
  await settleAtBank()
  await makeDue()
  expect(await send()).toBe(1)
  const [order] = await ordersOf(refund.id)
  expect(await stateOf(refund)).toMatchObject({ status: 'completed', return_id: order?.endToEndId })
  expect(await readBalances(merchant.id, 'test')).toEqual({ available: 7_000, outbound: 0 })
  await makeDue()
  expect(await send()).toBe(0)
  await expectBalancedLedger(merchant.id)
})

test("the bank receives the payment's end-to-end id, the amount and the id without hyphens", async () => {
  const refund = await openRefund()
  const { gateway, orders, queries } = scriptedBank()
  await makeDueAndSend(gateway)
  expect(orders).toEqual([
    { id: removeHyphens(refund.id), endToEndId: refund.endToEndId, amount: 3_000 },
  ])
  expect(queries).toEqual([])
})

test('a refund accepted by the bank is queried after growing pauses, and not sent again', async () => {
  const refund = await openRefund()
  const { gateway, orders, queries } = scriptedBank({ queryResponses: [ACCEPTED, ACCEPTED] })
  await makeDueAndSend(gateway)
  for (const [ageS, pauseS] of [
    [60, 10],
    [3_600, 600],
  ] as const) {
    const slotUntil = new Date(Date.now() + 30_000 - ageS * 1_000)
    await changeOrder(refund.id, { slotUntil, dueAt: new Date() })
    await send(gateway)
    const { dueAt, lease } = await orderOf(refund.id)
    const waitS = ((dueAt?.getTime() ?? 0) - Date.now()) / 1_000
    expect(lease).toBeNull()
    expect(waitS).toBeGreaterThan(pauseS / 2)
    expect(waitS).toBeLessThanOrEqual(pauseS + 1)
  }
  expect(orders).toHaveLength(1)
  const query = { id: removeHyphens(refund.id), endToEndId: refund.endToEndId }
  expect(queries).toMatchObject([query, query])
  expect(await stateOf(refund)).toMatchObject({ status: 'pending' })
  await expectBalancedLedger(merchant.id)
})

describe('a lost response', () => {
  test('to an order that the bank has: the order is queried and never sent again', async () => {
    const refund = await openRefund()
    const { gateway, orders } = scriptedBank({ orderResponses: [LOST] })
    await makeDueAndSend(gateway)
    expect(await stateOf(refund)).toMatchObject({ status: 'pending', rejection_reason: null })
    await settleAtBank()
    await makeDueAndSend(gateway)
    expect(orders).toHaveLength(1)
    expect(await stateOf(refund)).toMatchObject({ status: 'completed' })
    await expectBalancedLedger(merchant.id)
  })

  test.each([
    ['lost', LOST],
    ['down', DOWN],
  ])(
    'to an order that the bank does not have (%s): it is sent again with the same id',
    async (_, response) => {
      const refund = await openRefund()
      const { gateway, orders } = scriptedBank({
        orderResponses: [response, response],
        reachesBank: false,
      })
      while (orders.length < 3) await makeDueAndSend(gateway)
      expect(orders.map(order => order.id)).toEqual(Array(3).fill(removeHyphens(refund.id)))
      await settleAtBank()
      await makeDueAndSend(gateway)
      expect(orders).toHaveLength(3)
      expect(await stateOf(refund)).toMatchObject({ status: 'completed' })
      expect(await ordersOf(refund.id)).toHaveLength(1)
      await expectBalancedLedger(merchant.id)
    },
  )

  test.each([
    ['lost', LOST],
    ['down', DOWN],
    ['turned down', REJECTED],
  ])('to a query (%s) rejects nothing and sends nothing', async (_, response) => {
    const refund = await openRefund()
    const { gateway, orders } = scriptedBank({
      orderResponses: [LOST],
      queryResponses: Array(5).fill(response),
    })
    for (let count = 0; count < 6; count++) await makeDueAndSend(gateway)
    expect(orders).toHaveLength(1)
    expect(await stateOf(refund)).toMatchObject({ status: 'pending' })
    expect(await readBalances(merchant.id, 'live')).toEqual({ available: 7_000, outbound: 3_000 })
    await expectBalancedLedger(merchant.id)
  })

  test('repeated 30 times keeps the refund pending and the money held', async () => {
    const refund = await openRefund()
    const { gateway, orders } = scriptedBank({
      orderResponses: Array(30).fill(LOST),
      reachesBank: false,
    })
    for (let count = 0; count < 30; count++) await makeDueAndSend(gateway)
    expect(new Set(orders.map(order => order.id))).toEqual(new Set([removeHyphens(refund.id)]))
    expect(await stateOf(refund)).toMatchObject({ status: 'pending' })
    await expectBalancedLedger(merchant.id)
  })
})

test.each([
  ['blocks', { outcome: 'blocked', code: 'scope', reason: 'no scope' }, 300],
  ['wants a pause', { outcome: 'retryable', reason: 'busy', retryAfterMs: 90_000 }, 90],
] as const)('while the bank %s the refund waits, and nothing is rejected', async (_, result, s) => {
  const refund = await openRefund()
  const { gateway, orders, queries } = scriptedBank({
    orderResponses: [result, result, LOST],
    queryResponses: [result],
    reachesBank: false,
  })
  for (const attempt of ['order', 'order', 'query']) {
    await db().orderQueue.updateMany({ data: { pausedUntil: null } })
    if (attempt === 'query') await makeDueAndSend(gateway)
    expect(queries).toEqual([])
    await makeDueAndSend(gateway)
    expect(await stateOf(refund)).toMatchObject({ status: 'pending', rejection_reason: null })
    const [row] = await db().$queryRaw<{ seconds: number }[]>`
      SELECT extract(epoch FROM due_at - clock_timestamp())::float8 AS seconds FROM bank_orders
      WHERE id = ${refund.id}::uuid AND lease IS NULL`
    expect(row?.seconds).toBeGreaterThan(s / 2)
    expect(row?.seconds).toBeLessThanOrEqual(s)
  }
  while (orders.length < 4) await makeDueAndSend(gateway)
  await settleAtBank()
  await makeDueAndSend(gateway)
  expect(orders).toHaveLength(4)
  expect(await stateOf(refund)).toMatchObject({ status: 'completed' })
  await expectBalancedLedger(merchant.id)
})

describe('a refused refund', () => {
  test('is rejected with the reason, and the money returns to the merchant', async () => {
    const refund = await openRefund()
    const { gateway } = scriptedBank({ orderResponses: [REJECTED], reachesBank: false })
    await makeDueAndSend(gateway)
    const rejected = { status: 'rejected', rejection_reason: 'The receiving account is closed' }
    expect(await stateOf(refund)).toMatchObject(rejected)
    expect(await readBalances(merchant.id, 'live')).toEqual({ available: 10_000, outbound: 0 })
    await expectBalancedLedger(merchant.id)
  })

  test('is rejected also if the simulator refuses it after accepting it', async () => {
    const refund = await openRefund()
    await db().$executeRaw`
      INSERT INTO simulator_orders (id, kind, amount, state, reason, settles_at)
      VALUES (${removeHyphens(refund.id)}, 'refund', 3000, 'refused', 'Past the limit', now())`
    expect(await send()).toBe(1)
    const rejected = { status: 'rejected', rejection_reason: 'Past the limit' }
    expect(await stateOf(refund)).toMatchObject(rejected)
    await expectBalancedLedger(merchant.id)
  })
})

describe('a crash', () => {
  test('after the bank call and before the write finds the same order again', async () => {
    const refund = await openRefund()
    const [claimed] = await claimOrders('waiting', 1, connectionId, 'refund')
    expect(claimed && (await renewSlot(claimed))).toBeNull()
    await simulator.refundCharge({ id: removeHyphens(refund.id), endToEndId: '-', amount: 3_000 })
    await settleAtBank()
    const { gateway, orders } = scriptedBank()
    await makeDueAndSend(gateway)
    expect(orders).toEqual([])
    expect(await stateOf(refund)).toMatchObject({ status: 'completed' })
    expect(await ordersOf(refund.id)).toHaveLength(1)
    await expectBalancedLedger(merchant.id)
  })

  test('before the bank call leaves the order to the next worker', async () => {
    const refund = await openRefund()
    await claimOrders('waiting', 1, connectionId, 'refund')
    const { gateway, orders, queries } = scriptedBank()
    await makeDueAndSend(gateway)
    expect(orders).toHaveLength(0)
    await makeDueAndSend(gateway)
    expect(queries).toEqual([])
    expect(orders).toMatchObject([{ id: removeHyphens(refund.id) }])
  })

  test('of one refund keeps its lease and does not block the others', async () => {
    const broken = await openRefund()
    const fine = await openRefund()
    await runAsOwner(`
      CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'failed'; END $$;
      CREATE TRIGGER fail BEFORE INSERT ON simulator_orders FOR EACH ROW
        WHEN (new.id = '${removeHyphens(broken.id)}') EXECUTE FUNCTION fail()`)
    expect(await send()).toBe(2)
    await runAsOwner('DROP TRIGGER fail ON simulator_orders; DROP FUNCTION fail()')
    expect(await ordersOf(fine.id)).toHaveLength(1)
    expect(await ordersOf(broken.id)).toEqual([])
    expect(await stateOf(broken)).toMatchObject({ status: 'pending' })
    expect(await orderOf(broken.id)).toMatchObject({ lease: expect.any(String) })
    await expectBalancedLedger(merchant.id)
  })
})

describe('a worker that lost its lease', () => {
  async function expectCompletedOnce(refund: OpenedRefund, stub: StubBank) {
    stub.settle()
    await makeDueAndSend(stub)
    expect(await stateOf(refund)).toMatchObject({ status: 'completed', rejection_reason: null })
    expect(stub.countDebits(removeHyphens(refund.id))).toBe(1)
    const where = { subjectId: refund.chargeId, type: { startsWith: 'transaction.refund' } }
    expect(await db().event.count({ where })).toBe(1)
    expect(await readBalances(merchant.id, 'live')).toEqual({ available: 7_000, outbound: 0 })
    await expectBalancedLedger(merchant.id)
  }

  test('rejects nothing that the new holder has sent, whatever the bank returns', async () => {
    const refund = await openRefund()
    const stub = new StubBank()
    stub.stall('before', async () => {
      await makeDueAndSend(stub)
      return REJECTED
    })
    await makeDueAndSend(stub)
    expect(await stateOf(refund)).toMatchObject({ status: 'pending', rejection_reason: null })
    await expectCompletedOnce(refund, stub)
  })

  test('neither completes nor sends while the new holder works', async () => {
    const refund = await openRefund()
    const stub = new StubBank()
    stub.isQuick = true
    await makeDueAndSend(stub)
    stub.stall('after', async () => {
      await makeDue()
      await claimOrders('placed', 1, connectionId, 'refund')
    })
    await makeDueAndSend(stub)
    expect(await stateOf(refund)).toMatchObject({ status: 'pending' })
    await expectCompletedOnce(refund, stub)
  })

  test('does not send again an order that the new holder has sent', async () => {
    const refund = await openRefund()
    const stub = new StubBank()
    stub.setScript(removeHyphens(refund.id), { sends: ['lost before'] })
    await makeDueAndSend(stub)
    await makeDueAndSend(stub)
    stub.stall('after', async () => {
      await makeDueAndSend(stub)
      await makeDueAndSend(stub)
    })
    await makeDueAndSend(stub)
    expect(stub.sentOrders).toHaveLength(2)
    await expectCompletedOnce(refund, stub)
  })
})

async function sendAll(): Promise<number> {
  for (let total = 0; ; ) {
    const count = await send()
    if (count === 0) return total
    total += count
  }
}

test('four concurrent workers send and complete each of 60 refunds once', async () => {
  const chargeId = await payTestCharge(60_000)
  const order = { amount: 1_000 }
  const refunds = await Promise.all(
    Array.from({ length: 60 }, () => createRefund(merchant.id, 'test', chargeId, order)),
  )
  const where = { accountId: merchant.id, status: 'completed' }
  for (let round = 0; round < 2; round++) {
    const counts = await Promise.all(Array.from({ length: 4 }, sendAll))
    expect(counts.reduce((sum, count) => sum + count)).toBeGreaterThanOrEqual(60)
    await settleAtBank()
    await makeDue()
  }
  expect(await db().refund.count({ where })).toBe(60)
  const ids = refunds.map(({ id }) => removeHyphens(id))
  expect(await db().simulatorOrder.count({ where: { id: { in: ids } } })).toBe(60)
  expect(await db().event.count({ where: { subjectId: chargeId } })).toBe(61)
  expect(await readBalances(merchant.id, 'test')).toEqual({ available: 0, outbound: 0 })
  await expectBalancedLedger(merchant.id)
})

test('the running worker completes a refund within seconds', async () => {
  const refund = await openRefund('test')
  const worker = startWorker()
  const status = async () => (await stateOf(refund))?.status
  await expect.poll(status, { timeout: 15_000, interval: 100 }).toBe('completed')
  await worker.stop()
  expect(await findCharge(merchant.id, 'test', refund.chargeId)).toMatchObject({
    refunded_amount: 3_000,
  })
  await expectBalancedLedger(merchant.id)
})

test('a refund that the bank has taken and then forgets is not sent again', async () => {
  const refund = await openRefund()
  const bank = new StubBank()
  bank.setScript(removeHyphens(refund.id), { queries: ['forgotten', 'forgotten'] })
  await makeDueAndSend(bank)
  await makeDueAndSend(bank)
  await makeDueAndSend(bank)
  expect(bank.sentOrders).toHaveLength(1)
  expect(await stateOf(refund)).toMatchObject({ status: 'pending' })
  bank.settle()
  await makeDueAndSend(bank)
  expect(await stateOf(refund)).toMatchObject({ status: 'completed' })
  await expectBalancedLedger(merchant.id)
})

test('while the connection rests, its refunds wait unclaimed, and those of test mode go on', async () => {
  const restingId = await addConnection(new StubBank())
  await assignConnection(restingId, merchant)
  const bank = new StubBank()
  replaceBank(restingId, bank)
  const [waiting, other] = [await openRefund(), await openRefund('test')]
  await restConnection(restingId)
  readRestsAlways()
  expect(await sendDueRefunds()).toBe(1)
  expect(await ordersOf(other.id)).toHaveLength(1)
  expect(bank.sentOrders).toEqual([])
  expect(await orderOf(waiting.id)).toMatchObject({ attempts: 0 })
})

test("the bank's text about a refund is stored without data of the payer", async () => {
  const refund = await openRefund()
  const { client_name: name, client_email: email, client_doc: doc } = CHARGE
  const refusal = spiRefusal('AC07', `Conta de ${name}, ${email}, ${doc}`)
  const value = { state: 'refused', ...refusal } as const
  const bank = new StubBank()
  await makeDueAndSend(bank)
  bank.getRefund = async () => ({ outcome: 'ok', value })
  await makeDueAndSend(bank)
  const bankText = 'Conta de ***, ***, ***'
  const calls = await db().gatewayCall.findMany({
    where: { subjectId: refund.id, operation: 'getRefund' },
  })
  expect(calls).toMatchObject([{ response: { state: 'refused', bankText } }])
  expect(await db().refund.findFirst({ where: { id: refund.id } })).toMatchObject({ bankText })
})
