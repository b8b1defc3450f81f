import { bookPage } from '#lib/charges/book-page.ts'
import { createReconciler, type Reconciler } from '#lib/operator/reconciliation/reconcile.ts'
import { creditReturn } from '#lib/withdrawals/read-returns.ts'

/** Creates the worker of days of banks, with the rooms that book what it finds. */
export function createDayReconciler(now?: () => Date): Reconciler {
  return createReconciler({ bookPayments: bookPage, bookReturn: creditReturn }, now)
}
