/**
 * Ways to resolve a difference. give_back: to the payer, by the bank. credit: to the balance of an
 * account. match: pays a charge. keep: becomes the operator's own. acknowledge: moves no money.
 */
export const ENTRIES = ['give_back', 'credit', 'match', 'keep', 'acknowledge'] as const
export type Entry = (typeof ENTRIES)[number]
/** Entries that move the money of a payment out of `unmatched`. */
export type MoneyEntry = Exclude<Entry, 'acknowledge'>

const ANY_RECEIVER = ['give_back', 'credit', 'match', 'keep'] as const
/** A bank returns payments of payers only, not what came back of a payout. */
const NO_PAYER = ['credit', 'keep'] as const

/** Entries of the kinds whose money is unmatched. Every other kind, also an unknown one, moves none. */
const MONEY_ENTRIES = new Map<string, readonly MoneyEntry[]>([
  ['payment_amount', ANY_RECEIVER],
  ['payment_repeated', ANY_RECEIVER],
  ['payment_unmatched', ANY_RECEIVER],
  ['return_above_payout', NO_PAYER],
  ['return_unmatched', NO_PAYER],
])

export function allowedEntries(kind: string): readonly Entry[] {
  return MONEY_ENTRIES.get(kind) ?? ['acknowledge']
}

/** Parties of a correcting entry; each other one is the id of an account. */
export const BANK = 'bank'
export const OPERATOR = 'operator'

/** What a correcting entry about an item must be; null: the person chooses. */
export interface CorrectionTerms {
  from: string | null
  to: string | null
  /** In cents. */
  amount: number | null
  /** Whether the bank may be a party. */
  isWithBank: boolean
}
