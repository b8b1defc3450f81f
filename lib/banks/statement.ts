/** What came of reading the statement of a day. */
export type StatementRead =
  /** The bank makes it: to be read again with the cursor, after the pause. */
  | { state: 'making'; cursor: string; pauseMs: number }
  /** The bank gave it up or has it no more: to be read again without a cursor. */
  | { state: 'lost' }
  /** It came, and is not what was wanted. */
  | { state: 'unreadable'; flaw: StatementFlaw }
  | { state: 'ready'; statement: Statement }

/**
 * empty: no text. layout: another one than this version reads. day: of another day. cut: without its last
 * line, so that more may be missing.
 */
export type StatementFlaw = 'empty' | 'layout' | 'day' | 'cut'

/** All movements of an account at a bank in one day, with amounts in cents. */
export interface Statement {
  /** Day by the bank's calendar, such as `2026-11-20`. */
  day: string
  /** Balances before and after the day; null if the bank does not report them. */
  opening: number | null
  closing: number | null
  entries: StatementEntry[]
  /** Records that could not be read, as the bank sent them: they may name persons. */
  unread: string[]
  /** What the closing balance has more than the opening one and the entries; null without both. */
  difference: number | null
  /** How many records the bank counts that the statement does not have. */
  missing: number
}

export interface StatementEntry {
  kind: StatementEntryKind
  /** Negative when money leaves the account. */
  amount: number
  at: Date
  /** Payment that was received or sent, or that a return or fee is about. */
  endToEndId: string | null
  /** Id of the return of a payment. */
  returnId: string | null
  txid: string | null
  /** Id under which a payout, refund or transfer was ordered. */
  orderId: string | null
}

/** `transfer`: between accounts other than by PIX. `reversal`: the bank undid it. */
export type StatementEntryKind =
  | 'payment'
  | 'payment_fee'
  | 'payment_fee_reversal'
  | 'refund'
  | 'payout'
  | 'payout_reversal'
  | 'payout_return'
  | 'payout_fee'
  | 'payout_fee_reversal'
  | 'transfer_received'
  | 'transfer_sent'
  | 'transfer_reversal'
  | 'transfer_fee'
  | 'transfer_fee_reversal'
