import { expect, test } from 'vitest'
import { createPaymentReader } from '#lib/charges/read-payments.ts'
import { StubBank } from '#lib/testing/bank.ts'
import { connectBank, openLiveCharge, readRestsAlways } from '#lib/testing/connection.ts'
import { inOwnDatabase, makeMerchant } from '#lib/testing/fixtures.ts'

inOwnDatabase()

test('a bank that answers all but its list of payments still takes charges', async () => {
  readRestsAlways()
  const merchant = await makeMerchant()
  const bank = new StubBank()
  bank.failuresMax = 5
  Object.assign(bank, {
    listPayments: async () => ({ outcome: 'unknown', reason: 'status 504' }),
  })
  await connectBank(bank, merchant)
  await openLiveCharge(merchant)
  // A minute without any charge.
  let clock = Date.now()
  const reader = createPaymentReader(() => new Date(clock))
  for (let seconds = 0; seconds <= 60; seconds += 15) {
    await reader.run()
    await reader.idle()
    clock += 15_000
  }
  expect(await openLiveCharge(merchant)).toMatchObject({ status: 'pending' })
})
