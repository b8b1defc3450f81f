import { db } from '#lib/base/db/client.ts'
import type { Mode } from '#lib/base/mode.ts'
import { receivePayments } from '#lib/rooms/charges/receive.ts'
import { suspendPayments } from '#lib/rooms/charges/suspend.ts'
import type { Receipt } from '#lib/services/gateway/gateway.ts'

/**
 * Books payments as a bank lists them: those of a charge are credited or suspended as if the bank had
 * been asked about it, those without a txid, or with that of no charge at the connection, are suspended.
 * Called twice, it does nothing.
 */
export async function matchPayments(
  connection: { id: string; mode: Mode },
  payments: Receipt[],
): Promise<void> {
  const txids = payments.flatMap(({ txid }) => txid ?? [])
  const charges = await db().charge.findMany({
    where: { txid: { in: txids }, connectionId: connection.id },
    select: { accountId: true, id: true, txid: true },
  })
  const reports = charges.map(({ accountId, id, txid }) => ({
    accountId,
    chargeId: id,
    payments: payments.filter(payment => payment.txid === txid),
  }))
  if (reports.length > 0) await receivePayments(reports)
  const known = new Set(charges.map(({ txid }) => txid))
  const strays = payments
    .filter(({ txid }) => txid === null || !known.has(txid))
    .map(payment => ({ payment, connectionId: connection.id, mode: connection.mode }))
  if (strays.length > 0) await suspendPayments(strays)
}
