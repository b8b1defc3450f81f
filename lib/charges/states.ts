/**
 * opening (not listed): waiting for the bank's code; hidden. pending: payable. paid: the amount is
 * in `available`; final. expired, failed: no money; a payment reported later still makes it paid.
 */
export const CHARGE_STATUSES = ['pending', 'paid', 'expired', 'failed'] as const
export type ChargeStatus = (typeof CHARGE_STATUSES)[number]

/** The merchant's own reference of a charge; null if it has none: then it is the id without hyphens. */
export function ownReference(chargeId: string | null, externalId: string | null): string | null {
  return externalId === chargeId?.replaceAll('-', '') ? null : externalId
}

/** Maximum length of the text for the payer. */
export const DESCRIPTION_LENGTH_MAX = 140

/**
 * Statuses in the dashboard, where a refunded charge is not shown as paid, nor a cancelled one as expired.
 * Each charge has one.
 */
export const SHOWN_CHARGE_STATUSES = [
  'pending',
  'paid',
  'partly_refunded',
  'refunded',
  'expired',
  'cancelled',
  'failed',
] as const
export type ShownChargeStatus = (typeof SHOWN_CHARGE_STATUSES)[number]

interface StoredCharge {
  status: ChargeStatus
  amount: number
  refunded_amount: number
  cancelled_at?: string | null
}

export function shownStatusOf({
  status,
  amount,
  refunded_amount: refunded,
  cancelled_at: cancelledAt,
}: StoredCharge): ShownChargeStatus {
  if (status === 'expired' && cancelledAt) return 'cancelled'
  if (status !== 'paid' || refunded === 0) return status
  return refunded < amount ? 'partly_refunded' : 'refunded'
}

/** Returns whether a member reviews a charge before it is created. */
export function needsReview(amount: number, threshold: number | null): boolean {
  return threshold !== null && amount > threshold
}

/** Maximum age of a payment that can be returned to its payer: the Pix rule for returns. */
export const REFUND_WINDOW_DAYS = 90

export function isPastRefund(paidAt: Date): boolean {
  return paidAt.getTime() < Date.now() - REFUND_WINDOW_DAYS * 86_400_000
}

/**
 * pending: held on the balance and on the charge; the bank may have been called. completed: the
 * payer has the amount; final. rejected: the amount is back in the balance; final.
 */
export const REFUND_STATUSES = ['pending', 'completed', 'rejected'] as const

/** open: can be answered. due: soon no more. answered: the bank decides, or has not confirmed the answer. */
export const DISPUTE_FILTERS = ['open', 'due', 'answered', 'closed'] as const

/** Time before a deadline from which it is near. */
export const DUE_SOON_HOURS = 48
