import type { Account } from '#lib/accounts/schema.ts'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { StubBank } from '#lib/testing/bank.ts'
import { connectBank, fundLive } from '#lib/testing/connection.ts'
import { makeMerchant } from '#lib/testing/fixtures.ts'
import { changeOrder, orderOf } from '#lib/testing/orders.ts'
import { insertWithdrawal } from '#lib/withdrawals/create.ts'
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
  const createdAt = await letBeSilent(row.id)
  await db().withdrawal.updateMany({ where: { accountId, id: row.id }, data: { createdAt } })
  return row
}

/** Lets an order have been sent two hours ago, without an answer since. Returns when it was made. */
export async function letBeSilent(id: string, reason = 'no response'): Promise<Date> {
  const createdAt = new Date(Date.now() - 2 * 3_600_000)
  // Due later: no worker of this test run sends it again.
  const dueAt = new Date(Date.now() + 3_600_000)
  await changeOrder(id, { createdAt, sentAt: createdAt, dueAt, attempts: 1 })
  const { accountId, connectionId, operation } = await orderOf(id)
  await db().gatewayCall.create({
    data: {
      accountId,
      id: newId(),
      mode: 'live',
      gateway: 'stub bank',
      subjectId: id,
      connectionId,
      operation: operation === 'payout' ? 'sendPayout' : 'refundCharge',
      request: {},
      outcome: 'unknown',
      response: { outcome: 'unknown', reason },
      createdAt,
    },
  })
  return createdAt
}
