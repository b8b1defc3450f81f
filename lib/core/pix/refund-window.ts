/** Maximum age of a payment that can be returned to its payer: the Pix rule for returns. */
export const REFUND_WINDOW_DAYS = 90

export function isPastRefund(paidAt: Date): boolean {
  return paidAt.getTime() < Date.now() - REFUND_WINDOW_DAYS * 86_400_000
}
