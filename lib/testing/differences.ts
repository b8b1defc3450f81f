import type { ReceivedPayment } from '#lib/banks/gateway.ts'
import { SIMULATOR_CONNECTION_ID } from '#lib/banks/served.ts'
import { keepUnmatched } from '#lib/charges/receive.ts'
import { OPERATOR_ACCOUNT_ID } from '#lib/core/ids.ts'
import type { Mode } from '#lib/core/mode.ts'
import { db } from '#lib/db/client.ts'
import { makePayment } from '#lib/testing/payments.ts'

interface Place {
  connectionId: string
  mode: Mode
}

const SIMULATOR: Place = { connectionId: SIMULATOR_CONNECTION_ID, mode: 'test' }

/** Puts a payment of no charge into `unmatched`. Returns the id of its item, and the payment. */
export async function keepStray(
  amount: number,
  place = SIMULATOR,
  changes: Partial<ReceivedPayment> = {},
): Promise<{ itemId: string; payment: ReceivedPayment }> {
  const payment = makePayment(amount, changes)
  await keepUnmatched([{ payment, ...place }])
  return { itemId: await findItemId(payment.endToEndId), payment }
}

/** Puts a payment of a charge that does not fit into `unmatched`. */
export async function keepOfCharge(
  charge: { accountId: string; chargeId: string },
  amount: number,
): Promise<{ itemId: string; payment: ReceivedPayment }> {
  const payment = makePayment(amount)
  await keepUnmatched([{ payment, ...charge }])
  return { itemId: await findItemId(payment.endToEndId), payment }
}

async function findItemId(key: string): Promise<string> {
  return (await db().difference.findFirstOrThrow({ where: { key } })).id
}

export async function operatorBalances(mode: Mode = 'test'): Promise<Record<string, number>> {
  const rows = await db().ledgerAccount.findMany({
    where: { accountId: OPERATOR_ACCOUNT_ID, mode },
  })
  return Object.fromEntries(rows.map(({ ledger, balance }) => [ledger, Number(balance)]))
}
