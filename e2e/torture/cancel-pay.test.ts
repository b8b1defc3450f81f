import { afterAll, beforeAll, expect, test } from 'vitest'
import { pickSize, recordFigures } from '#e2e/torture/figures.ts'
import { receivePayments } from '#lib/charges/receive.ts'
import { removeHyphens } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { readBalances } from '#lib/testing/balances.ts'
import { StubBank } from '#lib/testing/bank.ts'
import { call } from '#lib/testing/call.ts'
import { connectBank, openLiveCharge } from '#lib/testing/connection.ts'
import {
  type Api,
  expectBalancedLedger,
  makeMerchant,
  makeToken,
  openCharge,
  startApi,
} from '#lib/testing/fixtures.ts'
import { makePayment } from '#lib/testing/payments.ts'
import { Random } from '#lib/testing/random.ts'
import { chooseSeed } from '#lib/testing/seed.ts'

const CHARGE_COUNT = pickSize(100, 1_000)
/** Charges that are cancelled and paid at the same time as others. */
const LOOP_COUNT = 10
const AMOUNT = 1_000

let api: Api
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.close())

interface Race {
  /** Status of the response to the cancellation. */
  cancelled: number
  isPaid: boolean
}

/** Starts both at once, in the given order. */
async function race(
  isCancelFirst: boolean,
  cancel: () => Promise<{ status: number }>,
  pay: () => Promise<boolean>,
): Promise<Race> {
  const first = isCancelFirst ? cancel() : null
  const [isPaid, { status }] = await Promise.all([pay(), first ?? cancel()])
  return { cancelled: status, isPaid }
}

/** Calls back when a removal reaches the bank, and when the bank has done it. */
function watchRemovals(bank: StubBank) {
  const callbacks = new Map<string, () => void>()
  const remove = bank.cancelCharge.bind(bank)
  bank.cancelCharge = async (txid, signal) => {
    callbacks.get(`reached ${txid}`)?.()
    const result = await remove(txid, signal)
    callbacks.get(`removed ${txid}`)?.()
    return result
  }
  return (moment: 'reached' | 'removed', txid: string) =>
    new Promise<void>(resolve => callbacks.set(`${moment} ${txid}`, resolve))
}

async function raceAll(one: (number: number) => Promise<[string, Race]>) {
  const numbers = Array.from({ length: CHARGE_COUNT }, (_, number) => number).values()
  const races: [string, Race][] = []
  const loops = Array.from({ length: LOOP_COUNT }, async () => {
    for (const number of numbers) races.push(await one(number))
  })
  await Promise.all(loops)
  return races
}

async function readEnd(accountId: string, id: string) {
  const where = { accountId_id: { accountId, id } }
  const { status, cancelledAt } = await db().charge.findUniqueOrThrow({ where })
  const events = await db().event.findMany({
    where: { accountId, subjectId: id },
    orderBy: { sequence: 'asc' },
  })
  return { status, isCancelled: cancelledAt !== null, events: events.map(({ type }) => type) }
}

const cancelAs = (token: string, id: string) =>
  call(api.url, 'POST', `/transactions/${id}/cancel`, { token, body: {} })

test(`${CHARGE_COUNT} charges that a program cancels while a bank has them paid: each is one of both`, async () => {
  const [merchant, bank] = [await makeMerchant(), new StubBank()]
  await connectBank(bank, merchant)
  const token = await makeToken(merchant.id, { mode: 'live' })
  const waitFor = watchRemovals(bank)
  const random = new Random(chooseSeed(), 0)
  const races = await raceAll(async () => {
    const { id } = await openLiveCharge(merchant, AMOUNT)
    const txid = removeHyphens(id)
    // A bank lets a charge be paid or removed, and reports a payment that it took.
    const moment = random.pick(['at once', 'reached', 'removed'] as const)
    const pay = async () => {
      if (moment !== 'at once') await waitFor(moment, txid)
      if (bank.charges.get(txid)?.state !== 'open') return false
      const payments = [makePayment(AMOUNT)]
      bank.charges.set(txid, { state: 'paid', payments })
      await receivePayments([{ accountId: merchant.id, chargeId: id, payments }])
      return true
    }
    return [id, await race(random.chance(0.5), () => cancelAs(token, id), pay)]
  })
  for (const [id, { cancelled, isPaid }] of races) {
    expect([200, 409], id).toContain(cancelled)
    const [status, event] = isPaid ? ['paid', 'paid'] : ['expired', 'expired']
    const expected = { status, isCancelled: !isPaid, events: [`transaction.${event}`] }
    expect([cancelled === 200, await readEnd(merchant.id, id)], id).toEqual([!isPaid, expected])
  }
  const paidCount = races.filter(([, { isPaid }]) => isPaid).length
  recordFigures('cancellations against a bank', {
    paid: paidCount,
    cancelled: races.length - paidCount,
  })
  expect(paidCount).toBeGreaterThan(0)
  expect(paidCount).toBeLessThan(races.length)
  expect((await readBalances(merchant.id, 'live')).available).toBe(paidCount * AMOUNT)
  await expectBalancedLedger(merchant.id)
}, 600_000)

test(`${CHARGE_COUNT} charges that the simulator pays while they are cancelled: each is credited once`, async () => {
  const merchant = await makeMerchant()
  const token = await makeToken(merchant.id)
  const random = new Random(chooseSeed(), 1)
  const races = await raceAll(async () => {
    const { id } = await openCharge(merchant, AMOUNT)
    const body = { outcome: 'paid' }
    const pay = async () =>
      (await call(api.url, 'POST', `/sandbox/transactions/${id}`, { token, body })).status === 200
    return [id, await race(random.chance(0.5), () => cancelAs(token, id), pay)]
  })
  for (const [id, { cancelled }] of races) {
    const isCancelled = cancelled === 200
    // A payment after the cancellation is credited: the charge was expired, and is paid.
    const events = [...(isCancelled ? ['transaction.expired'] : []), 'transaction.paid']
    expect(await readEnd(merchant.id, id), id).toEqual({ status: 'paid', isCancelled, events })
  }
  const cancelledCount = races.filter(([, { cancelled }]) => cancelled === 200).length
  recordFigures('cancellations against the simulator', {
    'paid after it': cancelledCount,
    'paid before it': races.length - cancelledCount,
  })
  expect((await readBalances(merchant.id, 'test')).available).toBe(CHARGE_COUNT * AMOUNT)
  await expectBalancedLedger(merchant.id)
}, 600_000)
