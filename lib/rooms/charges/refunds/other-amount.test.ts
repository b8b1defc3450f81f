import { expect, test } from 'vitest'
import { db } from '#lib/base/db/client.ts'
import { createRefund } from '#lib/rooms/charges/refunds/create.ts'
import { StubBank } from '#lib/testing/bank.ts'
import { connectBank, fundLive } from '#lib/testing/connection.ts'
import { inOwnDatabase, makeMerchant } from '#lib/testing/fixtures.ts'
import { sendDueRefunds } from '#lib/testing/orders.ts'

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
  await db().$executeRaw`UPDATE refunds SET due_at = now(), lease = NULL WHERE due_at IS NOT NULL`
  await sendDueRefunds()
  expect(bank.asked).toMatchObject([{ amount: 1_000 }])
})
