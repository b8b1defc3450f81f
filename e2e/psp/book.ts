type EntryKind =
  | 'opening'
  | 'pix'
  | 'payment_fee'
  | 'refund'
  | 'refund_reversal'
  | 'med'
  | 'payout'
  | 'payout_reversal'
  | 'payout_fee'
  | 'payout_return'

export interface Entry {
  at: string
  kind: EntryKind
  /** Cents; negative when money leaves the account. */
  amount: number
  /** End-to-end id, return id or id of the payout. */
  reference: string
  balanceAfter: number
}

/** The bank's record of the money in the account. Only added to. */
export class Book {
  readonly entries: Entry[] = []

  get balance(): number {
    return this.entries.at(-1)?.balanceAfter ?? 0
  }

  balanceAt(at: Date): number {
    const time = at.toISOString()
    return (this.entries.findLast(entry => entry.at <= time) ?? this.entries[0])?.balanceAfter ?? 0
  }

  add(at: Date, kind: EntryKind, amount: number, reference: string): void {
    if (amount === 0) return
    const balanceAfter = this.balance + amount
    this.entries.push({ at: at.toISOString(), kind, amount, reference, balanceAfter })
  }

  has(kind: EntryKind, reference: string): boolean {
    return this.entries.some(entry => entry.kind === kind && entry.reference === reference)
  }
}
