/**
 * Every way in which money moves, and nothing else does. An account's money stands in three places:
 *
 *   external   what the bank has passed on for this merchant, counted below zero
 *   available  what the merchant may withdraw or refund
 *   outbound   held for withdrawals and refunds that the bank has not answered yet
 *
 * The three always sum to zero. A movement takes `amount` from `debit` and adds it to `credit`,
 * once per subject: a charge, a withdrawal or a refund.
 */
export const MOVEMENTS = {
  /** A charge was paid: the bank holds the money for the merchant. */
  charge_paid: { debit: 'external', credit: 'available' },
  /** A withdrawal was asked for: its amount can be spent no second time. */
  withdrawal_held: { debit: 'available', credit: 'outbound' },
  /** The bank sent it: the money has left. */
  withdrawal_sent: { debit: 'outbound', credit: 'external' },
  /** The bank refused it for good: the merchant has the money again. */
  withdrawal_returned: { debit: 'outbound', credit: 'available' },
  /** A refund was asked for. */
  refund_held: { debit: 'available', credit: 'outbound' },
  /** The payer has the money back. */
  refund_sent: { debit: 'outbound', credit: 'external' },
  /** The bank refused the refund for good. */
  refund_returned: { debit: 'outbound', credit: 'available' },
} as const satisfies Record<string, { debit: Ledger; credit: Ledger }>

export type Ledger = 'available' | 'outbound' | 'external'
export type Movement = keyof typeof MOVEMENTS
