/**
 * opening: a bank is being asked for a code; nobody may pay yet, nobody is told of it.
 * pending: payable. paid: the amount is in `available`; final.
 * expired, failed: no money has come. The bank may still report a payment later: then it is paid.
 */
export const CHARGE_STATUSES = ['pending', 'paid', 'expired', 'failed'] as const
export type ChargeStatus = (typeof CHARGE_STATUSES)[number]
