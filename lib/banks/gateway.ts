import type { LookupFunction } from 'node:net'
import * as z from 'zod'
import { ConnectionSettings, type Environment } from '#lib/banks/schema.ts'
import type { ConnectionKind } from '#lib/banks/states.ts'
import { formatReason, openApiMeta, type ReasonOf } from '#lib/core/fields.ts'
import { buildDynamicCode, foldText, parseBrCode } from '#lib/core/pix/br-code.ts'
import { Prisma } from '#lib/db/client.ts'

/**
 * What a notice is about: a charge by its txid, an order by its id, a payment by its end-to-end id. `return`: money
 * of this payout came back. `payment_return`: money of this payment, by its end-to-end id, has gone back.
 */
export interface GatewayNotification {
  kind: 'charge' | 'payout' | 'return' | 'refund' | 'payment' | 'payment_return'
  id: string
}

/** The address of a connection for notices. It contains a secret. */
export interface NoticeAddress {
  current: string
  /** Its beginning without the secret: addresses from before a rotation begin so, too. */
  prefix: string
}

export interface Registration {
  /** The only keys whose notices it is for. Default: all of the connection. */
  keys?: string[]
  /** Whether Troco refuses notices without the bank's client certificate. Default: no. */
  isCertificateRequired?: boolean
}

/** Where a bank sends the notices about a key. */
export interface KeyWebhook {
  key: string
  /** Null if it sends none. */
  address: string | null
}

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
  /** Until when the merchant's defense can be sent; null: the bank names no time. */
  respondBy: Date | null
  /** Whether the bank has a defense, from Troco or from elsewhere. */
  isAnswered: boolean
}

export interface DisputeAnswer {
  /** The bank's id of the dispute. */
  id: string
  text: string
}

/** late: the bank takes no defense any more. */
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
type StatementFlaw = 'empty' | 'layout' | 'day' | 'cut'

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

/**
 * Reasons of a bank, as merchants see them. CHECKs on withdrawals and refunds list these codes.
 * `other` quotes what a member entered at the simulated bank, never a bank.
 */
export const REJECTIONS = {
  key_refused: 'The receiving bank refused the key',
  owner_differs: 'The key belongs to another person or company',
  account_unknown: 'The receiving account does not exist',
  account_blocked: 'The receiving account is blocked',
  account_closed: 'The receiving account is closed',
  not_supported: 'The receiving account cannot receive this payment',
  above_limit: 'The amount is above a limit of the bank',
  amount_refused: 'The bank refused the amount',
  receiver_refused: 'The receiving bank refused the payment',
  not_in_pix: 'The receiving bank does not take part in PIX',
  regulation: 'Refused for a legal or regulatory reason',
  denied: 'The bank denied the payment after an analysis',
  try_later: 'The bank could not make the payment: try again later',
  simulated: 'Rejected at the simulated bank',
  unspecified: 'Refused',
  other: '{text}',
} as const

/** Reasons of the account itself, which only a withdrawal may have. */
const APPROVAL_REJECTIONS = {
  approval_declined: 'Declined by a member of the account',
  approval_expired: 'Not approved by a second member in time',
} as const
/** Reason of the operator, who ended an order that the bank never answered. */
const END_REJECTIONS = {
  ended_unsent: 'The bank never answered, and the operator found that the payment was not sent',
} as const
const ALL_REJECTIONS = { ...REJECTIONS, ...APPROVAL_REJECTIONS, ...END_REJECTIONS }

export type Rejection = ReasonOf<typeof ALL_REJECTIONS>
export const ENDED_UNSENT = { code: 'ended_unsent', params: {} } as const satisfies Rejection
export type RejectionCode = Rejection['code']
export const REJECTION_CODES = Object.keys(ALL_REJECTIONS) as RejectionCode[]

/** Field of a response. A string, not an enumeration: a later version may add codes. */
export const rejectionCodeField = z
  .string()
  .nullable()
  .meta(
    openApiMeta(
      'Code of the reason, for programs, or null. `other`: the reason was typed in at the simulated bank.',
      null,
    ),
  )

/** Why a bank refused: a reason for the merchant, and the bank's own text, which only staff sees. */
export type BankRefusal = ReasonOf<typeof REJECTIONS> & { bankText: string | null }

/** Reasons of the payment system (SPI) by their codes, which every bank passes on. */
const SPI_REJECTIONS: Record<string, Exclude<keyof typeof REJECTIONS, 'other'>> = {
  AC03: 'account_unknown',
  AC06: 'account_blocked',
  AC07: 'account_closed',
  AG03: 'not_supported',
  AM02: 'above_limit',
  // The balance that is short belongs to the operator, which is no merchant's business.
  AM04: 'try_later',
  AM09: 'amount_refused',
  BE01: 'owner_differs',
  DS04: 'receiver_refused',
  DS27: 'not_in_pix',
  RR04: 'regulation',
  AB03: 'try_later',
  AB09: 'try_later',
}

/** Returns the refusal for a code of the payment system; an unknown code gets a general sentence. */
export function spiRefusal(spiCode: string, bankText: string | null): BankRefusal {
  const known = Object.hasOwn(SPI_REJECTIONS, spiCode) ? SPI_REJECTIONS[spiCode] : undefined
  return { code: known ?? 'unspecified', params: {}, bankText }
}

const BANK_TEXT_MAX = 500

/** Returns the assignments of an UPDATE that rejects an order: reason, sentence and bank's text. */
export function rejectionAssignments(reason: Rejection | BankRefusal): Prisma.Sql {
  const { code, params } = reason
  const bankText = 'bankText' in reason ? reason.bankText : null
  return Prisma.sql`rejection_code = ${code}, rejection_params = ${JSON.stringify(params)}::json,
    rejection_reason = ${formatReason(ALL_REJECTIONS, reason)},
    bank_text = ${bankText?.replaceAll('\0', '').slice(0, BANK_TEXT_MAX) ?? null}`
}

/**
 * ok: works. warning: live mode works without it. problem: the operator must act before live mode works.
 * unanswered: the bank gave no answer. untried: another finding kept it from being asked.
 */
export type FindingLevel = 'ok' | 'warning' | 'problem' | 'unanswered' | 'untried'

/** What a check of a connection can find: its level and, of a problem, what it blocks. */
export const FINDINGS = {
  certificate_valid: { level: 'ok' },
  certificate_expires_soon: { level: 'warning' },
  certificate_expired: { level: 'problem', block: 'certificate' },
  certificate_not_yet_valid: { level: 'problem', block: 'certificate' },
  certificate_refused: { level: 'problem', block: 'certificate' },
  certificate_dropped: { level: 'unanswered' },
  server_trusted: { level: 'ok' },
  server_untrusted: { level: 'problem', block: 'certificate' },
  server_private: { level: 'problem', block: 'other' },
  server_unreachable: { level: 'unanswered' },
  token_untried: { level: 'untried' },
  token_issued: { level: 'ok' },
  token_refused: { level: 'problem', block: 'credentials' },
  token_unanswered: { level: 'unanswered' },
  calls_untried: { level: 'untried' },
  clock_agrees: { level: 'ok' },
  clock_differs: { level: 'warning' },
  scope_used: { level: 'ok' },
  scope_missing: { level: 'problem', block: 'scope' },
  scope_missing_for_notices: { level: 'warning' },
  scope_missing_for_disputes: { level: 'warning' },
  scope_missing_for_statements: { level: 'warning' },
  scope_unproven: { level: 'warning' },
  scope_unanswered: { level: 'unanswered' },
  payments_listed: { level: 'ok' },
  payments_refused: { level: 'problem', block: 'other' },
  payments_unanswered: { level: 'unanswered' },
  balance_read: { level: 'ok' },
  balance_refused: { level: 'problem', block: 'other' },
  balance_unanswered: { level: 'unanswered' },
  settings_open: { level: 'warning' },
  payer_notices_missing: { level: 'problem', block: 'key' },
  notices_ours: { level: 'ok' },
  notices_outdated: { level: 'warning' },
  notices_missing: { level: 'warning' },
  notices_foreign: { level: 'warning' },
  bank_answers: { level: 'ok' },
  bank_refuses: { level: 'problem', block: 'other' },
  bank_silent: { level: 'unanswered' },
} as const satisfies Record<string, { level: FindingLevel; block?: string }>

export type FindingCode = keyof typeof FINDINGS
export type FindingParams = Readonly<Record<string, string | number>>

/** `params` contain no secret: the edge puts them into its sentences. */
export interface BankFinding {
  code: FindingCode
  params: FindingParams
}

export function find(code: FindingCode, params: FindingParams = {}): BankFinding {
  return { code, params }
}

export function findingLevelOf({ code }: BankFinding): FindingLevel {
  return FINDINGS[code].level
}

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

  createCharge(terms: ChargeTerms, signal: AbortSignal): Promise<GatewayResult<OpenedCharge>>
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
  /** Lists payouts that the bank sent at or after `since`, also those that Troco did not order. */
  listSentPayouts?: ListCall<SentPayout>

  /** List orders of Troco that the bank took at or after `since` and has not refused: docs/decisions/064. */
  listTakenPayouts?: ListCall<TakenOrder>
  listTakenRefunds?: ListCall<TakenOrder>

  /** Lists disputes that began at or after `since`, with their states of now. */
  listDisputes?: ListCall<ReportedDispute>

  /** Sends the defense in a dispute. If there is one already, the outcome is unknown: the list names it. */
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
  /** Lists settings of the account that accept payments without a charge; `corrects`: and changes them. */
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
interface LocalAnswers {
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

/** Field of a charge's terms that the bank refuses; only the caller can change it. */
export type ChargeField = 'amount' | 'document' | 'expiry'

/** What the operator must solve with the bank. */
const BLOCK_CODES = [
  'credentials',
  'certificate',
  'scope',
  'document',
  'key',
  'balance',
  'other',
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

export interface ChargeTerms {
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

/** What an adapter knows of its connection. */
export interface Connection {
  id: string
  name: string
  kind: ConnectionKind
  environment: Environment | null
  profile: string | null
  settings: Prisma.JsonValue
  /** Text of the credentials as they were added; null if there are none. */
  credentials: string | null
  receivingKeys: string[]
  payingKey: string | null
}

/** Columns of a Connection, except for its id and credentials. */
export const CONNECTION_COLUMNS = {
  name: true,
  kind: true,
  environment: true,
  profile: true,
  settings: true,
  receivingKeys: true,
  payingKey: true,
} as const

/** The operator's number, else that of the bank's profile, else the most cautious one. */
export function payoutsInFlightOf(
  settings: Prisma.JsonValue,
  { payoutsInFlight = 1 }: Gateway,
): number {
  return ConnectionSettings.safeParse(settings).data?.payouts_in_flight ?? payoutsInFlight
}

/** Who may send notices of a connection. */
export interface NoticeRules {
  /** The secret in the address is derived from this number. */
  secretNumber: number
  rotatedAt: Date | null
  /** Ranges of addresses; empty: all. */
  cidrs: string[]
  /** Whether the proxy must have verified the client certificate. */
  isCertificateRequired: boolean
}

/**
 * Opens the gateway of a connection; null if it lacks what the adapter needs. The adapter's sockets resolve
 * names by `lookup`, which finds no private addresses in production.
 */
export type Adapter = (connection: Connection, lookup: LookupFunction) => Gateway | null

const DEFAULT_MERCHANT_NAME = 'RECEBEDOR'
const DEFAULT_MERCHANT_CITY = 'BRASILIA'

type CodeOrder = Pick<ChargeTerms, 'amount' | 'merchantName' | 'merchantCity'>

/** Builds the BR Code of a charge that is served at the location: equal orders get equal codes. */
export function buildChargeCode(location: string, order: CodeOrder): string {
  return buildDynamicCode({
    location,
    amount: order.amount,
    merchantName: foldText(order.merchantName, 25) || DEFAULT_MERCHANT_NAME,
    merchantCity: foldText(order.merchantCity, 15) || DEFAULT_MERCHANT_CITY,
  })
}

/**
 * Returns why a bank's code is not that of the charge, or null. `location`: where the bank says that it
 * serves the charge. Field 62-05 is not compared: 25 characters cannot hold a txid of 26 or more.
 */
export function findCodeContradiction(
  brCode: string,
  amount: number,
  location: string | null,
): string | null {
  const reading = parseBrCode(brCode)
  if (!reading.ok) return `unreadable code: ${reading.error}`
  const { code } = reading
  if (code.kind === 'static') return 'a static code, which any amount can be paid to'
  if (code.amount !== null && code.amount !== amount) return 'a code of another amount'
  const isElsewhere = location !== null && code.location.toLowerCase() !== location.toLowerCase()
  return isElsewhere ? 'a code of another location' : null
}
