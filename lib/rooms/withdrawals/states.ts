/**
 * pending: the amount is held; the bank may have been called. approved: the money has left; final.
 * rejected: the amount is back in the balance; final.
 */
export const WITHDRAWAL_STATUSES = ['pending', 'approved', 'rejected'] as const
export type WithdrawalStatus = (typeof WITHDRAWAL_STATUSES)[number]
