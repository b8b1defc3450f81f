import { afterAll, beforeAll, expect, test } from 'vitest'
import { openAt } from '#e2e/banks/open.ts'
import { type RunningBank, startBank } from '#e2e/psp/start.ts'
import { checkConnection } from '#lib/banks/connections.ts'
import { createPaymentReader } from '#lib/charges/read-payments.ts'
import { payByUnmatched } from '#lib/charges/receive.ts'
import { newId, OPERATOR_ACCOUNT_ID } from '#lib/core/ids.ts'
import { dayOf } from '#lib/core/locale.ts'
import { env } from '#lib/core/settings.ts'
import { db } from '#lib/db/client.ts'
import { giveBack } from '#lib/operator/differences/differences.ts'
import { listOwnRows } from '#lib/operator/reconciliation/rows.ts'
import { openLiveCharge } from '#lib/testing/connection.ts'
import { operatorBalances } from '#lib/testing/differences.ts'
import { expectBalancedLedger, inOwnDatabase, makeMerchant } from '#lib/testing/fixtures.ts'
import { testInTorture } from '#lib/testing/torture.ts'
import { startWorkerProcess } from '#lib/testing/worker-process.ts'

inOwnDatabase()

const ACTOR = { type: 'user', id: newId() } as const
const AMOUNT = 7_300

let bank: RunningBank
let connectionId: string
beforeAll(async () => {
  bank = await startBank({ openingBalance: 100_000 })
  connectionId = (await openAt(bank)).id
  await checkConnection(connectionId, { type: 'system' })
})
afterAll(async () => {
  await bank.stop()
})

/** Returns the id of the item of a payment without txid, as the bank's list names it. */
async function receiveStray(): Promise<{ itemId: string; e2eid: string }> {
  const order = { key: bank.keys[0], amount: AMOUNT, secondsAgo: 5, dropsTxid: true }
  const [payment] = await bank.run('pay', order)
  const e2eid = payment?.e2eid ?? ''
  await db().$executeRaw`UPDATE payment_readings SET due_at = now() - interval '1 second'`
  const reader = createPaymentReader()
  await reader.run()
  await reader.idle()
  const { id: itemId } = await db().difference.findFirstOrThrow({ where: { key: e2eid } })
  return { itemId, e2eid }
}

const refundsOf = async (e2eid: string) =>
  (await bank.run('readRecords')).payments.find(one => one.e2eid === e2eid)?.refunds ?? []
/** Rows of a payment that today's reconciliation reads from the books. */
const listOwn = async (e2eid: string) =>
  (await listOwnRows(connectionId, dayOf(new Date()), []))
    .filter(({ keys }) => keys.includes(e2eid))
    .map(({ what, amount, state }) => [what, amount, state])
    .sort()
const resolution = async (id: string) =>
  (await db().difference.findUniqueOrThrow({ where: { id } })).resolution

testInTorture(
  'a worker that is killed after the bank took the order gives the money back once',
  async () => {
    const { itemId, e2eid } = await receiveStray()
    expect(await operatorBalances('live')).toMatchObject({ unmatched: AMOUNT, external: -AMOUNT })
    // The bank acts, and its response never comes: the worker dies while it waits.
    await bank.run('addFault', { kind: 'hang', method: 'PUT', path: '/v2/pix', hasActed: true })
    await giveBack({ itemId, reason: 'Paid by mistake', actor: ACTOR })
    const { TROCO_SECRET = '' } = env()
    const first = await startWorkerProcess({ TROCO_SECRET })
    await expect.poll(async () => (await refundsOf(e2eid)).length, { timeout: 10_000 }).toBe(1)
    await first.kill()
    expect(await resolution(itemId)).toBeNull()
    expect(await operatorBalances('live')).toMatchObject({ unmatched: AMOUNT })
    const second = await startWorkerProcess({ TROCO_SECRET })
    await expect
      .poll(
        async () => {
          await bank.run('settle')
          return resolution(itemId)
        },
        { timeout: 20_000 },
      )
      .toBe('give_back')
    expect(await second.stop()).toBe(0)
    expect(await refundsOf(e2eid)).toHaveLength(1)
    expect(await operatorBalances('live')).toMatchObject({ unmatched: 0, external: 0 })
    await expectBalancedLedger(OPERATOR_ACCOUNT_ID)
    expect(await listOwn(e2eid)).toEqual([
      ['payment', AMOUNT, 'booked'],
      ['refund', -AMOUNT, 'booked'],
    ])
  },
)

test('a payment that a person matches to a charge is one payment for the reconciliation', async () => {
  const { itemId, e2eid } = await receiveStray()
  const merchant = await makeMerchant('Loja')
  const where = { id: merchant.id }
  await db().account.update({ where, data: { receivingConnectionId: connectionId } })
  const { id: chargeId } = await openLiveCharge(merchant, AMOUNT)
  await payByUnmatched({ itemId, reason: 'Paid without the code', actor: ACTOR }, chargeId)
  expect(await listOwn(e2eid)).toEqual([['payment', AMOUNT, 'booked']])
  await expectBalancedLedger(merchant.id)
})
