import { expect, test } from 'vitest'
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

test.each<[string, object]>([
  ['NUL in its end-to-end id', { endToEndId: 'E1\0' }],
  ['NUL in its txid', { txid: 'a\0' }],
])('a payment with %s keeps no other of its page from being credited', async (_, changes) => {
  const merchant = await makeMerchant()
  const bank = new StubBank()
  const connectionId = await connectBank(bank, merchant)
  const [first, last] = [
    await openLiveCharge(merchant, AMOUNT),
    await openLiveCharge(merchant, AMOUNT),
  ]
  bank.pageMax = 3
  const pay = ({ id }: { id: string }) => makePayment(AMOUNT, { txid: removeHyphens(id) })
  bank.payments.push(pay(first), makePayment(1, changes), pay(last), makePayment(70))
  const reader = createPaymentReader()
  await reader.run()
  await reader.idle()
  const charges = await db().charge.findMany({ where: { id: { in: [first.id, last.id] } } })
  expect(charges.map(({ status }) => status)).toEqual(['paid', 'paid'])
  // The page after it is read, too, and the reading ends.
  expect(await db().unmatchedPayment.count({ where: { connectionId } })).toBe(1)
  const readings = await db().paymentReading.findMany({ where: { connectionId } })
  expect(readings.filter(({ position }) => position !== null)).toEqual([])
})
