/**
 * opening (not listed): waiting for the bank's code; hidden. pending: payable. paid: the amount is
 * in `available`; final. expired, failed: no money received; a payment that the bank reports later
 * still makes the charge paid.
 */
export const CHARGE_STATUSES = ['pending', 'paid', 'expired', 'failed'] as const
export type ChargeStatus = (typeof CHARGE_STATUSES)[number]
