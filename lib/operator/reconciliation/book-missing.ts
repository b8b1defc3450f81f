import type { ReceivedPayment } from '#lib/banks/gateway.ts'
import type { PayoutReturn } from '#lib/banks/lists.ts'
import { log } from '#lib/core/log.ts'
import { payFees } from '#lib/differences/fees.ts'
import type { BankRow, Difference } from '#lib/operator/reconciliation/schema.ts'

/** How other rooms book what the bank has and the books lack. Called again, they do nothing. */
export interface Booking {
  bookPayments: (connectionId: string, payments: ReceivedPayment[]) => Promise<unknown>
  /** `payment`: end-to-end id of the payout. */
  bookReturn: (connectionId: string, payment: string, part: PayoutReturn) => Promise<unknown>
}

/** Books the fees of a day to the operator. Returns how many were not booked before. */
export function bookFees(connectionId: string, rows: BankRow[]): Promise<number> {
  const fees = rows.filter(({ what, amount }) => what.startsWith('fee') && amount !== 0)
  return payFees(
    fees.map(({ what, keys: [bankId = ''], amount, at }) => ({
      ...{ connectionId, mode: 'live' as const, bankId, amount: Math.abs(amount), at },
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
  { bookPayments, bookReturn }: Booking,
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
  for (const { payment, keys, amount, at } of returns)
    await attempt(connectionId, () =>
      bookReturn(connectionId, payment ?? '', { id: keys[0] ?? '', amount, returnedAt: at }),
    )
  return payments.length + returns.length > 0
}

function toPayment({ keys, amount, at, facts }: BankRow): ReceivedPayment {
  const txid = typeof facts.txid === 'string' ? facts.txid : null
  return { endToEndId: keys[0] ?? '', amount, paidAt: at, txid }
}

/** What cannot be booked is a difference. */
async function attempt(connectionId: string, work: () => Promise<unknown>): Promise<void> {
  await work().catch(err => log().error({ err, connectionId }, 'booking of a bank day failed'))
}
