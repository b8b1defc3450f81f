import type { PayoutReturn, ReceivedPayment } from '#lib/banks/gateway.ts'
import { log } from '#lib/core/log.ts'
import { payFees } from '#lib/differences/fees.ts'
import type { BankRow, Difference } from '#lib/operator/reconciliation/schema.ts'
import { isOrderId } from '#lib/orders/queue.ts'

/** Operations that book what the bank has and the books lack. Idempotent. Passed in by the worker. */
export interface Booking {
  bookPayments: (connectionId: string, payments: ReceivedPayment[]) => Promise<unknown>
  /** `payment`: end-to-end id of the payout. */
  bookReturn: (connectionId: string, payment: string, part: PayoutReturn) => Promise<unknown>
  /** Of payments that were received before: what has gone back. */
  bookReturned: (
    connectionId: string,
    payments: Required<Pick<ReceivedPayment, 'endToEndId' | 'returns'>>[],
  ) => Promise<unknown>
}

/** Books the fees of a day to the operator. Returns how many were not booked before. */
export function bookFees(connectionId: string, rows: BankRow[]): Promise<number> {
  const fees = rows.filter(({ what, amount }) => what.startsWith('fee') && amount !== 0)
  return payFees(
    fees.map(({ what, keys: [bankId = ''], amount, at }) => ({
      connectionId,
      mode: 'live' as const,
      bankId,
      amount: Math.abs(amount),
      at,
      isReturn: what === 'fee_return',
    })),
  )
}

/**
 * Books payments and returns that a notice or list has missed, as if they were listed now. Returns whether
 * there were any.
 */
export async function bookMissing(
  connectionId: string,
  differences: Difference[],
  { bookPayments, bookReturn, bookReturned }: Booking,
): Promise<boolean> {
  const missing = differences.flatMap(({ kind, bank, ours }) =>
    kind === 'day_missing_here' && bank && !ours ? bank : [],
  )
  const returns = missing.filter(({ what, payment }) => what === 'payout_return' && payment)
  const payments = missing.filter(
    ({ what, payment }) =>
      (what === 'payment' && payment) || (what === 'payout_return' && !payment),
  )
  if (payments.length > 0)
    await attempt(connectionId, () => bookPayments(connectionId, payments.map(toPayment)))
  // An id like those of Troco is of an order that it does not know: only people can say whose.
  const returned = missing.filter(
    ({ what, payment, facts }) =>
      what === 'refund' && payment && !isOrderId(String(facts.order_id ?? '')),
  )
  if (returned.length > 0)
    await attempt(connectionId, () => bookReturned(connectionId, returned.map(toReturned)))
  for (const { payment, keys, amount, at } of returns)
    await attempt(connectionId, () =>
      bookReturn(connectionId, payment ?? '', { id: keys[0] ?? '', amount, returnedAt: at }),
    )
  return payments.length + returned.length + returns.length > 0
}

/** A statement names no reason of a return. */
function toReturned({ payment, keys, amount, at: returnedAt, facts }: BankRow) {
  const [orderId, returnId] = [facts.order_id, facts.return_id].map(id => id?.toString() ?? null)
  const id = returnId ?? orderId ?? keys[0] ?? ''
  const each = { id, orderId: orderId ?? null, amount: 0 - amount, nature: null, returnedAt }
  return { endToEndId: payment ?? '', returns: [each] }
}

function toPayment({ keys, amount, at, facts }: BankRow): ReceivedPayment {
  const txid = typeof facts.txid === 'string' ? facts.txid : null
  return { endToEndId: keys[0] ?? '', amount, paidAt: at, txid }
}

/** What cannot be booked is a difference. */
async function attempt(connectionId: string, work: () => Promise<unknown>): Promise<void> {
  await work().catch(err => log().error({ err, connectionId }, 'booking of a bank day failed'))
}
