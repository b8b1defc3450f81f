import type { BankFinding } from '#lib/banks/findings.ts'
import type {
  AnswerEnd,
  DisputeAnswer,
  Listing,
  PaymentReturn,
  PayoutReturn,
  ReportedDispute,
  SentPayout,
  TakenOrder,
} from '#lib/banks/lists.ts'
import type {
  GatewayNotification,
  KeyWebhook,
  NoticeAddress,
  Registration,
} from '#lib/banks/notice.ts'
import type { BankRefusal } from '#lib/banks/rejection.ts'
import type { StatementRead } from '#lib/banks/statement.ts'
import type { Prisma } from '#lib/db/client.ts'

/**
 * A bank, or the simulator. Troco sets order ids: a repeated call never moves money twice. A call
 * ends, and closes its connection, when its signal is aborted.
 */
export interface Gateway {
  readonly name: string
  /** Set by an adapter whose state is in Troco's database. Calls of others are journaled. */
  readonly local?: LocalAnswers
  /**
   * For a bank without payment notifications: ages at which an open charge is queried, then
   * multiples of the last age. Unset: a charge is queried only when it expires.
   */
  readonly queryAgesMs?: readonly number[]
  /** Maximum payouts that were sent and have not ended, of all processes. Default: 1. */
  readonly payoutsInFlight?: number
  /** Consecutive failed calls after which the connection rests. Default: 5. */
  readonly failuresMax?: number
  /** When the client certificate of the connection ends; null or unset: it has none. */
  readonly certificateEndsAt?: Date | null

  createCharge(order: ChargeOrder, signal: AbortSignal): Promise<GatewayResult<OpenedCharge>>
  /** Queries many charges. A call that reaches only some of them answers for those. */
  getCharges(txids: string[], signal: AbortSignal): Promise<GatewayResult<ChargeAnswers>>
  /** Removes an open charge and returns its state; null if the bank has no such charge. */
  cancelCharge(txid: string, signal: AbortSignal): Promise<GatewayResult<ChargeState | null>>

  /** Asked before the amount is held; refuses a payout that cannot be sent now. Calls no bank. */
  checkPayout(dictKey: string): Promise<GatewayResult<null>>
  sendPayout(order: PayoutOrder, signal: AbortSignal): Promise<GatewayResult<OrderState>>
  /**
   * Returns null if the bank does not have the payout. It is sent again unless it was ever taken. One
   * with another amount or key has not the state of this payout: the outcome is unknown.
   */
  getPayout(payout: SentOrder, signal: AbortSignal): Promise<GatewayResult<OrderState | null>>

  refundCharge(order: RefundOrder, signal: AbortSignal): Promise<GatewayResult<OrderState>>
  /** As for a payout: a refund of another amount has not the state of this one. */
  getRefund(refund: RefundOrder, signal: AbortSignal): Promise<GatewayResult<OrderState | null>>

  /** Lists what the bank received at or after `since`, by the time of payment. */
  listPayments?: ListCall<ReceivedPayment>
  /** Lists what the bank received at or after `since` and of which something has gone back. */
  listReturnedPayments?: ListCall<ReceivedPayment>
  /** Finds a payment that the bank received by its end-to-end id; null: it has none. */
  getPayment?(
    endToEndId: string,
    signal: AbortSignal,
  ): Promise<GatewayResult<ReceivedPayment | null>>
  /** Lists what the bank sent at or after `since`, whoever ordered it. */
  listSentPayouts?: ListCall<SentPayout>

  /** List orders of Troco that the bank took at or after `since` and has not refused: docs/decisions/064. */
  listTakenPayouts?: ListCall<TakenOrder>
  listTakenRefunds?: ListCall<TakenOrder>

  /** Lists disputes that began at or after `since`, with their states of now. */
  listDisputes?: ListCall<ReportedDispute>

  /** Sends the defence in a dispute. If there is one already, the outcome is unknown: the list names it. */
  answerDispute?(answer: DisputeAnswer, signal: AbortSignal): Promise<GatewayResult<AnswerEnd>>

  /** Reads all movements of a day (`2026-11-20`) that is over. The bank may take minutes. */
  readStatement?(
    day: string,
    cursor: string | null,
    signal: AbortSignal,
  ): Promise<GatewayResult<StatementRead>>
  /** Reads the balance. What it does not cover is not paid out; unset: the bank reports none, and all is sent. */
  getBalance?(signal: AbortSignal): Promise<GatewayResult<{ available: number }>>
  checkHealth(signal: AbortSignal): Promise<GatewayResult<null>>
  /** Lists settings of the account that let in money of no charge; `corrects`: and changes them. */
  checkSettings?(corrects: boolean, signal: AbortSignal): Promise<GatewayResult<string[]>>
  /** Examines all that live mode needs. */
  diagnose?(noticesAt: NoticeAddress, signal: AbortSignal): Promise<BankFinding[]>

  /** Registers the address for notices. */
  registerWebhook?(
    address: string,
    signal: AbortSignal,
    registration?: Registration,
  ): Promise<GatewayResult<null>>
  listWebhooks?(signal: AbortSignal): Promise<GatewayResult<KeyWebhook[]>>
  /** Parses a notice, which may be any text. It is only a hint: the state is then queried. */
  parseWebhook?(body: string): GatewayNotification[]
}

type ListCall<Item> = (
  since: Date,
  cursor: string | null,
  signal: AbortSignal,
) => Promise<GatewayResult<Listing<Item>>>

/**
 * Answers inside Troco's statements. With them, `createCharge` is called before the charge is stored:
 * its effects need no removal if the charge never is.
 */
export interface LocalAnswers {
  /** SQL condition that a charge has no reported state. */
  noStateReportedSql(chargeId: Prisma.Sql): Prisma.Sql
}

/**
 * Outcome of a call. ok: it took effect. rejected: it never will. retryable: no effect, may be
 * repeated. unknown: the bank must be queried by this id, and nothing sent under another id.
 * blocked: no effect until the operator has solved a problem with the bank. `reason` and `bankText`
 * are the bank's own text, for staff. `retryAfterMs`: the bank wants no call before. `retryCursor`:
 * where a list that failed is to be read on.
 */
export type GatewayResult<Value> =
  | { outcome: 'ok'; value: Value }
  | ({ outcome: 'rejected'; field?: ChargeField } & BankRefusal)
  | ({ outcome: 'retryable'; reason: string; retryAfterMs?: number } & NoFailure)
  | { outcome: 'unknown'; reason: string; retryCursor?: string }
  | { outcome: 'blocked'; code: BlockCode; reason: string; retryAfterMs?: number }

/** isRateLimit: the bank limits all calls. isAnswered: it answered, and only this order must wait. */
type NoFailure = { isRateLimit?: boolean; isAnswered?: boolean }

/** Field of a charge's order that the bank refuses; only the caller can change it. */
export type ChargeField = 'amount' | 'document' | 'expiry'

/** What the operator must solve with the bank. */
export const BLOCK_CODES = [
  ...(['credentials', 'certificate', 'scope', 'document', 'key', 'balance', 'other'] as const),
] as const
export type BlockCode = (typeof BLOCK_CODES)[number]

export interface OpenedCharge {
  brCode: string
  /** Time until the bank expects a new state; absent if the bank gives none. */
  newsInMs?: number
  /** Time that is left to pay by the bank's clock; absent: that of the order, from now on. */
  payableForMs?: number
}

/** Characters of a payer's name that a bank gets, and may repeat. */
export const PAYER_NAME_MAX = 200

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

/** `paid` without payments: the bank names none that can be read. */
export type ChargeState =
  | { state: 'open' }
  | { state: 'paid'; payments: ReceivedPayment[]; brCode?: string }
  | { state: 'failed' | 'expired' | 'cancelled' }

export interface ChargeAnswers {
  /** States by txid; charges unknown to the bank are absent. */
  states: Map<string, ChargeState>
  /** Charges that the call did not reach: nothing is known about them. */
  unanswered: string[]
  /** The bank wants no call about them before. */
  retryAfterMs?: number
}

export interface PayoutOrder {
  id: string
  amount: number
  dictKey: string
  /** Document of the receiver, bare: the bank must refuse a key of another owner. Null: any owner. */
  ownerDoc: string | null
}

/** What a payout at a bank must agree with to be that of a withdrawal. */
export type SentOrder = Pick<PayoutOrder, 'id' | 'amount' | 'dictKey'> & {
  /** The payment's id from the bank's response to the order; null or absent: the response was lost. */
  endToEndId?: string | null
}

export interface RefundOrder {
  id: string
  /** The payment that is returned. Banks find a refund only below it. */
  endToEndId: string
  amount: number
  /** Chooses the outcome at the simulator; sent to no bank. */
  payerEmail?: string
}

/** State of a payout or refund at the bank. `taken`: accepted. `done`: the money has moved. */
export type OrderState =
  | { state: 'taken'; endToEndId?: string; payee?: Party }
  | { state: 'done'; endToEndId: string; payee?: Party; returns?: PayoutReturn[] }
  | ({ state: 'refused' } & BankRefusal)

/** The other side of a payment, as the bank names it. The name has no whole document in it. */
export interface Party {
  name: string
  maskedDoc: string | null
  bank: string | null
}

/** A payment that the bank received. */
export interface ReceivedPayment {
  endToEndId: string
  amount: number
  paidAt: Date
  txid: string | null
  payer?: Party
  /** What has gone back to the payer, by an order of Troco or not; absent: nothing. */
  returns?: PaymentReturn[]
}
