import { expect, test } from 'vitest'
import { createRefund } from '#lib/charges/refunds/refund.ts'
import { StubBank } from '#lib/testing/bank.ts'
import { connectBank, fundLive } from '#lib/testing/connection.ts'
import { inOwnDatabase, makeMerchant } from '#lib/testing/fixtures.ts'
import { makeOrdersDue, sendDueRefunds } from '#lib/testing/orders.ts'

inOwnDatabase()

/** Keeps what it was asked about. */
class AskedBank extends StubBank {
  readonly asked: object[] = []
  override async getRefund(refund: Parameters<StubBank['getRefund']>[0], signal?: AbortSignal) {
    this.asked.push(refund)
    return super.getRefund(refund, signal)
  }
}

test('the question about a refund has its amount, as the response must', async () => {
  const bank = new AskedBank()
  const merchant = await makeMerchant()
  await connectBank(bank, merchant)
  const chargeId = await fundLive(merchant, 10_000)
  await createRefund(merchant.id, 'live', chargeId, { amount: 1_000 })
  await sendDueRefunds()
  await makeOrdersDue()
  await sendDueRefunds()
  expect(bank.asked).toMatchObject([{ amount: 1_000 }])
})
