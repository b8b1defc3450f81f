/**
 * pending: the amount is held; the bank may have been called. approved: the money has left; final.
 * rejected: the amount is back in the balance; final.
 */
export const WITHDRAWAL_STATUSES = ['pending', 'approved', 'rejected'] as const

/** Whom a pending withdrawal waits for; balance_window: it has no place among the bank's payouts yet. */
export const AWAITED = ['approval', 'balance_window', 'bank'] as const
export type Awaited = (typeof AWAITED)[number]
export type WithdrawalStatus = (typeof WITHDRAWAL_STATUSES)[number]
