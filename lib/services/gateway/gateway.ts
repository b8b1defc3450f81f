import type { Prisma } from '#lib/base/db/client.ts'
import type { BankReason } from '#lib/services/gateway/rejection.ts'

/** A bank, or the simulator. Troco sets order ids: a repeated call never moves money twice. */
export interface Gateway {
  readonly name: string
  /** Whether calls leave this process: they are journaled, and their outcome may stay unknown. */
  readonly isRemote: boolean
  /**
   * For a bank without payment notifications: ages at which an open charge is queried, then
   * multiples of the last age. Unset: a charge is queried only when it expires.
   */
  readonly queryAgesMs?: readonly number[]

  /** Builds the BR Code without calling the bank. Null if this charge needs `createCharge`. */
  buildBrCode?(order: ChargeOrder): GatewayResult<OpenedCharge> | null
  createCharge(order: ChargeOrder): Promise<GatewayResult<OpenedCharge>>
  /** Returns the states of many charges in one call; charges unknown to the bank are absent. */
  getCharges(txids: string[]): Promise<GatewayResult<Map<string, ChargeState>>>
  /** SQL condition that a charge has no reported state; only for gateways in Troco's database. */
  noStateReportedSql?(chargeId: Prisma.Sql): Prisma.Sql
  cancelCharge(txid: string): Promise<GatewayResult<ChargeState>>

  /** Returns whether the bank is known to be unavailable. Checked before the amount is held. */
  isDownFor?(dictKey: string): boolean
  sendPayout(order: PayoutOrder): Promise<GatewayResult<OrderState>>
  /** Returns null if the bank never accepted the payout: resending under the same id is safe. */
  getPayout(id: string): Promise<GatewayResult<OrderState | null>>

  refundCharge(order: RefundOrder): Promise<GatewayResult<OrderState>>
  getRefund(id: string): Promise<GatewayResult<OrderState | null>>

  /** Returns null if this gateway does not report a balance. */
  getBalance(): Promise<GatewayResult<{ available: number } | null>>
  checkHealth(): Promise<GatewayResult<null>>

  /** Registers the address for notifications, at a bank that sends them. */
  registerWebhook?(address: string): Promise<GatewayResult<null>>
  /** Parses a notification. It is only a hint: the state is then queried. */
  parseWebhook?(body: string): GatewayNotification[]
}

export interface GatewayNotification {
  kind: 'charge' | 'payout' | 'refund'
  id: string
}

/**
 * Outcome of a call. ok: it took effect. rejected: it never will. retryable: no effect, may be
 * repeated. unknown: the bank must be queried by this id, and nothing sent under another id.
 */
export type GatewayResult<Value> =
  | { outcome: 'ok'; value: Value }
  | { outcome: 'rejected'; reason: string }
  | { outcome: 'retryable'; reason: string }
  | { outcome: 'unknown'; reason: string }

export interface OpenedCharge {
  brCode: string
  /** Time until the bank expects a new state; absent if the bank gives none. */
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

/** State of a payout or refund at the bank. `taken`: accepted. `done`: the money has moved. */
export type OrderState =
  | { state: 'taken' }
  | { state: 'done'; endToEndId: string }
  | { state: 'refused'; reason: BankReason }
