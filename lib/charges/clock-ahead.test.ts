import { beforeEach, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { createPaymentReader } from '#lib/charges/read-payments.ts'
import { removeHyphens } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { StubBank } from '#lib/testing/bank.ts'
import { connectBank, openLiveCharge } from '#lib/testing/connection.ts'
import { inOwnDatabase, makeMerchant } from '#lib/testing/fixtures.ts'
import { makePayment } from '#lib/testing/payments.ts'

// The reader reads the lists of all connections.
inOwnDatabase()

const AMOUNT = 100_000
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** A bank that lists payments of the period only, up to the time of the call by its own clock. */
class PeriodBank extends StubBank {
  now = () => new Date()
  readonly begun: Date[] = []
  override async listPayments(since: Date, cursor: string | null) {
    if (cursor === null) this.begun.push(since)
    const from = Math.min(since.getTime(), this.now().getTime())
    const items = this.payments.filter(({ paidAt }) => paidAt.getTime() >= from)
    return { outcome: 'ok', value: { items, nextCursor: null } } as const
  }
}

let merchant: Account
let bank: PeriodBank
let clock: number
beforeEach(async () => {
  await db().paymentReading.updateMany({ data: { dueAt: new Date('2100-01-01') } })
  merchant = await makeMerchant()
  bank = new PeriodBank()
  const connectionId = await connectBank(bank, merchant)
  clock = Date.now()
  const createdAt = new Date(clock - 10 * DAY_MS)
  await db().connection.update({ where: { id: connectionId }, data: { createdAt } })
})

async function read(offsetMs = 0): Promise<void> {
  const now = () => new Date(clock + offsetMs)
  bank.now = now
  const reader = createPaymentReader(now)
  await reader.run()
  await reader.idle()
}
const statusOf = async (id: string) =>
  (await db().charge.findFirstOrThrow({ where: { id } })).status

test('the clock of a worker that is an hour ahead makes no later reading wait', async () => {
  await read()
  clock += 5 * 60_000
  await read(HOUR_MS)
  bank.begun.length = 0
  await read()
  expect(bank.begun.map(since => clock - since.getTime())).toEqual([15 * 60_000])
  clock += 5 * 60_000
  bank.begun.length = 0
  await read()
  expect(bank.begun.map(since => clock - since.getTime())).toEqual([15 * 60_000])
})

test('a clock a minute ahead makes no list longer', async () => {
  await read()
  clock += 5 * 60_000
  await read(60_000)
  bank.begun.length = 0
  clock += 6 * 60_000
  await read()
  expect(bank.begun.map(since => clock - since.getTime())).toEqual([15 * 60_000])
})

test('a worker whose clock is an hour ahead, once, hides no payment from the others', async () => {
  await read()
  clock += 5 * 60_000
  await read(HOUR_MS)
  const { id } = await openLiveCharge(merchant, AMOUNT)
  clock += 60_000
  bank.payments.push(makePayment(AMOUNT, { txid: removeHyphens(id), paidAt: new Date(clock) }))
  // Two hours of a worker with the right time.
  for (let minutes = 0; minutes < 120; minutes += 5) {
    clock += 5 * 60_000
    await read()
  }
  expect(await statusOf(id)).toBe('paid')
})
