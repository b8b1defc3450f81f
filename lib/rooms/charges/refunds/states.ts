/**
 * pending: the amount is held, of the balance and of the charge; the bank may have been asked.
 * completed: the payer has it. rejected: the payer never will, and the merchant has it again. The
 * last two are final.
 */
export const REFUND_STATUSES = ['pending', 'completed', 'rejected'] as const
