import { beforeAll, expect, test } from 'vitest'
import { SIMULATOR_CONNECTION_ID } from '#lib/banks/served.ts'
import { newId, OPERATOR_ACCOUNT_ID, removeHyphens } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { giveBack, takeUnmatched } from '#lib/operator/differences/differences.ts'
import { readConnectionBalance } from '#lib/operator/reconciliation/balance.ts'
import { type OrderScript, StubBank } from '#lib/testing/bank.ts'
import { addConnection } from '#lib/testing/connection.ts'
import { keepStray, operatorBalances } from '#lib/testing/differences.ts'
import { expectBalancedLedger, inOwnDatabase } from '#lib/testing/fixtures.ts'
import { makeOrdersDue, sendDueReturns } from '#lib/testing/orders.ts'
import { startWorker } from '#lib/worker/worker.ts'

inOwnDatabase()

const ACTOR = { type: 'user', id: newId() } as const
const AMOUNT = 5_000
const bank = new StubBank()
bank.isQuick = true

let connectionId: string
beforeAll(async () => {
  connectionId = await addConnection(bank)
})

const decide = (itemId: string) => ({ itemId, reason: 'Paid by mistake', actor: ACTOR })
const findItem = (id: string) => db().difference.findUniqueOrThrow({ where: { id } })
const findReturn = (id: string) => db().unmatchedReturn.findFirstOrThrow({ where: { id } })
const makeDue = () => makeOrdersDue({ slots: true })

/** Orders a return of an unmatched payment, for which the bank follows the script. */
async function order(script: OrderScript = {}) {
  const { itemId, payment } = await keepStray(AMOUNT, { connectionId, mode: 'live' })
  const { id } = await giveBack(decide(itemId))
  bank.setScript(removeHyphens(id), script)
  return { itemId, id, payment }
}

async function sendUntilEnded(id: string): Promise<void> {
  while ((await findReturn(id)).status === 'pending') {
    await makeDue()
    await sendDueReturns()
  }
}

test('money goes back to its payer, and the item is resolved in the name of who ordered it', async () => {
  const { itemId, id, payment } = await order()
  expect((await findItem(itemId)).resolvedAt).toBeNull()
  expect((await operatorBalances('live')).unmatched).toBe(AMOUNT)
  await sendUntilEnded(id)
  expect(bank.sentOrders).toEqual([
    { id: removeHyphens(id), endToEndId: payment.endToEndId, amount: AMOUNT },
  ])
  expect(await operatorBalances('live')).toMatchObject({ unmatched: 0, external: 0, own: 0 })
  expect(await findItem(itemId)).toMatchObject({
    resolution: 'give_back',
    resolvedBy: ACTOR.id,
    reason: 'Paid by mistake',
  })
  await expect(giveBack(decide(itemId))).rejects.toMatchObject({ code: 'already_final' })
})

test('while the bank has the order, no other entry and no second order is accepted', async () => {
  const { itemId, id } = await order()
  for (const work of [giveBack, takeUnmatched])
    await expect(work(decide(itemId))).rejects.toMatchObject({ code: 'under_way' })
  await sendUntilEnded(id)
  await expectBalancedLedger(OPERATOR_ACCOUNT_ID)
})

test('of people who order at once, one wins', async () => {
  const { itemId } = await keepStray(AMOUNT, { connectionId, mode: 'live' })
  const works = [giveBack, giveBack, takeUnmatched]
  const results = await Promise.allSettled(works.map(work => work(decide(itemId))))
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  await makeDue()
  await sendDueReturns()
  await makeDue()
  await sendDueReturns()
  await expectBalancedLedger(OPERATOR_ACCOUNT_ID)
})

test('while the bank has the order, the balance of the connection expects the money to leave', async () => {
  const refundsOnTheWay = async () => (await readConnectionBalance(connectionId)).terms.refunds
  const { id } = await order({ sends: ['lost after'] })
  expect(await refundsOnTheWay()).toBe(0)
  await sendDueReturns()
  expect(await refundsOnTheWay()).toBe(-AMOUNT)
  await sendUntilEnded(id)
  expect(await refundsOnTheWay()).toBe(0)
})

test('a refused order leaves the unmatched money and the item open for another decision', async () => {
  const before = (await operatorBalances('live')).unmatched ?? 0
  const { itemId, id } = await order({ sends: ['rejected'] })
  await sendUntilEnded(id)
  expect(await findReturn(id)).toMatchObject({ status: 'rejected', rejectionCode: 'unspecified' })
  expect((await operatorBalances('live')).unmatched).toBe(before + AMOUNT)
  expect((await findItem(itemId)).resolvedAt).toBeNull()
  const again = await giveBack(decide(itemId))
  await sendUntilEnded(again.id)
  expect((await operatorBalances('live')).unmatched).toBe(before)
})

test.each<OrderScript>([
  { sends: ['lost before'] },
  { sends: ['lost after'] },
  { sends: ['lost after'], queries: ['lost', 'down', 'throws'] },
  { sends: ['arrives late'], queries: ['answered'] },
  { sends: ['throws after'], queries: ['busy'] },
])('an unknown outcome is asked about under the same id: %j', async script => {
  const { itemId, id } = await order(script)
  await sendUntilEnded(id)
  expect(bank.countDebits(removeHyphens(id))).toBe(1)
  const ids = bank.sentOrders.slice(-1).map(sent => sent.id)
  expect(ids).toEqual([removeHyphens(id)])
  expect((await findItem(itemId)).resolution).toBe('give_back')
  await expectBalancedLedger(OPERATOR_ACCOUNT_ID)
})

test('the worker gives back what was paid in test mode', async () => {
  const worker = startWorker()
  const { itemId } = await keepStray(AMOUNT, {
    connectionId: SIMULATOR_CONNECTION_ID,
    mode: 'test',
  })
  await giveBack(decide(itemId))
  await expect.poll(async () => (await findItem(itemId)).resolution).toBe('give_back')
  await worker.stop()
  await expectBalancedLedger(OPERATOR_ACCOUNT_ID)
})
