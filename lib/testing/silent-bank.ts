import type { Account } from '#lib/accounts/schema.ts'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { StubBank } from '#lib/testing/bank.ts'
import { connectBank, fundLive } from '#lib/testing/connection.ts'
import { makeMerchant } from '#lib/testing/fixtures.ts'
import { changeOrder } from '#lib/testing/orders.ts'
import { insertWithdrawal } from '#lib/withdrawals/insert.ts'
import type { WithdrawalRow } from '#lib/withdrawals/schema.ts'

const KEY = { pixKeyType: 'email', pixKey: 'ana@example.com', dictKey: 'ana@example.com' } as const

/** Makes a merchant with a live balance at a bank. */
export async function makeSilentMerchant(bank = new StubBank()): Promise<Account> {
  const merchant = await makeMerchant()
  await connectBank(bank, merchant)
  await fundLive(merchant, 1_000_000)
  return merchant
}

/** Makes a live withdrawal that was sent two hours ago, without an answer since. */
export async function withdrawInSilence(
  { id: accountId }: Account,
  amount = 4_000,
): Promise<WithdrawalRow> {
  const account = await db().account.findUniqueOrThrow({ where: { id: accountId } })
  const connectionId = account.payingConnectionId
  const order = { amount, ...KEY, connectionId }
  const row = await insertWithdrawal(accountId, 'live', order)
  const createdAt = new Date(Date.now() - 2 * 3_600_000)
  // Due later: no worker of this test run sends it again.
  const dueAt = new Date(Date.now() + 3_600_000)
  await db().withdrawal.updateMany({ where: { accountId, id: row.id }, data: { createdAt } })
  await changeOrder(row.id, { createdAt, sentAt: createdAt, dueAt, attempts: 1 })
  await db().gatewayCall.create({
    data: {
      ...{ accountId, id: newId(), mode: 'live', gateway: 'stub bank', operation: 'sendPayout' },
      ...{ subjectId: row.id, connectionId, request: {}, outcome: 'unknown', createdAt },
    },
  })
  return row
}
