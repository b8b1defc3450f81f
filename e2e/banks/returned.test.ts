import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { BankDays } from '#e2e/banks/bank-days.ts'
import { openAt } from '#e2e/banks/open.ts'
import { type RunningBank, startBank } from '#e2e/psp/start.ts'
import type { Account } from '#lib/accounts/schema.ts'
import { storeNotices } from '#lib/banks/notices.ts'
import { gatewayOfConnection } from '#lib/banks/served.ts'
import { createPaymentReader } from '#lib/charges/read-payments.ts'
import { matchPayments } from '#lib/charges/receive.ts'
import { OPERATOR_ACCOUNT_ID, removeHyphens } from '#lib/core/ids.ts'
import { dayOf } from '#lib/core/locale.ts'
import { db } from '#lib/db/client.ts'
import { readConnectionBalance } from '#lib/operator/reconciliation/balance.ts'
import { shiftDay, startOf } from '#lib/operator/reconciliation/claim-day.ts'
import { readBalances } from '#lib/testing/balances.ts'
import { readDisputeLists } from '#lib/testing/bank-lists.ts'
import { assignConnection, openLiveCharge } from '#lib/testing/connection.ts'
import { expectBalancedLedger, inOwnDatabase, makeMerchant } from '#lib/testing/fixtures.ts'
import { askAboutNotices } from '#lib/worker/worker.ts'

inOwnDatabase()

const AMOUNT = 5_000
const DAY = shiftDay(dayOf(new Date()), -1)

let standard: RunningBank
let connectionId: string
let days: BankDays
let merchant: Account
beforeAll(async () => {
  days = await BankDays.open(DAY)
  standard = await startBank({})
  connectionId = (await openAt(standard)).id
  merchant = await makeMerchant()
  await assignConnection(connectionId, merchant)
})
afterEach(async () => {
  for (const id of [merchant.id, days.merchant.id, OPERATOR_ACCOUNT_ID])
    await expectBalancedLedger(id)
})
afterAll(async () => {
  await standard.stop()
  await days.close()
})

const availableOf = async ({ id }: Account) => (await readBalances(id, 'live')).available
const returnsOf = (endToEndId: string) => db().paymentReturn.findMany({ where: { endToEndId } })

/** A paid charge at a bank without statements and disputes. */
async function pay() {
  const { id } = await openLiveCharge(merchant, AMOUNT)
  const txid = removeHyphens(id)
  // Lists end with the second before.
  const [payment] = await standard.run('pay', { txid, secondsAgo: 60 })
  const endToEndId = payment?.e2eid ?? expect.unreachable()
  const paidAt = new Date(payment?.at ?? 0)
  const listed = { endToEndId, amount: AMOUNT, paidAt, txid }
  await matchPayments({ id: connectionId, mode: 'live' }, [listed])
  return { id, endToEndId }
}

/** Reads what is due half a day after the last time. */
let clock = Date.now()
async function readLists(): Promise<void> {
  clock += 12 * 3_600_000
  const reader = createPaymentReader(() => new Date(clock))
  await reader.run()
  await reader.idle()
}

test('a notice of a return leads to a question about the payment, which is booked already', async () => {
  const before = await availableOf(merchant)
  const { endToEndId } = await pay()
  const id = await standard.run('takeBack', { e2eid: endToEndId, amount: 2_000 })
  const { parseWebhook } = await gatewayOfConnection(connectionId)
  const devolucoes = [{ id, rtrId: id, status: 'DEVOLVIDO', valor: '99.99' }]
  const body = JSON.stringify({ pix: [{ endToEndId, devolucoes }] })
  for (let time = 0; time < 2; time++) {
    await storeNotices(connectionId, parseWebhook?.(body) ?? [])
    await askAboutNotices()
    // The worker does not await what it asks.
    await expect.poll(() => returnsOf(endToEndId)).toHaveLength(1)
  }
  expect(await returnsOf(endToEndId)).toMatchObject([
    { returnId: id, amount: 2_000n, nature: 'MED_FRAUDE' },
  ])
  expect(await availableOf(merchant)).toBe(before + AMOUNT - 2_000)
})

test('a notice about which the bank does not answer has the list of returned payments read at once', async () => {
  const { endToEndId } = await pay()
  await readLists()
  const id = await standard.run('takeBack', { e2eid: endToEndId, amount: 2_000 })
  const path = `/v2/pix/${endToEndId}`
  await standard.run('addFault', { kind: 'respond', method: 'GET', path, status: 503, times: 5 })
  await storeNotices(connectionId, [{ kind: 'payment_return', id: endToEndId }])
  await askAboutNotices()
  const where = { connectionId, pace: 'returned', isWanted: true }
  await expect.poll(() => db().paymentReading.count({ where })).toBe(1)
  await standard.run('clearFaults')
  const reader = createPaymentReader(() => new Date(clock))
  await reader.run()
  await reader.idle()
  expect(await returnsOf(endToEndId)).toMatchObject([{ returnId: id }])
})

test('without notices, the list of returned payments finds what left days ago, once', async () => {
  const before = await availableOf(merchant)
  const { endToEndId } = await pay()
  await readLists()
  for (const amount of [1_000, 4_000]) await standard.run('takeBack', { e2eid: endToEndId, amount })
  for (let time = 0; time < 3; time++) await readLists()
  expect((await returnsOf(endToEndId)).map(({ amount }) => amount)).toEqual([1_000n, 4_000n])
  expect(await availableOf(merchant)).toBe(before)
})

test('the statement of the night finds what no list had, and the day is green', async () => {
  const noon = new Date(startOf(DAY).getTime() + 12 * 3_600_000)
  const endToEndId = await days.at(noon, async () => {
    const { payments } = await days.receive(AMOUNT)
    const [{ endToEndId = '' } = {}] = payments
    await days.account.bank.run('takeBack', { e2eid: endToEndId, amount: 3_000 })
    return endToEndId
  })
  await days.reconcileAfter(DAY)
  expect(await days.judge(DAY)).toMatchObject({ state: 'green', items: [] })
  // The payment itself names the reason, which no statement does.
  expect(await returnsOf(endToEndId)).toMatchObject([{ amount: 3_000n, nature: 'MED_FRAUDE' }])
  expect(await availableOf(days.merchant)).toBe(AMOUNT - 3_000)
  expect((await readConnectionBalance(days.account.id)).rest).toBe(0)
})

test.each(['dispute', 'return'])(
  'of a lost dispute whose %s is read first, the money leaves once',
  async first => {
    const before = await availableOf(days.merchant)
    const aMinuteAgo = new Date(Date.now() - 60_000)
    const { payments } = await days.at(aMinuteAgo, () => days.receive(AMOUNT))
    const [{ endToEndId = '' } = {}] = payments
    const id = await days.account.bank.run('openDispute', { e2eid: endToEndId })
    await readDisputeLists()
    await days.account.bank.run('closeDispute', { id, isAccepted: true })
    const reads = [() => readDisputeLists(), () => readLists()]
    for (const read of first === 'dispute' ? reads : reads.toReversed()) await read()
    expect(await returnsOf(endToEndId)).toMatchObject([{ amount: BigInt(AMOUNT) }])
    const dispute = await db().dispute.findFirstOrThrow({ where: { bankId: id } })
    expect(dispute).toMatchObject({ status: 'lost', lostAmount: BigInt(AMOUNT) })
    expect(await availableOf(days.merchant)).toBe(before)
    expect(await db().difference.count({ where: { key: { contains: id } } })).toBe(0)
  },
)
