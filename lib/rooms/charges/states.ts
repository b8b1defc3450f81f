/**
 * opening (not listed): waiting for the bank's code; hidden. pending: payable. paid: the amount is
 * in `available`; final. expired, failed: no money; a payment reported later still makes it paid.
 */
export const CHARGE_STATUSES = ['pending', 'paid', 'expired', 'failed'] as const
export type ChargeStatus = (typeof CHARGE_STATUSES)[number]
