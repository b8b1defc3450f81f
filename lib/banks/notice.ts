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
