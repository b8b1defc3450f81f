/** A page of a list. Pages have no order, and an item may be on two of them. */
export interface Listing<Item> {
  items: Item[]
  /** Payments of the page that cannot be read. */
  unread?: UnreadPayment[]
  /** Null on the last page. */
  nextCursor: string | null
}

/** `key`: the payment's id, or what stands for it. `sent`: what the bank sent, without personal data. */
export interface UnreadPayment {
  key: string
  txid: string | null
  sent: string
}

/** A payout or refund that Troco has ordered and the bank has taken, whether it has ended or not. */
export interface TakenOrder {
  /** Id of the order, without hyphens. */
  id: string
  /** Of a payout: its payment; null before it has one. Of a refund: the payment that it returns. */
  endToEndId: string | null
  amount: number
  /** Key of the receiver of a payout. */
  dictKey: string | null
  /** The bank's id of a refund. */
  returnId: string | null
  orderedAt: Date
  isDone: boolean
}

export interface SentPayout {
  /** Id of the order; null if the payout was not ordered by Troco. */
  id: string | null
  endToEndId: string
  amount: number
  sentAt: Date
  returns: PayoutReturn[]
  /** The bank reports that it has failed; it may have reported before that it was done. */
  isFailed?: true
}

/** A payment that its payer contests. `lost`: the amount has left; `won`: it stays. */
export interface ReportedDispute {
  /** The bank's id of the dispute. */
  id: string
  /** The payment that is disputed. */
  endToEndId: string
  amount: number
  state: 'open' | 'won' | 'lost'
  /** Until when the merchant's defence can be sent; null: the bank names no time. */
  respondBy: Date | null
  /** Whether the bank has a defence, from Troco or from elsewhere. */
  isAnswered: boolean
}

export interface DisputeAnswer {
  /** The bank's id of the dispute. */
  id: string
  text: string
}

/** late: the bank takes no defence any more. */
export type AnswerEnd = 'taken' | 'late'

/** Money of a received payment that went back to its payer, all of it or a part. */
export interface PaymentReturn {
  /** The bank's id of the return. */
  id: string
  /** Id under which it was ordered, by Troco or elsewhere. */
  orderId: string | null
  amount: number
  /** Why, as the bank names it: MED_FRAUDE and the like if the payer's bank demanded it. */
  nature: string | null
  returnedAt: Date
}

/** Money of a payout that came back after it was done, all of it or a part. */
export interface PayoutReturn {
  /** The bank's id of the return. */
  id: string
  amount: number
  returnedAt: Date
}
