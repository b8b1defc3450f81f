/**
 * pending: held on the balance and on the charge; the bank may have been called. completed: the
 * payer has the amount; final. rejected: the amount is back in the balance; final.
 */
export const REFUND_STATUSES = ['pending', 'completed', 'rejected'] as const
