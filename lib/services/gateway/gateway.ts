import type { Prisma } from '#lib/base/db/client.ts'
import type { BankReason } from '#lib/services/gateway/rejection.ts'

/**
 * Whoever really moves PIX. Every order carries an id of ours that was fixed before the first
 * call, so asking twice never moves money twice.
 */
export interface Gateway {
  readonly name: string
  /** Its calls leave this process: each stands in the journal, and may get lost on its way. */
  readonly remote: boolean
  /**
   * For a bank that does not tell us of payments: when a charge is asked about, from its creation
   * on, and then again after each time the last of these has passed. Unset: at its expiry only.
   */
  readonly asksAfterMs?: readonly number[]

  /**
   * The code of a charge, where it follows from the charge alone: then nobody has to be asked, and
   * writing the charge is one statement. Null: this one must be asked for.
   */
  codeFor?(order: ChargeOrder): Answer<OpenedCharge> | null
  createCharge(order: ChargeOrder): Promise<Answer<OpenedCharge>>
  /** What the bank knows of many charges in one call; one it has never heard of is absent. */
  getCharges(txids: string[]): Promise<Answer<Map<string, ChargeState>>>
  /**
   * For one that keeps what it knows in our own database: that it knows nothing of the charge with
   * this id, as a condition, so that the statement which ends a charge can ask for itself.
   */
  hasNoWordOf?(chargeId: Prisma.Sql): Prisma.Sql
  cancelCharge(txid: string): Promise<Answer<ChargeState>>

  /** What is known before money is held for an order: that the bank cannot take it just now. */
  isDownFor?(dictKey: string): boolean
  sendPayout(order: PayoutOrder): Promise<Answer<OrderState>>
  /** Null: no such payout was ever taken, so sending it (under the same id) is safe. */
  getPayout(id: string): Promise<Answer<OrderState | null>>

  refundCharge(order: RefundOrder): Promise<Answer<OrderState>>
  getRefund(id: string): Promise<Answer<OrderState | null>>

  /** Null: this gateway does not tell. */
  getBalance(): Promise<Answer<{ available: number } | null>>
  checkHealth(): Promise<Answer<null>>

  /** Only a gateway that calls us back has these. A notice is a hint: what it says is asked for. */
  registerWebhook?(address: string): Promise<Answer<null>>
  parseWebhook?(body: string): Notice[]
}

export interface Notice {
  about: 'charge' | 'payout' | 'refund'
  id: string
}

/**
 * ok: it happened as said. rejected: it never will. retryable: it did not happen, the same may be
 * asked again. unknown: nobody can say, so ask about this id, never send under another one.
 */
export type Answer<Value> =
  | { outcome: 'ok'; value: Value }
  | { outcome: 'rejected'; reason: string }
  | { outcome: 'retryable'; reason: string }
  | { outcome: 'unknown'; reason: string }

export interface OpenedCharge {
  brCode: string
  /** When the bank will know more of it than now, where it says so. */
  newsInMs?: number
}

export interface ChargeOrder {
  txid: string
  amount: number
  expiresInSeconds: number
  merchantName: string
  merchantCity: string
  payerName: string
  payerEmail: string
  payerDoc: string
}

export type ChargeState =
  | { state: 'open' }
  | { state: 'paid'; amount: number; endToEndId: string; paidAt: Date }
  | { state: 'failed' | 'expired' | 'cancelled' }

export interface PayoutOrder {
  id: string
  amount: number
  dictKey: string
}

export interface RefundOrder {
  id: string
  endToEndId: string
  amount: number
}

/** A payout or refund at the bank. Taken is not sent: only `done` has moved money. */
export type OrderState =
  | { state: 'taken' }
  | { state: 'done'; endToEndId: string }
  | { state: 'refused'; reason: BankReason }
