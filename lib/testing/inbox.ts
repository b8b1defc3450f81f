import { db } from '#lib/base/db/client.ts'
import { OPERATOR_ACCOUNT_ID } from '#lib/base/ids.ts'
import type { Mode } from '#lib/base/mode.ts'
import { suspendPayments } from '#lib/rooms/charges/suspend.ts'
import type { Receipt } from '#lib/services/gateway/gateway.ts'
import { SIMULATOR_CONNECTION_ID } from '#lib/services/gateway/served.ts'
import { makeReceipt } from '#lib/testing/receipts.ts'

interface Place {
  connectionId: string
  mode: Mode
}

const SIMULATOR: Place = { connectionId: SIMULATOR_CONNECTION_ID, mode: 'test' }

/** Puts a payment of no charge into suspense. Returns the id of its item, and the payment. */
export async function suspendStray(
  amount: number,
  place = SIMULATOR,
  changes: Partial<Receipt> = {},
): Promise<{ itemId: string; payment: Receipt }> {
  const payment = makeReceipt(amount, changes)
  await suspendPayments([{ payment, ...place }])
  return { itemId: await findItemId(payment.endToEndId), payment }
}

/** Puts a payment of a charge that does not fit into suspense. */
export async function suspendOfCharge(
  charge: { accountId: string; chargeId: string },
  amount: number,
): Promise<{ itemId: string; payment: Receipt }> {
  const payment = makeReceipt(amount)
  await suspendPayments([{ payment, ...charge }])
  return { itemId: await findItemId(payment.endToEndId), payment }
}

async function findItemId(key: string): Promise<string> {
  return (await db().inboxItem.findFirstOrThrow({ where: { key } })).id
}

export async function operatorBalances(mode: Mode = 'test'): Promise<Record<string, number>> {
  const rows = await db().ledgerAccount.findMany({
    where: { accountId: OPERATOR_ACCOUNT_ID, mode },
  })
  return Object.fromEntries(rows.map(({ ledger, balance }) => [ledger, Number(balance)]))
}
