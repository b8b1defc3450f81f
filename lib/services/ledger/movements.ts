/**
 * All movements of money, each once per charge, withdrawal or refund. `external`: received through
 * the bank, negative. `available`: can be withdrawn or refunded. `outbound`: held until the bank
 * reports a result. The balances sum to zero.
 */
export const MOVEMENTS = {
  charge_paid: { debit: 'external', credit: 'available' },
  /** Booked with the request, so that the amount cannot be spent twice. */
  withdrawal_held: { debit: 'available', credit: 'outbound' },
  withdrawal_sent: { debit: 'outbound', credit: 'external' },
  withdrawal_returned: { debit: 'outbound', credit: 'available' },
  refund_held: { debit: 'available', credit: 'outbound' },
  refund_sent: { debit: 'outbound', credit: 'external' },
  refund_returned: { debit: 'outbound', credit: 'available' },
} as const satisfies Record<string, { debit: Ledger; credit: Ledger }>

export type Ledger = 'available' | 'outbound' | 'external'
export type Movement = keyof typeof MOVEMENTS
