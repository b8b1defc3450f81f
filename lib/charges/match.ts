import type { ReceivedPayment } from '#lib/banks/gateway.ts'
import { keepUnmatched } from '#lib/charges/keep-unmatched.ts'
import { receivePayments } from '#lib/charges/receive.ts'
import { bookReturns } from '#lib/charges/returned.ts'
import type { Mode } from '#lib/core/mode.ts'
import { db } from '#lib/db/client.ts'
import { findClaimed } from '#lib/differences/unmatched.ts'

/** Time in which the connection of a charge books it: two to one bank account list the same payments. */
const CONNECTION_FIRST_MS = 3_600_000
/**
 * Time in which the withdrawal of a return, whose id begins with D, books it: longer than three readings
 * of payouts, each 6 hours, and less than the 24 in which the daily reading of 48 hours lists it last.
 */
const WITHDRAWAL_FIRST_MS = 20 * 3_600_000

/**
 * Books payments as a bank lists them, and what has gone back of them, also of those that were booked before. Returns
 * the payments that are not booked yet: the caller lists them again. Called twice, it does nothing.
 */
export async function matchPayments(
  connection: { id: string; mode: Mode },
  listed: ReceivedPayment[],
): Promise<ReceivedPayment[]> {
  const left = await bookPayments(connection, listed)
  await bookReturns(connection.id, listed)
  return left
}

/**
 * Those of a charge are credited or suspended as if the bank had
 * been asked about it, those without a txid, or with that of no charge, are suspended. So are those of
 * another connection's charge after an hour, and returns of payouts after 20, unless booked before. A connection
 * with the same receiving key is one to the same bank account; one with another key may be, too. A payment of a
 * charge that is being opened is not booked yet.
 */
async function bookPayments(
  connection: { id: string; mode: Mode },
  listed: ReceivedPayment[],
): Promise<ReceivedPayment[]> {
  // Lists overlap: most of what they contain is booked, and must lock no charge.
  const payments = await listUnbooked(connection.id, listed)
  if (payments.length === 0) return []
  const txids = payments.flatMap(({ txid }) => txid ?? [])
  const charges = await db().charge.findMany({
    where: { txid: { in: txids } },
    select: { accountId: true, id: true, txid: true, connectionId: true },
  })
  const ofAccount = await findSameAccount(connection.id)
  const connections = new Map(charges.map(({ txid, connectionId }) => [txid, connectionId]))
  const reports = charges
    .filter(({ connectionId }) => ofAccount.has(connectionId))
    .map(({ accountId, id, txid }) => ({
      accountId,
      chargeId: id,
      payments: payments.filter(payment => payment.txid === txid),
    }))
  if (reports.length > 0) await receivePayments(reports)
  const isStray = ({ txid, endToEndId, paidAt }: ReceivedPayment) => {
    const own = txid === null ? undefined : connections.get(txid)
    if (own !== undefined && ofAccount.has(own)) return false
    const ageMs = Date.now() - paidAt.getTime()
    if (endToEndId.startsWith('D')) return ageMs > WITHDRAWAL_FIRST_MS
    return own === undefined || ageMs > CONNECTION_FIRST_MS
  }
  const strays = payments
    .filter(isStray)
    .map(payment => ({ payment, connectionId: connection.id, mode: connection.mode }))
  if (strays.length > 0) await keepUnmatched(strays)
  return listUnbooked(connection.id, payments)
}

/** Returns the connections to the bank account of this one: a PIX key belongs to a single account. */
async function findSameAccount(connectionId: string): Promise<Set<string>> {
  const rows = await db().$queryRaw<{ id: string }[]>`
    SELECT o.id FROM connections n
    JOIN connections o ON o.environment = n.environment AND o.receiving_keys && n.receiving_keys
    WHERE n.id = ${connectionId}::uuid`
  return new Set([connectionId, ...rows.map(({ id }) => id)])
}

async function listUnbooked(
  connectionId: string,
  payments: ReceivedPayment[],
): Promise<ReceivedPayment[]> {
  const ids = payments.map(({ endToEndId }) => endToEndId)
  const claimed = await findClaimed(connectionId, ids)
  const rest = payments.filter(({ endToEndId }) => !claimed.has(endToEndId))
  // Charges that were credited before payments were claimed.
  const credited = await db().charge.findMany({
    where: { endToEndId: { in: rest.map(({ endToEndId }) => endToEndId) } },
    select: { endToEndId: true },
  })
  const old = new Set(credited.map(({ endToEndId }) => endToEndId))
  return rest.filter(({ endToEndId }) => !old.has(endToEndId))
}
