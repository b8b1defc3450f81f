type Sides<Ledger> = Record<string, { debit: Ledger; credit: Ledger }>

/**
 * Movements in the books of a merchant, each once per subject. `external`: received through the bank,
 * negative. `available`: can be withdrawn or refunded. `outbound`: held until the bank reports a
 * result. `disputed`: what payers dispute. `owed`: what the account lacks for it, negative.
 */
export const MERCHANT_MOVEMENTS = {
  charge_paid: { debit: 'external', credit: 'available' },
  /** Booked with the request, so that the amount cannot be spent twice. */
  withdrawal_held: { debit: 'available', credit: 'outbound' },
  withdrawal_sent: { debit: 'outbound', credit: 'external' },
  withdrawal_returned: { debit: 'outbound', credit: 'available' },
  refund_held: { debit: 'available', credit: 'outbound' },
  refund_sent: { debit: 'outbound', credit: 'external' },
  refund_returned: { debit: 'outbound', credit: 'available' },
  /** The receiver's bank has sent the money of a withdrawal back, or a part of it. */
  payout_returned: { debit: 'external', credit: 'available' },
  /** A payment that no charge expected, given to the account by a person of the operator. */
  unmatched_credited: { debit: 'external', credit: 'available' },
  /** The bank has given the money of a payment back by itself. */
  payment_returned: { debit: 'available', credit: 'external' },
  payment_return_owed: { debit: 'owed', credit: 'external' },
  dispute_held: { debit: 'available', credit: 'disputed' },
  dispute_owed: { debit: 'owed', credit: 'disputed' },
  dispute_won: { debit: 'disputed', credit: 'available' },
  dispute_lost: { debit: 'disputed', credit: 'external' },
  owed_repaid: { debit: 'available', credit: 'owed' },
  owed_written_off: { debit: 'external', credit: 'owed' },
} as const satisfies Sides<'available' | 'outbound' | 'disputed' | 'owed' | 'external'>

/**
 * Movements in the books of the operator. `external`: as above, of any sign. `unmatched`: payments that
 * belong to no charge. `own`: the operator's money; negative if the operator has paid more than it has.
 */
export const OPERATOR_MOVEMENTS = {
  unmatched_received: { debit: 'external', credit: 'unmatched' },
  /** Given to a merchant or back to the payer. */
  unmatched_released: { debit: 'unmatched', credit: 'external' },
  unmatched_kept: { debit: 'unmatched', credit: 'own' },
  /** The bank has given it back by itself. */
  unmatched_payment_returned: { debit: 'unmatched', credit: 'external' },
  own_payment_returned: { debit: 'own', credit: 'external' },
  fee_paid: { debit: 'own', credit: 'external' },
  fee_returned: { debit: 'external', credit: 'own' },
  /** The operator pays what it no longer demands of an account, in the statement of owed_written_off. */
  write_off_paid: { debit: 'own', credit: 'external' },
} as const satisfies Sides<'own' | 'unmatched' | 'external'>

/** The balances of an account always sum to zero. */
export const MOVEMENTS = { ...MERCHANT_MOVEMENTS, ...OPERATOR_MOVEMENTS }
export type Movement = keyof typeof MOVEMENTS
