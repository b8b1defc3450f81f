// Types of the API, generated from its OpenAPI document: npx vitest run packages/client -u

/** Item of the charge. Additional keys are stored as sent. */
export type Item = {
  /** Name of the item. */
  name?: string | null
  /** Price, in cents. A string must contain a number. */
  price?: number | string | null
  /** Quantity. A string must contain a number. */
  quantity?: number | string | null
}

export interface ChargeRequest {
  /** Amount to charge, in cents. */
  amount: number
  /** Full name of the payer. */
  client_name: string
  /** E-mail of the payer. */
  client_email: string
  /** CPF (11 digits) or CNPJ (14 characters, letters included) of the payer, bare or formatted. Live mode also verifies the check digits. */
  client_doc: string
  /** Phone of the payer. */
  client_phone?: string
  /** URL that receives the events of the charge: http or https, in live mode only https. If it contains a user name or a password, they are not stored, and no event is sent: check the signature of the events instead. */
  webhook_url?: string
  /** IP address of the payer. Default: the client address of the request. One that cannot be read counts as absent, and `X-Ignored-Fields` names it. */
  ip?: string
  /** Your own data; at most 16 KiB as JSON. Returned as sent. */
  metadata?: Record<string, unknown>
  /** Tracking parameters; at most 16 KiB as JSON. */
  utms?: Record<string, unknown>
  /** Items of the charge. Purely descriptive: they create no products and do not change `amount`. The sum of price × quantity should equal `amount`. */
  items?: Item[]
  /** Your own reference, by which the resource can also be read: printable characters, not a UUID. Unique per account and mode, and a second use responds 409, unless the settings of the account allow charges to repeat it. */
  external_id?: string
  /** Seconds until the charge expires. Default: the setting of the account, initially one day. */
  expires_in?: number
}

export interface ChargeCreated {
  /** Always `success` with status 200. */
  status: 'success'
  data: {
    /** Id of the charge. */
    transaction_id: string
    /** Pix code that the payer copies or scans: the text of the QR code. */
    br_code: string
    /** Amount, in cents. */
    amount: number
    status: ChargeStatus
    /** Metadata as sent, or null. */
    metadata: Record<string, unknown> | null
    /** The same as `transaction_id`. */
    id?: string
    /** Your reference. Default: the id without hyphens. */
    external_id?: string
    mode?: Mode
    /** Name of the payer. */
    client_name?: string
    /** E-mail of the payer. */
    client_email?: string
    /** CPF or CNPJ of the payer. Masked, as in `***.982.247-**`, for a token without `payers:read`. */
    client_doc?: string
    /** Phone of the payer. */
    client_phone?: string | null
    /** IP address of the payer, or the client address of the request. */
    ip?: string | null
    /** Items as sent, or null. */
    items?: (Record<string, unknown>)[] | null
    /** Parameters as sent, or null. */
    utms?: Record<string, unknown> | null
    /** URL that receives the events, or null. */
    webhook_url?: string | null
    /** Time of expiry. */
    expires_at?: string
    /** Time of payment, or null. */
    paid_at?: string | null
    /** End-to-end id of the payment, 32 characters, or null. */
    end_to_end_id?: string | null
    /** Refunded amount, in cents. */
    refunded_amount?: number
    /** URL of the payment page, with the QR code. */
    payment_url?: string
    /** Time of creation. */
    created_at?: string
    /** Time of the last change. */
    updated_at?: string
    /** URL of the QR code as SVG, for requests with a token. */
    qr_code_url?: string
  }
}

/** A charge is created `pending`. `paid` is final: the amount is in the balance. */
export type ChargeStatus = 'pending' | 'paid' | 'expired' | 'failed'

/** Test or live mode. */
export type Mode = 'test' | 'live'

export type ChargePage = {
  /** Newest first. */
  data: Charge[]
} & Page

export interface Charge {
  /** Id of the charge. */
  transaction_id: string
  /** Pix code that the payer copies or scans: the text of the QR code. */
  br_code: string
  /** Amount, in cents. */
  amount: number
  status: ChargeStatus
  /** Metadata as sent, or null. */
  metadata: Record<string, unknown> | null
  /** The same as `transaction_id`. */
  id: string
  /** Your reference. Default: the id without hyphens. */
  external_id: string
  mode: Mode
  /** Name of the payer. */
  client_name: string
  /** E-mail of the payer. */
  client_email: string
  /** CPF or CNPJ of the payer. Masked, as in `***.982.247-**`, for a token without `payers:read`. */
  client_doc: string
  /** Phone of the payer. */
  client_phone: string | null
  /** IP address of the payer, or the client address of the request. */
  ip: string | null
  /** Items as sent, or null. */
  items: (Record<string, unknown>)[] | null
  /** Parameters as sent, or null. */
  utms: Record<string, unknown> | null
  /** URL that receives the events, or null. */
  webhook_url: string | null
  /** Time of expiry. */
  expires_at: string
  /** Time of payment, or null. */
  paid_at: string | null
  /** End-to-end id of the payment, 32 characters, or null. */
  end_to_end_id: string | null
  /** Refunded amount, in cents. */
  refunded_amount: number
  /** URL of the payment page, with the QR code. */
  payment_url: string
  /** Time of creation. */
  created_at: string
  /** Time of the last change. */
  updated_at: string
  /** Time of cancellation, only if you cancelled the charge. Its status is `expired`, or `paid` after a late payment. */
  cancelled_at?: string
  /** Amount that the bank returned to the payer without a refund of yours, in cents, only if there is one. What was lost in a dispute is not in it. */
  returned_amount?: number
  /** Text for the payer, only if there is one. */
  description?: string
  /** Who paid, as the bank reports it, only once the charge is paid and only if the bank reports it. `client_name` and `client_doc` are what your program sent: another person may have paid. */
  payer?: {
    /** Name of the owner of the account that paid. */
    name: string
    /** CPF or CNPJ of the owner, always masked, or null. */
    document: string | null
    /** Bank of the account: usually its ISPB, 8 digits, or null. */
    bank: string | null
  }
}

/** Fields of every page of a list. */
export interface Page {
  /** Send it as `cursor` to read the next page. Null on the last page, and only there: a page of large entries has fewer than `limit`. */
  next_cursor: string | null
}

export interface ChargeRead {
  /** Always `success` with status 200. */
  status: 'success'
  data: Charge
}

export interface CancelRequest {}

export interface DescriptionRequest {
  /** Text for the payer. */
  description?: string
}

export type RefundPage = {
  /** Newest first. */
  data: Refund[]
} & Page

export interface Refund {
  /** Id of the refund. */
  id: string
  /** Id of the refunded charge. */
  transaction_id: string
  /** Amount, in cents. */
  amount: number
  status: RefundStatus
  /** Reason as sent, or null. */
  reason: string | null
  /** Time of creation. */
  created_at: string
  mode: Mode
  /** Reason that the bank gave, or null. */
  rejection_reason: string | null
  /** Code of the reason, for programs, or null. `other`: the reason was typed in at the simulated bank. */
  rejection_code: string | null
  /** Return id of the central bank, 32 characters, or null. */
  return_id: string | null
  /** Time of completion, or null. */
  completed_at: string | null
  /** Time of rejection, or null. */
  rejected_at: string | null
  /** Time of the last change. */
  updated_at: string
}

/** `pending`: the amount is held. `completed`: the payer has received it. `rejected`: it has returned to the balance. */
export type RefundStatus = 'pending' | 'completed' | 'rejected'

export interface RefundRequest {
  /** Amount to refund, in cents. With `all`, or without this field, all that can still be refunded. Null, the empty string and unknown fields are refused. */
  amount?: number | 'all'
  /** Reason, for your own records. */
  reason?: string
}

export interface RefundCreated {
  data: {
    /** Id of the refund. */
    id: string
    /** Id of the refunded charge. */
    transaction_id: string
    /** Amount, in cents. */
    amount: number
    status: RefundStatus
    /** Reason as sent, or null. */
    reason: string | null
    /** Time of creation. */
    created_at: string
  }
}

export interface RefundRead {
  data: Refund
}

export type DisputePage = {
  /** Newest first. */
  data: Dispute[]
} & Page

export interface Dispute {
  /** Id of the dispute. */
  id: string
  /** Id of the disputed charge. */
  transaction_id: string
  /** Disputed amount, in cents. */
  amount: number
  /** Amount that went to the payer, in cents; null unless it was lost. */
  lost_amount: number | null
  status: DisputeStatus
  mode: Mode
  /** Time until which your administrator can answer the dispute, or null. */
  respond_by: string | null
  /** Time of the end, or null. */
  closed_at: string | null
  /** Time of creation. */
  created_at: string
  /** Time of the last change. */
  updated_at: string
}

/** `open`: the disputed amount is held. `won`: it has returned to the balance. `lost`: `lost_amount` went to the payer, the rest has returned to the balance. */
export type DisputeStatus = 'open' | 'won' | 'lost'

export interface DisputeRead {
  data: Dispute
}

export interface DisputeEvidenceRequest {
  /** What proves the sale or the delivery, in your words. */
  text?: string
  /** A PDF, PNG or JPEG in base64, of at most 5 MB. */
  file?: string
  /** Name of the file, as your administrator reads it. Required with `file`. */
  file_name?: string
}

export interface DisputeEvidenceRead {
  data: DisputeEvidence
}

export interface DisputeEvidence {
  /** Id of the evidence. */
  id: string
  /** Text, or null. */
  text: string | null
  /** Name of the file, or null. */
  file_name: string | null
  /** Media type of the file by its content, or null. */
  file_type: 'application/pdf' | 'image/png' | 'image/jpeg' | null
  /** Size of the file, or null. */
  file_bytes: number | null
  /** Time of creation. */
  created_at: string
}

export interface DisputeEvidenceList {
  data: DisputeEvidence[]
}

export interface WithdrawalRequest {
  /** Amount to send, in cents. It is held at once and must not exceed the balance. */
  amount: number
  /** Destination Pix key. */
  pix_key: string
  /** Type of the key. Default: inferred from the key. Live mode requires it if the key is ambiguous (eleven digits can be a CPF or a mobile phone). */
  pix_key_type?: 'cpf' | 'cnpj' | 'email' | 'phone' | 'random'
  /** CPF or CNPJ of the receiver, bare or formatted. The bank then rejects the withdrawal if the key belongs to another person or company. Default: the owner of the key is not checked. */
  owner_doc?: string
  /** URL that receives the events of the withdrawal: http or https, in live mode only https. If it contains a user name or a password, they are not stored, and no event is sent: check the signature of the events instead. */
  webhook_url?: string
  /** Your own reference, by which the resource can also be read: printable characters, not a UUID. Unique per account and mode, and a second use responds 409, unless the settings of the account allow charges to repeat it. */
  external_id?: string
  /** Note for your team, shown with the withdrawal. Neither the bank nor the receiver gets it. Default: none. */
  memo?: string
}

export interface WithdrawalCreated {
  /** Message for people. */
  message: string
  data: {
    /** Id of the withdrawal. */
    id: string
    /** Amount, in cents. */
    amount: number
    status: WithdrawalStatus
    /** Type as sent, or as inferred from the key. */
    pix_key_type: 'cpf' | 'cnpj' | 'email' | 'phone' | 'random'
    /** Destination key as sent. */
    pix_key: string
    /** Time of creation. */
    created_at: string
  }
}

/** `pending`: the amount is held. `approved`: it has left the account. `rejected`: it has returned to the balance. */
export type WithdrawalStatus = 'pending' | 'approved' | 'rejected'

export type WithdrawalPage = {
  /** Newest first. */
  data: Withdrawal[]
} & Page

export interface Withdrawal {
  /** Id of the withdrawal. */
  id: string
  /** Amount, in cents. */
  amount: number
  status: WithdrawalStatus
  /** Type as sent, or as inferred from the key. */
  pix_key_type: 'cpf' | 'cnpj' | 'email' | 'phone' | 'random'
  /** Destination key as sent. */
  pix_key: string
  /** Time of creation. */
  created_at: string
  /** Your reference, or null. */
  external_id: string | null
  mode: Mode
  /** URL that receives the events, or null. */
  webhook_url: string | null
  /** Reason of the rejection, or null. */
  rejection_reason: string | null
  /** Code of the reason, for programs, or null. `other`: the reason was typed in at the simulated bank. */
  rejection_code: string | null
  /** What a pending withdrawal waits for, or null. `approval`: a second member of the account. `balance_window`: its turn, because the bank takes a limited number of payments at a time and per period, and payments can be paused. `bank`: it was sent, and the bank has not confirmed it. */
  awaiting: 'approval' | 'balance_window' | 'bank' | null
  /** End-to-end id of the payment, 32 characters, or null. It can be known while the withdrawal is pending. */
  end_to_end_id: string | null
  /** Time of approval, or null. */
  approved_at: string | null
  /** Time of rejection, or null. */
  rejected_at: string | null
  /** Amount that the receiver’s bank has sent back since, in cents. */
  returned_amount: number
  /** Time of the last change. */
  updated_at: string
  /** CPF or CNPJ of the receiver as sent, if one was. Masked for tokens without `payers:read`, and in events. */
  owner_doc?: string
  /** Note for your team, if there is one. */
  memo?: string
}

export interface WithdrawalRead {
  data: Withdrawal
}

export interface Account {
  /** Name of the account. */
  name: string
  /** Available balance in the token's mode, in cents. */
  balance: number
}

export type StatementPage = {
  /** Newest first. */
  data: StatementEntry[]
  mode: Mode
  /** Time zone of the account, in which days begin. */
  time_zone: string
  /** Beginning of the period, or null. */
  from: string | null
  /** End of the period, or null. */
  to: string | null
  /** Balance at the beginning of the period, in cents. */
  opening_balance: number
  /** Balance at the end of the period, in cents. */
  closing_balance: number
} & Page

export interface StatementEntry {
  /** Position in the ledger: 1, 2, 3 and so on, without gaps. */
  version: number
  /** What moved the balance. `transaction_paid`: a payment. `withdrawal_held`, `refund_held`: the amount left the balance with the request; `…_returned`: it came back, because the bank rejected it. `payout_returned`: the receiver’s bank sent a withdrawal back. `receipt_credited`: a payment that the administrator assigned to the account. `dispute_held`, `dispute_won`: held for a payment that its payer disputes, and released. `payment_returned`: the bank returned a payment to its payer without a refund of yours. `owed_repaid`: withheld to cover what was missing for disputes, such returns and corrections. `corrected`: a correction by the administrator, in either direction. */
  kind: 'transaction_paid' | 'refund_held' | 'refund_returned' | 'withdrawal_held' | 'withdrawal_returned' | 'payout_returned' | 'receipt_credited' | 'dispute_held' | 'dispute_won' | 'payment_returned' | 'owed_repaid' | 'corrected'
  /** Amount, in cents; negative if it left the balance. */
  amount: number
  /** Balance after the entry, in cents. */
  balance_after: number
  /** Time of the entry. */
  created_at: string
  /** Id of what moved the balance: the charge, refund, withdrawal, dispute or assigned payment. */
  subject_id: string
  /** Id of the charge that was paid, refunded or disputed, or null. */
  transaction_id: string | null
  /** Id of the withdrawal, or null. */
  withdrawal_id: string | null
  /** Your reference of the charge or withdrawal, or null. */
  external_id: string | null
  /** Name of the payer, or null. */
  client_name: string | null
  /** Type of the receiver’s Pix key, or null. */
  pix_key_type: 'cpf' | 'cnpj' | 'email' | 'phone' | 'random' | null
  /** Pix key of the receiver, masked, or null. */
  pix_key: string | null
}

export interface BalanceHistory {
  /** Newest day first. */
  data: BalanceDay[]
  mode: Mode
  /** Time zone of the account, in which days begin. */
  time_zone: string
}

export interface BalanceDay {
  /** Day in the time zone of the account. */
  date: string
  /** Balance at the beginning of the day, in cents. */
  opening_balance: number
  /** Sum of what came in, in cents. */
  credited: number
  /** Sum of what left, in cents, as a positive number. */
  debited: number
  /** Balance at the end of the day, in cents; for today, the current balance. */
  closing_balance: number
}

export interface EventPage {
  /** Oldest first. */
  data: Event[]
  /** Send it as `after` to read the next events. */
  next_after: number
  /** Sequence number of the newest event. */
  last_sequence: number
}

/** A charge was paid. Its amount is in the balance. */
export interface TransactionPaid {
  /** Id of the event, equal to `webhook-id` and the same in every attempt. */
  id: string
  type: 'transaction.paid'
  event: 'paid'
  mode: Mode
  /** Number of the event within the account and mode, without gaps within an epoch of the feed; 0 for a test event. It can exceed 32 bits. */
  sequence: number
  /** Time of the event. */
  created_at: string
  transaction: Charge
  /** Payer. Only in webhooks to an endpoint, and with `form=endpoint`. */
  client?: EventClient
  /** `items` of the charge, or an empty list. Only in webhooks to an endpoint, and with `form=endpoint`. */
  products?: (Record<string, unknown>)[]
  /** `utms` of the charge, or an empty object. Only in webhooks to an endpoint, and with `form=endpoint`. */
  utms?: Record<string, unknown>
}

export interface EventClient {
  /** Name of the payer. */
  name: string
  /** E-mail of the payer. */
  email: string
  /** CPF or CNPJ of the payer, masked as in the `transaction`. */
  doc: string
  /** Phone of the payer. */
  phone: string | null
}

/** A charge expired unpaid. */
export interface TransactionExpired {
  /** Id of the event, equal to `webhook-id` and the same in every attempt. */
  id: string
  type: 'transaction.expired'
  event: 'expired'
  mode: Mode
  /** Number of the event within the account and mode, without gaps within an epoch of the feed; 0 for a test event. It can exceed 32 bits. */
  sequence: number
  /** Time of the event. */
  created_at: string
  transaction: Charge
  /** Payer. Only in webhooks to an endpoint, and with `form=endpoint`. */
  client?: EventClient
  /** `items` of the charge, or an empty list. Only in webhooks to an endpoint, and with `form=endpoint`. */
  products?: (Record<string, unknown>)[]
  /** `utms` of the charge, or an empty object. Only in webhooks to an endpoint, and with `form=endpoint`. */
  utms?: Record<string, unknown>
}

/** A charge failed at the bank. */
export interface TransactionFailed {
  /** Id of the event, equal to `webhook-id` and the same in every attempt. */
  id: string
  type: 'transaction.failed'
  event: 'failed'
  mode: Mode
  /** Number of the event within the account and mode, without gaps within an epoch of the feed; 0 for a test event. It can exceed 32 bits. */
  sequence: number
  /** Time of the event. */
  created_at: string
  transaction: Charge
  /** Payer. Only in webhooks to an endpoint, and with `form=endpoint`. */
  client?: EventClient
  /** `items` of the charge, or an empty list. Only in webhooks to an endpoint, and with `form=endpoint`. */
  products?: (Record<string, unknown>)[]
  /** `utms` of the charge, or an empty object. Only in webhooks to an endpoint, and with `form=endpoint`. */
  utms?: Record<string, unknown>
}

/** A refund was completed. The payer has received it. */
export interface TransactionRefunded {
  /** Id of the event, equal to `webhook-id` and the same in every attempt. */
  id: string
  type: 'transaction.refunded'
  event: 'refunded'
  mode: Mode
  /** Number of the event within the account and mode, without gaps within an epoch of the feed; 0 for a test event. It can exceed 32 bits. */
  sequence: number
  /** Time of the event. */
  created_at: string
  transaction: Charge
  refund: Refund
  /** Payer. Only in webhooks to an endpoint, and with `form=endpoint`. */
  client?: EventClient
  /** `items` of the charge, or an empty list. Only in webhooks to an endpoint, and with `form=endpoint`. */
  products?: (Record<string, unknown>)[]
  /** `utms` of the charge, or an empty object. Only in webhooks to an endpoint, and with `form=endpoint`. */
  utms?: Record<string, unknown>
}

/** A refund was rejected. Its amount has returned to the balance. */
export interface TransactionRefundFailed {
  /** Id of the event, equal to `webhook-id` and the same in every attempt. */
  id: string
  type: 'transaction.refund_failed'
  event: 'refund_failed'
  mode: Mode
  /** Number of the event within the account and mode, without gaps within an epoch of the feed; 0 for a test event. It can exceed 32 bits. */
  sequence: number
  /** Time of the event. */
  created_at: string
  transaction: Charge
  refund: Refund
  /** Payer. Only in webhooks to an endpoint, and with `form=endpoint`. */
  client?: EventClient
  /** `items` of the charge, or an empty list. Only in webhooks to an endpoint, and with `form=endpoint`. */
  products?: (Record<string, unknown>)[]
  /** `utms` of the charge, or an empty object. Only in webhooks to an endpoint, and with `form=endpoint`. */
  utms?: Record<string, unknown>
}

/** The payer disputes the payment. The disputed amount is held. */
export interface TransactionDisputeOpened {
  /** Id of the event, equal to `webhook-id` and the same in every attempt. */
  id: string
  type: 'transaction.dispute_opened'
  event: 'dispute_opened'
  mode: Mode
  /** Number of the event within the account and mode, without gaps within an epoch of the feed; 0 for a test event. It can exceed 32 bits. */
  sequence: number
  /** Time of the event. */
  created_at: string
  transaction: Charge
  dispute: Dispute
  /** Payer. Only in webhooks to an endpoint, and with `form=endpoint`. */
  client?: EventClient
  /** `items` of the charge, or an empty list. Only in webhooks to an endpoint, and with `form=endpoint`. */
  products?: (Record<string, unknown>)[]
  /** `utms` of the charge, or an empty object. Only in webhooks to an endpoint, and with `form=endpoint`. */
  utms?: Record<string, unknown>
}

/** A dispute ended: the amount has returned to the balance, or went to the payer. */
export interface TransactionDisputeClosed {
  /** Id of the event, equal to `webhook-id` and the same in every attempt. */
  id: string
  type: 'transaction.dispute_closed'
  event: 'dispute_closed'
  mode: Mode
  /** Number of the event within the account and mode, without gaps within an epoch of the feed; 0 for a test event. It can exceed 32 bits. */
  sequence: number
  /** Time of the event. */
  created_at: string
  transaction: Charge
  dispute: Dispute
  /** Payer. Only in webhooks to an endpoint, and with `form=endpoint`. */
  client?: EventClient
  /** `items` of the charge, or an empty list. Only in webhooks to an endpoint, and with `form=endpoint`. */
  products?: (Record<string, unknown>)[]
  /** `utms` of the charge, or an empty object. Only in webhooks to an endpoint, and with `form=endpoint`. */
  utms?: Record<string, unknown>
}

/** The bank returned the payment, or a part of it, to the payer without a refund of yours. The amount has left the balance. */
export interface TransactionReturned {
  /** Id of the event, equal to `webhook-id` and the same in every attempt. */
  id: string
  type: 'transaction.returned'
  event: 'returned'
  mode: Mode
  /** Number of the event within the account and mode, without gaps within an epoch of the feed; 0 for a test event. It can exceed 32 bits. */
  sequence: number
  /** Time of the event. */
  created_at: string
  transaction: Charge
  return: ReturnDetail
  /** Payer. Only in webhooks to an endpoint, and with `form=endpoint`. */
  client?: EventClient
  /** `items` of the charge, or an empty list. Only in webhooks to an endpoint, and with `form=endpoint`. */
  products?: (Record<string, unknown>)[]
  /** `utms` of the charge, or an empty object. Only in webhooks to an endpoint, and with `form=endpoint`. */
  utms?: Record<string, unknown>
}

export interface ReturnDetail {
  /** Id of the return at the bank. */
  id: string
  /** Returned amount, in cents. */
  amount: number
  /** Reason, as the bank names it, or null. `MED_…`: the payer’s bank demanded the money, as after a dispute. `ORIGINAL`: a person returned it at the bank. There can be others. */
  nature: string | null
  /** Time of the return. */
  returned_at: string
}

/** A payment of another amount arrived for a charge, which stays unpaid. Your administrator returns the payment or credits it. */
export interface TransactionAmountMismatch {
  /** Id of the event, equal to `webhook-id` and the same in every attempt. */
  id: string
  type: 'transaction.amount_mismatch'
  event: 'amount_mismatch'
  mode: Mode
  /** Number of the event within the account and mode, without gaps within an epoch of the feed; 0 for a test event. It can exceed 32 bits. */
  sequence: number
  /** Time of the event. */
  created_at: string
  transaction: Charge
  payment: MismatchedPayment
  /** Payer. Only in webhooks to an endpoint, and with `form=endpoint`. */
  client?: EventClient
  /** `items` of the charge, or an empty list. Only in webhooks to an endpoint, and with `form=endpoint`. */
  products?: (Record<string, unknown>)[]
  /** `utms` of the charge, or an empty object. Only in webhooks to an endpoint, and with `form=endpoint`. */
  utms?: Record<string, unknown>
}

export interface MismatchedPayment {
  /** End-to-end id of the payment. */
  end_to_end_id: string
  /** Amount that was paid, in cents. */
  amount: number
  /** Time of the payment. */
  paid_at: string
}

/** A withdrawal was approved. Its amount has left the account. */
export interface WithdrawalApproved {
  /** Id of the event, equal to `webhook-id` and the same in every attempt. */
  id: string
  type: 'withdrawal.approved'
  event: 'approved'
  mode: Mode
  /** Number of the event within the account and mode, without gaps within an epoch of the feed; 0 for a test event. It can exceed 32 bits. */
  sequence: number
  /** Time of the event. */
  created_at: string
  withdrawal: Withdrawal
}

/** A withdrawal was rejected. Its amount has returned to the balance. */
export interface WithdrawalRejected {
  /** Id of the event, equal to `webhook-id` and the same in every attempt. */
  id: string
  type: 'withdrawal.rejected'
  event: 'rejected'
  mode: Mode
  /** Number of the event within the account and mode, without gaps within an epoch of the feed; 0 for a test event. It can exceed 32 bits. */
  sequence: number
  /** Time of the event. */
  created_at: string
  withdrawal: Withdrawal
}

/** The receiver’s bank sent a withdrawal back, or a part of it. The amount has returned to the balance. */
export interface WithdrawalReturned {
  /** Id of the event, equal to `webhook-id` and the same in every attempt. */
  id: string
  type: 'withdrawal.returned'
  event: 'returned'
  mode: Mode
  /** Number of the event within the account and mode, without gaps within an epoch of the feed; 0 for a test event. It can exceed 32 bits. */
  sequence: number
  /** Time of the event. */
  created_at: string
  withdrawal: Withdrawal
}

/** A test of an endpoint. It contains no charge or withdrawal. */
export interface TrocoPing {
  /** Id of the event, equal to `webhook-id` and the same in every attempt. */
  id: string
  type: 'troco.ping'
  event: 'ping'
  mode: Mode
  /** Number of the event within the account and mode, without gaps within an epoch of the feed; 0 for a test event. It can exceed 32 bits. */
  sequence: number
  /** Time of the event. */
  created_at: string
}

/** Event of another type. Accept it, and ignore what you do not know. */
export interface OtherEvent {
  /** Id of the event, equal to `webhook-id` and the same in every attempt. */
  id: string
  /** A type that this document does not list. */
  type: string
  /** The part of the type after the first dot. */
  event: string
  mode: Mode
  /** Number of the event within the account and mode, without gaps within an epoch of the feed; 0 for a test event. It can exceed 32 bits. */
  sequence: number
  /** Time of the event. */
  created_at: string
}

export interface WebhookEndpointRequest {
  url: string
  /** Types of the events to receive, or `*` for all of this version. */
  event_types: '*' | ('transaction.paid' | 'transaction.expired' | 'transaction.failed' | 'transaction.refunded' | 'transaction.refund_failed' | 'transaction.dispute_opened' | 'transaction.dispute_closed' | 'transaction.returned' | 'transaction.amount_mismatch' | 'withdrawal.approved' | 'withdrawal.rejected' | 'withdrawal.returned')[]
  /** Whether events contain payers’ CPFs and CNPJs in full, which only a caller with `payers:read` may choose. Default: false. */
  full_documents?: boolean
}

export interface WebhookEndpointCreated {
  data: WebhookEndpoint & {
    /** Secret that signs the events of the endpoint. */
    secret: string
  }
}

export interface WebhookEndpoint {
  /** Id of the endpoint. */
  id: string
  /** URL to which events are sent. */
  url: string
  /** Types of the events that are sent. */
  event_types: ('transaction.paid' | 'transaction.expired' | 'transaction.failed' | 'transaction.refunded' | 'transaction.refund_failed' | 'transaction.dispute_opened' | 'transaction.dispute_closed' | 'transaction.returned' | 'transaction.amount_mismatch' | 'withdrawal.approved' | 'withdrawal.rejected' | 'withdrawal.returned')[]
  /** Whether events contain payers’ CPFs and CNPJs in full. */
  full_documents: boolean
  status: WebhookEndpointStatus
  /** Time of disabling, or null. */
  disabled_at: string | null
  /** Reason for disabling, or null. */
  disabled_reason: string | null
  /** `by_member`: in the dashboard. `by_token`: with a token. `gone`: the receiver responded 410. `given_up`: no success for 5 days. */
  disabled_code: 'by_member' | 'by_token' | 'gone' | 'given_up' | null
  /** Time since which all attempts have failed; null if the last one succeeded. */
  failing_since: string | null
  /** Time of creation. */
  created_at: string
  /** Time of the last change. */
  updated_at: string
  /** Attempts of the last 24 hours, for the latest 1,000 deliveries. */
  health: {
    /** Attempts that succeeded. */
    delivered: number
    /** Attempts that failed. */
    failed: number
    /** 95th percentile of the duration of attempts; null without attempts. */
    p95_ms: number | null
  }
}

/** While `disabled`, the deliveries of the endpoint wait. */
export type WebhookEndpointStatus = 'enabled' | 'disabled'

export interface WebhookEndpointList {
  data: WebhookEndpoint[]
}

export interface WebhookEndpointRead {
  data: WebhookEndpoint
}

export interface WebhookEndpointChange {
  url?: string
  /** Types of the events to receive, or `*` for all of this version. */
  event_types?: '*' | ('transaction.paid' | 'transaction.expired' | 'transaction.failed' | 'transaction.refunded' | 'transaction.refund_failed' | 'transaction.dispute_opened' | 'transaction.dispute_closed' | 'transaction.returned' | 'transaction.amount_mismatch' | 'withdrawal.approved' | 'withdrawal.rejected' | 'withdrawal.returned')[]
  /** Whether events contain payers’ CPFs and CNPJs in full, which only a caller with `payers:read` may choose. Default: false. */
  full_documents?: boolean
}

export interface WebhookEndpointDeleted {
  data: {
    /** Id of the endpoint. */
    id: string
    deleted: true
  }
}

export interface NoFields {}

export interface WebhookEndpointEnable {
  /** Whether to send the events missed since the endpoint began to fail. */
  send_missed?: boolean
}

export interface WebhookEndpointEnabled {
  data: WebhookEndpoint
  /** Number of missed deliveries, which are now sent or, if not wanted, stopped. */
  missed: number
}

export interface WebhookSecret {
  data: {
    /** Secret that signs the events of the endpoint. */
    secret: string
    /** Time of creation. */
    created_at: string
    /** Time until which the previous secret also signs; null if none does. */
    previous_retires_at: string | null
  }
}

export interface TestEventRequest {
  /** Type of the event. A live token sends `troco.ping` only. Default: the first type of the endpoint, in live mode `troco.ping`. */
  type?: 'transaction.paid' | 'transaction.expired' | 'transaction.failed' | 'transaction.refunded' | 'transaction.refund_failed' | 'transaction.dispute_opened' | 'transaction.dispute_closed' | 'transaction.returned' | 'transaction.amount_mismatch' | 'withdrawal.approved' | 'withdrawal.rejected' | 'withdrawal.returned' | 'troco.ping'
  /** Tries the receiver instead of sending an event of `type`: with what it must refuse (`wrong_signature`, `changed_body`, `old_timestamp`) or accept (`genuine`, `duplicate`, `out_of_order`, `unknown_type`, `large`: 1 MB), or whether it responds within 5 seconds (`fast`). Not for endpoints of API Pix. */
  check?: 'wrong_signature' | 'changed_body' | 'old_timestamp' | 'genuine' | 'duplicate' | 'out_of_order' | 'unknown_type' | 'large' | 'fast'
}

export interface TestEventSent {
  data: TestEventResult
}

export interface TestEventResult {
  /** Whether the receiver responded with 2xx. */
  delivered: boolean
  /** Whether the receiver did right. Only with `check`. */
  passed?: boolean
  /** Status that the receiver sent; null if none arrived. */
  status: number | null
  /** Reason for a failure; null after a 2xx. */
  problem: string | null
  /** Code of that reason; null after a 2xx. */
  problem_code: 'status' | 'redirect' | 'refused' | 'closed' | 'unreachable' | 'connect_timeout' | 'timeout' | 'header_too_large' | 'not_http' | 'no_answer' | 'other_protocol' | 'certificate_name' | 'certificate_expired' | 'certificate_untrusted' | 'tls' | 'interrupted' | 'not_called' | 'not_a_url' | 'not_web' | 'https_required' | 'credentials' | 'port_low' | 'port_internal' | 'leads_back' | 'name_unknown' | 'address_denied' | 'other' | null
  /** Values in that reason; null after a 2xx. */
  problem_params: Record<string, unknown> | null
  /** IP address of the connection. */
  address: string | null
  /** Duration, in milliseconds. */
  duration_ms: number
  /** Headers that were sent. */
  request_headers: Record<string, unknown>
  /** Body that was sent. Null once it is pruned. */
  request_body: string | null
  /** Headers that the receiver sent, or null. */
  response_headers: Record<string, unknown> | null
  /** Up to 8 KiB of the body that the receiver sent, or null. */
  response_body: string | null
}

export type WebhookDeliveryPage = {
  /** Newest first. */
  data: WebhookDelivery[]
} & Page

export interface WebhookDelivery {
  /** Id of the delivery. */
  id: string
  /** The `webhook-id` of every attempt. */
  event_id: string
  /** Type of the event. */
  type: 'transaction.paid' | 'transaction.expired' | 'transaction.failed' | 'transaction.refunded' | 'transaction.refund_failed' | 'transaction.dispute_opened' | 'transaction.dispute_closed' | 'transaction.returned' | 'transaction.amount_mismatch' | 'withdrawal.approved' | 'withdrawal.rejected' | 'withdrawal.returned'
  /** Number of the event in the feed. */
  sequence: number
  /** Id of the transaction or withdrawal. */
  subject_id: string
  /** The `external_id` of the transaction or withdrawal. */
  subject_reference: string | null
  /** Null for a delivery to the `webhook_url` of the transaction or withdrawal. */
  endpoint_id: string | null
  /** URL to which the event is sent. */
  url: string
  status: WebhookDeliveryStatus
  /** Whether it is being sent, or will be as soon as its receiver has a free connection. */
  is_under_way: boolean
  /** Number of attempts so far. */
  attempt_count: number
  /** Status that the receiver sent; null if none arrived. */
  last_response_status: number | null
  /** Reason for the last failure; null after a 2xx. */
  last_problem: string | null
  /** Code of that reason; null after a 2xx. */
  last_problem_code: 'status' | 'redirect' | 'refused' | 'closed' | 'unreachable' | 'connect_timeout' | 'timeout' | 'header_too_large' | 'not_http' | 'no_answer' | 'other_protocol' | 'certificate_name' | 'certificate_expired' | 'certificate_untrusted' | 'tls' | 'interrupted' | 'not_called' | 'not_a_url' | 'not_web' | 'https_required' | 'credentials' | 'port_low' | 'port_internal' | 'leads_back' | 'name_unknown' | 'address_denied' | 'other' | null
  /** Values in that reason; null after a 2xx. */
  last_problem_params: Record<string, unknown> | null
  /** Duration of the last attempt, in milliseconds, or null. */
  last_duration_ms: number | null
  /** Time of the next attempt, or null. */
  next_attempt_at: string | null
  /** Time of the delivery, or null. */
  delivered_at: string | null
  /** Time of creation. */
  created_at: string
  /** Time of the last change. */
  updated_at: string
}

/** `pending`: it will be sent, or sent again. `paused`: its endpoint is disabled. `exhausted`: all attempts failed. `stopped`: it will not be sent. */
export type WebhookDeliveryStatus = 'pending' | 'paused' | 'delivered' | 'exhausted' | 'stopped'

export interface WebhookDeliveryRead {
  data: {
    /** Id of the delivery. */
    id: string
    /** The `webhook-id` of every attempt. */
    event_id: string
    /** Type of the event. */
    type: 'transaction.paid' | 'transaction.expired' | 'transaction.failed' | 'transaction.refunded' | 'transaction.refund_failed' | 'transaction.dispute_opened' | 'transaction.dispute_closed' | 'transaction.returned' | 'transaction.amount_mismatch' | 'withdrawal.approved' | 'withdrawal.rejected' | 'withdrawal.returned'
    /** Number of the event in the feed. */
    sequence: number
    /** Id of the transaction or withdrawal. */
    subject_id: string
    /** The `external_id` of the transaction or withdrawal. */
    subject_reference: string | null
    /** Null for a delivery to the `webhook_url` of the transaction or withdrawal. */
    endpoint_id: string | null
    /** URL to which the event is sent. */
    url: string
    status: WebhookDeliveryStatus
    /** Whether it is being sent, or will be as soon as its receiver has a free connection. */
    is_under_way: boolean
    /** Number of attempts so far. */
    attempt_count: number
    /** Status that the receiver sent; null if none arrived. */
    last_response_status: number | null
    /** Reason for the last failure; null after a 2xx. */
    last_problem: string | null
    /** Code of that reason; null after a 2xx. */
    last_problem_code: 'status' | 'redirect' | 'refused' | 'closed' | 'unreachable' | 'connect_timeout' | 'timeout' | 'header_too_large' | 'not_http' | 'no_answer' | 'other_protocol' | 'certificate_name' | 'certificate_expired' | 'certificate_untrusted' | 'tls' | 'interrupted' | 'not_called' | 'not_a_url' | 'not_web' | 'https_required' | 'credentials' | 'port_low' | 'port_internal' | 'leads_back' | 'name_unknown' | 'address_denied' | 'other' | null
    /** Values in that reason; null after a 2xx. */
    last_problem_params: Record<string, unknown> | null
    /** Duration of the last attempt, in milliseconds, or null. */
    last_duration_ms: number | null
    /** Time of the next attempt, or null. */
    next_attempt_at: string | null
    /** Time of the delivery, or null. */
    delivered_at: string | null
    /** Time of creation. */
    created_at: string
    /** Time of the last change. */
    updated_at: string
    /** Whether the attempts lack a payer’s CPF or CNPJ that was sent in full, their signatures and what the receiver responded. */
    is_masked: boolean
    /** Oldest first. */
    attempts: DeliveryAttempt[]
    /** Pauses between the next attempt and the later ones, in seconds, while pending. */
    later_pauses_s: number[]
  }
}

export interface DeliveryAttempt {
  /** Number of the attempt, from 1. */
  number: number
  /** Time at which the attempt ended. */
  at: string
  /** Status that the receiver sent; null if none arrived. */
  response_status: number | null
  /** Reason for a failure; null after a 2xx. */
  problem: string | null
  /** Code of that reason; null after a 2xx. */
  problem_code: 'status' | 'redirect' | 'refused' | 'closed' | 'unreachable' | 'connect_timeout' | 'timeout' | 'header_too_large' | 'not_http' | 'no_answer' | 'other_protocol' | 'certificate_name' | 'certificate_expired' | 'certificate_untrusted' | 'tls' | 'interrupted' | 'not_called' | 'not_a_url' | 'not_web' | 'https_required' | 'credentials' | 'port_low' | 'port_internal' | 'leads_back' | 'name_unknown' | 'address_denied' | 'other' | null
  /** Values in that reason; null after a 2xx. */
  problem_params: Record<string, unknown> | null
  /** IP address of the connection. */
  address: string | null
  /** Duration, in milliseconds. */
  duration_ms: number
  /** Headers that were sent. */
  request_headers: Record<string, unknown>
  /** Body that was sent. Null once it is pruned. */
  request_body: string | null
  /** Headers that the receiver sent, or null. */
  response_headers: Record<string, unknown> | null
  /** Up to 8 KiB of the body that the receiver sent, or null. */
  response_body: string | null
}

export interface WebhookDeliveriesResend {
  /** Begin, at most 14 days before the end. */
  from: string
  /** End of the period. Default: now. */
  to?: string
  /** Only deliveries to the endpoint with this id, or with `none` those to a `webhook_url`. */
  endpoint_id?: string
  /** Only deliveries of this transaction or withdrawal: its id, its external_id, or the id of an event. */
  reference?: string
  /** Only events of this type or group. */
  type?: 'transaction.paid' | 'transaction.expired' | 'transaction.failed' | 'transaction.refunded' | 'transaction.refund_failed' | 'transaction.dispute_opened' | 'transaction.dispute_closed' | 'transaction.returned' | 'transaction.amount_mismatch' | 'withdrawal.approved' | 'withdrawal.rejected' | 'withdrawal.returned' | 'transaction.*' | 'withdrawal.*'
  /** Only deliveries with this status. Default: both. */
  status?: 'exhausted' | 'stopped'
}

export interface WebhookDeliveriesResent {
  /** Number of deliveries that are sent again. */
  resent: number
  /** Whether more deliveries remain: repeat the request. */
  more: boolean
}

export interface WebhookDeliveryResent {
  data: WebhookDelivery
}

export interface IssuedToken {
  id: string
  name: string
  /** First characters of the token. */
  prefix: string
  last_four: string
  permissions: Permission[]
  /** IPv4 and IPv6 addresses and CIDR ranges from which the token may be used; empty: from anywhere. */
  allowed_addresses: string[]
  status: TokenStatus
  /** UTC, with microseconds. */
  created_at: string
  /** UTC, with microseconds. */
  last_used_at: string | null
  /** UTC, with microseconds. */
  expires_at: string | null
  /** UTC, with microseconds. */
  revoked_at: string | null
  revoked_reason: string | null
  /** Who revoked it. `token`: the token that created it. */
  revoked_by: 'member' | 'operator' | 'token' | null
  /** Name of the member who revoked it. */
  revoker: string | null
  replaced_by: string | null
  /** The token that created this one. When it ends, this one ends, too; until then, `ended_at` is null. Null if a member or the administrator created this one. */
  parent: {
    id: string
    name: string
    /** UTC, with microseconds. */
    ended_at: string | null
  } | null
  /** Name of the member who issued it; null for the administrator. */
  issuer: string | null
  /** Whether it has a permission that the current role of its issuer lacks. */
  exceeds_issuer: boolean
  /** Returned only once. Null in the response to a repeated request. */
  token: string | null
}

/** Permission of a token. */
export type Permission = 'account:read' | 'transactions:read' | 'transactions:write' | 'refunds:write' | 'withdrawals:read' | 'withdrawals:write' | 'events:read' | 'payers:read' | 'statement:read' | 'requests:read' | 'webhooks:read' | 'webhooks:write' | 'tokens:read' | 'tokens:write'

/** `expiring`: valid for at most another week. `replaced`: valid until its overlap with the replacement ends. `expired` and `revoked`: no longer valid. */
export type TokenStatus = 'active' | 'expiring' | 'replaced' | 'expired' | 'revoked'

export interface Token {
  id: string
  name: string
  /** First characters of the token. */
  prefix: string
  last_four: string
  permissions: Permission[]
  /** IPv4 and IPv6 addresses and CIDR ranges from which the token may be used; empty: from anywhere. */
  allowed_addresses: string[]
  status: TokenStatus
  /** UTC, with microseconds. */
  created_at: string
  /** UTC, with microseconds. */
  last_used_at: string | null
  /** UTC, with microseconds. */
  expires_at: string | null
  /** UTC, with microseconds. */
  revoked_at: string | null
  revoked_reason: string | null
  /** Who revoked it. `token`: the token that created it. */
  revoked_by: 'member' | 'operator' | 'token' | null
  /** Name of the member who revoked it. */
  revoker: string | null
  replaced_by: string | null
  /** The token that created this one. When it ends, this one ends, too; until then, `ended_at` is null. Null if a member or the administrator created this one. */
  parent: {
    id: string
    name: string
    /** UTC, with microseconds. */
    ended_at: string | null
  } | null
  /** Name of the member who issued it; null for the administrator. */
  issuer: string | null
  /** Whether it has a permission that the current role of its issuer lacks. */
  exceeds_issuer: boolean
}

export type LoggedRequestPage = {
  /** Newest first. */
  data: LoggedRequest[]
} & Page

export interface LoggedRequest {
  /** Id of the entry. */
  id: string
  /** Time of the response. */
  created_at: string
  mode: Mode
  /** Method of the request. */
  method: string
  /** Path with names for its variable parts. */
  path: string
  /** Last id in the path, or null. Other references are not stored. */
  resource_id: string | null
  /** Status of the response. */
  status: number
  /** Error code: the `X-Error-Code` of the response, or null. */
  code: string | null
  /** Time until the response was ready, in milliseconds. */
  duration_ms: number
  /** The `X-Request-Id` of the response. */
  request_id: string
  /** Id of the token. */
  token_id: string
  /** Name of the token. */
  token_name: string
}

export interface LoggedRequestRead {
  data: LoggedRequestDetail
}

export interface LoggedRequestDetail {
  /** Id of the entry. */
  id: string
  /** Time of the response. */
  created_at: string
  mode: Mode
  /** Method of the request. */
  method: string
  /** Path with names for its variable parts. */
  path: string
  /** Last id in the path, or null. Other references are not stored. */
  resource_id: string | null
  /** Status of the response. */
  status: number
  /** Error code: the `X-Error-Code` of the response, or null. */
  code: string | null
  /** Time until the response was ready, in milliseconds. */
  duration_ms: number
  /** The `X-Request-Id` of the response. */
  request_id: string
  /** Id of the token. */
  token_id: string
  /** Name of the token. */
  token_name: string
  /** Body of the request, as JSON in which personal data and unknown fields are `***`. Null if there was none, if it is longer than 4 KB, or if the operation handles secrets. */
  request_body: unknown
  /** Size of the body of the request as JSON, or null if it was not read. */
  request_bytes: number | null
  /** Body of the response, as JSON in which personal data and unknown fields are `***`. Null if there was none, if it is longer than 4 KB, or if the operation handles secrets. */
  response_body: unknown
  /** Size of the body of the response. */
  response_bytes: number
}

export interface SandboxClock {
  /** How much time passes, at most `366d`. */
  advance: string
}

export interface SandboxStateRead {
  data: SandboxState
}

export interface SandboxState {
  /** Seconds that the account let pass in the last hour. */
  advanced_s: number
  /** What the next webhooks meet, or null. */
  webhook_fault: 'unavailable' | 'timeout' | 'duplicate' | null
  /** How many webhooks are still to meet it. */
  webhooks_left: number
  /** When all of it ends by itself, or null. */
  ends_at: string | null
}

export interface SandboxWebhooks {
  /** `unavailable`: not sent, and treated as a 503. `timeout`: sent, and treated as unanswered. `duplicate`: sent twice. */
  fault: 'unavailable' | 'timeout' | 'duplicate'
  /** How many of the next webhooks meet it. Default: 1. */
  count?: number
}

export interface DisputeOutcome {
  /** Decision of the bank. */
  outcome: 'won' | 'lost'
  /** Amount that goes to the payer, in cents. Only with `lost`. Default: the whole disputed amount. */
  amount?: number
}

export interface RefundOutcome {
  /** Decision of the bank. */
  outcome: 'completed' | 'rejected'
  /** Reason for a rejection. */
  reason?: string
}

export interface ChargeOutcome {
  /** New status of the charge. */
  outcome: 'paid' | 'failed' | 'expired'
}

export interface WithdrawalOutcome {
  /** Decision of the receiving bank. `returned`: it sends back an approved withdrawal, or a part of it. */
  outcome: 'approved' | 'rejected' | 'returned'
  /** Reason for a rejection. */
  reason?: string
  /** Amount that is sent back, in cents. Default: all that is left. */
  amount?: number
}

export interface DisputeOpening {
  /** Disputed amount, in cents. Default: all that is left of the charge. */
  amount?: number
}

export interface ListChargesQuery {
  /** Maximum number of entries. A page has at most 256 KiB, and so may have fewer. */
  limit?: number
  /** The `next_cursor` of the previous page. */
  cursor?: string
  /** Only charges with this status. Repeat it for several. */
  status?: 'pending' | 'paid' | 'expired' | 'failed' | ('pending' | 'paid' | 'expired' | 'failed')[]
  /** Only the entry with this `external_id`. */
  external_id?: string
  /** Created at or after: a date (midnight UTC) or a time with a UTC offset. */
  created_from?: string
  /** Created before: a date (midnight UTC) or a time with a UTC offset. */
  created_to?: string
  /** Search text: words of the payer's name, e-mail and the reference, in any order and ignoring case and accents, an amount (`446,54`), an id, at least four characters of the end of an end-to-end ID or, with `payers:read`, at least three of the beginning of a CPF or CNPJ. */
  q?: string
  /** Minimum amount, in cents. */
  min_amount?: number
  /** Maximum amount, in cents. */
  max_amount?: number
  /** Paid at or after: a date (midnight UTC) or a time with a UTC offset. */
  paid_from?: string
  /** Paid before: a date (midnight UTC) or a time with a UTC offset. */
  paid_to?: string
  /** Only charges whose `metadata` has this value at this key of the first level, as text, number or boolean: `metadata[order]=1048`. Several keys must all match. */
  metadata?: Record<string, unknown>
}

export interface DrawChargePngQuery {
  /** Width and height, in pixels. */
  size?: number
}

export interface DownloadChargeReceiptQuery {
  /** Language of the receipt: `pt-BR`, the default, or `en`. */
  locale?: 'pt-BR' | 'en'
}

export interface ListAllRefundsQuery {
  /** Maximum number of entries. A page has at most 256 KiB, and so may have fewer. */
  limit?: number
  /** The `next_cursor` of the previous page. */
  cursor?: string
  /** Only entries with this status. */
  status?: 'pending' | 'completed' | 'rejected'
  /** Created at or after: a date (midnight UTC) or a time with a UTC offset. */
  created_from?: string
  /** Created before: a date (midnight UTC) or a time with a UTC offset. */
  created_to?: string
}

export interface ListRefundsQuery {
  /** Maximum number of entries. A page has at most 256 KiB, and so may have fewer. */
  limit?: number
  /** The `next_cursor` of the previous page. */
  cursor?: string
  /** Only entries with this status. */
  status?: 'pending' | 'completed' | 'rejected'
  /** Created at or after: a date (midnight UTC) or a time with a UTC offset. */
  created_from?: string
  /** Created before: a date (midnight UTC) or a time with a UTC offset. */
  created_to?: string
}

export interface ListDisputesQuery {
  /** Maximum number of entries. A page has at most 256 KiB, and so may have fewer. */
  limit?: number
  /** The `next_cursor` of the previous page. */
  cursor?: string
  /** Only entries with this status. */
  status?: 'open' | 'won' | 'lost'
  /** Created at or after: a date (midnight UTC) or a time with a UTC offset. */
  created_from?: string
  /** Created before: a date (midnight UTC) or a time with a UTC offset. */
  created_to?: string
}

export interface ListWithdrawalsQuery {
  /** Maximum number of entries. A page has at most 256 KiB, and so may have fewer. */
  limit?: number
  /** The `next_cursor` of the previous page. */
  cursor?: string
  /** Only entries with this status. */
  status?: 'pending' | 'approved' | 'rejected'
  /** Only the entry with this `external_id`. */
  external_id?: string
  /** Created at or after: a date (midnight UTC) or a time with a UTC offset. */
  created_from?: string
  /** Created before: a date (midnight UTC) or a time with a UTC offset. */
  created_to?: string
  /** Search text: a complete Pix key or id, part of the reference, an amount (`446,54`) or at least four characters of the end of an end-to-end ID. */
  q?: string
}

export interface DownloadWithdrawalReceiptQuery {
  /** Language of the receipt: `pt-BR`, the default, or `en`. */
  locale?: 'pt-BR' | 'en'
}

export interface DownloadStatementQuery {
  /** Entries at or after: a date (midnight in the time zone of the account) or a time with a UTC offset. */
  from?: string
  /** Entries before: a date (midnight in the time zone of the account) or a time with a UTC offset. */
  to?: string
  /** Only entries of this kind. */
  kind?: 'transaction_paid' | 'refund_held' | 'refund_returned' | 'withdrawal_held' | 'withdrawal_returned' | 'payout_returned' | 'receipt_credited' | 'dispute_held' | 'dispute_won' | 'payment_returned' | 'owed_repaid' | 'corrected'
}

export interface ListStatementEntriesQuery {
  /** Maximum number of entries. A page has at most 256 KiB, and so may have fewer. */
  limit?: number
  /** The `next_cursor` of the previous page. */
  cursor?: string
  /** Entries at or after: a date (midnight in the time zone of the account) or a time with a UTC offset. */
  from?: string
  /** Entries before: a date (midnight in the time zone of the account) or a time with a UTC offset. */
  to?: string
  /** Only entries of this kind. */
  kind?: 'transaction_paid' | 'refund_held' | 'refund_returned' | 'withdrawal_held' | 'withdrawal_returned' | 'payout_returned' | 'receipt_credited' | 'dispute_held' | 'dispute_won' | 'payment_returned' | 'owed_repaid' | 'corrected'
}

export interface ListBalanceHistoryQuery {
  /** First day. Default: 30 days before `to`. */
  from?: string
  /** Day after the last one. Default, and at most: tomorrow. */
  to?: string
}

export interface ListEventsQuery {
  /** Sequence number of the last event that you have read. 0 starts at the first event. */
  after?: number
  /** The `Troco-Feed-Epoch` of the response that you continue. If the feed has another one, because a backup was restored or the token is of the other mode, the response is 410 and says where to continue. */
  epoch?: string
  /** Form of the events: as a `webhook_url` receives them, or as an endpoint does, with `client`, `products` and `utms`. */
  form?: 'webhook_url' | 'endpoint'
  /** Maximum number of entries. A page has at most 256 KiB, and so may have fewer. */
  limit?: number
}

export interface ListDeliveriesQuery {
  /** Maximum number of entries. A page has at most 256 KiB, and so may have fewer. */
  limit?: number
  /** Only entries with this status. */
  status?: 'pending' | 'paused' | 'delivered' | 'exhausted' | 'stopped'
  /** Created at or after: a date (midnight UTC) or a time with a UTC offset. */
  created_from?: string
  /** Created before: a date (midnight UTC) or a time with a UTC offset. */
  created_to?: string
  /** Only deliveries to the endpoint with this id, or with `none` those to a `webhook_url`. */
  endpoint_id?: string
  /** Only deliveries of this transaction or withdrawal: its id, its external_id, or the id of an event. */
  reference?: string
  /** Only events of this type or group. */
  type?: 'transaction.paid' | 'transaction.expired' | 'transaction.failed' | 'transaction.refunded' | 'transaction.refund_failed' | 'transaction.dispute_opened' | 'transaction.dispute_closed' | 'transaction.returned' | 'transaction.amount_mismatch' | 'withdrawal.approved' | 'withdrawal.rejected' | 'withdrawal.returned' | 'transaction.*' | 'withdrawal.*'
  /** The `next_cursor` of the previous page. */
  cursor?: string
  /** Only deliveries of the transaction or withdrawal with this id. */
  subject_id?: string
}

export interface CreateTokenBody {
  name: string
  permissions: ('account:read' | 'transactions:read' | 'transactions:write' | 'refunds:write' | 'withdrawals:read' | 'withdrawals:write' | 'events:read' | 'payers:read' | 'statement:read' | 'requests:read' | 'webhooks:read' | 'webhooks:write' | 'tokens:read' | 'tokens:write')[]
  expires_in_days?: number
  /** Last day on which the token is valid, in the account's time zone. */
  expires_on?: string
  /** IPv4 and IPv6 addresses and CIDR ranges from which the token may be used; empty: from anywhere. */
  allowed_addresses?: string[]
}

export interface UpdateTokenBody {
  /** IPv4 and IPv6 addresses and CIDR ranges from which the token may be used; empty: from anywhere. */
  allowed_addresses: string[]
}

export interface RevokeTokenBody {
  /** Reason, for the audit log. */
  reason?: string
}

export interface RotateTokenBody {
  /** Hours for which the old token stays valid beside the new one, so that you can update all programs. 0: the old token ends at once. */
  overlap_hours: 0 | 1 | 24 | 168
}

export interface ListRequestsQuery {
  /** Maximum number of entries. A page has at most 256 KiB, and so may have fewer. */
  limit?: number
  /** The `next_cursor` of the previous page. */
  cursor?: string
  /** Created at or after: a date (midnight UTC) or a time with a UTC offset. */
  created_from?: string
  /** Created before: a date (midnight UTC) or a time with a UTC offset. */
  created_to?: string
  /** Only requests with this status: `422`, `4xx` for all of a class, or `failed` for all from 400. */
  status?: string
  /** Only requests with this method. */
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'HEAD'
  /** Only requests to this path, as `path` names it. */
  path?: string
  /** Only requests with this token. */
  token_id?: string
  /** Only requests with this error code. */
  code?: string
}

export type KnownEvent = TransactionPaid | TransactionExpired | TransactionFailed | TransactionRefunded | TransactionRefundFailed | TransactionDisputeOpened | TransactionDisputeClosed | TransactionReturned | TransactionAmountMismatch | WithdrawalApproved | WithdrawalRejected | WithdrawalReturned | TrocoPing

export type ErrorCode =
  | 'malformed_request'
  | 'malformed_json'
  | 'unauthenticated'
  | 'address_not_allowed'
  | 'account_not_active'
  | 'permission_denied'
  | 'session_required'
  | 'live_mode_disabled'
  | 'withdrawals_disabled'
  | 'cross_origin'
  | 'viewing_read_only'
  | 'proof_required'
  | 'permission_not_held'
  | 'transaction_not_found'
  | 'withdrawal_not_found'
  | 'request_not_found'
  | 'refund_not_found'
  | 'dispute_not_found'
  | 'receipt_not_found'
  | 'endpoint_not_found'
  | 'delivery_not_found'
  | 'test_mode_only'
  | 'not_found'
  | 'token_not_found'
  | 'method_not_allowed'
  | 'request_timeout'
  | 'external_id_used'
  | 'external_id_ambiguous'
  | 'not_pending'
  | 'already_final'
  | 'endpoint_disabled'
  | 'under_way'
  | 'child_token'
  | 'token_unconfirmed'
  | 'token_ended'
  | 'limit_reached'
  | 'approval_pending'
  | 'not_paid'
  | 'refund_window_closed'
  | 'in_progress'
  | 'events_gone'
  | 'feed_epoch_changed'
  | 'feed_restored'
  | 'payload_too_large'
  | 'uri_too_long'
  | 'unsupported_media_type'
  | 'expectation_failed'
  | 'invalid_input'
  | 'idempotency_key_invalid'
  | 'idempotency_key_reused'
  | 'placeholder_document'
  | 'refused_by_bank'
  | 'refund_exceeds_remainder'
  | 'review_required'
  | 'limit_exceeded'
  | 'insufficient_balance'
  | 'dispute_not_covered'
  | 'after_beyond_feed'
  | 'too_many_requests'
  | 'test_quota_exceeded'
  | 'headers_too_large'
  | 'internal_error'
  | 'service_unavailable'
