/**
 * pending: the amount is held; the bank may have been asked. approved: the money has left.
 * rejected: it never will, and the merchant has the amount again. The last two are final.
 */
export const WITHDRAWAL_STATUSES = ['pending', 'approved', 'rejected'] as const
export type WithdrawalStatus = (typeof WITHDRAWAL_STATUSES)[number]
