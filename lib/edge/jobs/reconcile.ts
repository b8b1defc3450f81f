import { bookPage } from '#lib/rooms/charges/book-page.ts'
import { createReconciler, type Reconciler } from '#lib/rooms/reconciliation/reconcile.ts'
import { creditReturn } from '#lib/rooms/withdrawals/read-returns.ts'

/** Creates the worker of days of banks, with the rooms that book what it finds. */
export function createDayReconciler(now?: () => Date): Reconciler {
  return createReconciler({ bookPayments: bookPage, bookReturn: creditReturn }, now)
}
