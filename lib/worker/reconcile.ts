import { listServed } from '#lib/banks/served.ts'
import { askAboutPayments } from '#lib/charges/read-payments.ts'
import { bookPage } from '#lib/charges/receive.ts'
import { bookReturns } from '#lib/charges/returned.ts'
import type { Booking } from '#lib/operator/reconciliation/book-missing.ts'
import { createReconciler, type Reconciler } from '#lib/operator/reconciliation/reconcile.ts'
import { creditReturn } from '#lib/withdrawals/read-returns.ts'

/** Creates the daily reconciliation with the operations that book what it finds. */
export function createDayReconciler(now?: () => Date): Reconciler {
  const bookReturned: Booking['bookReturned'] = async (connectionId, payments) => {
    const connection = (await listServed()).find(({ id }) => id === connectionId)
    const ids = [...new Set(payments.map(({ endToEndId }) => endToEndId))]
    // The payment itself names the reason, by which a return fits a dispute.
    if (connection) await askAboutPayments(connection, ids)
    await bookReturns(connectionId, payments)
  }
  return createReconciler({ bookPayments: bookPage, bookReturn: creditReturn, bookReturned }, now)
}
