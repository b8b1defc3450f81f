import type { BrCodeError } from '#lib/base/pix/br-code.ts'
import type { PixKeyType } from '#lib/base/pix/pix-key.ts'
import type { ReasonParams } from '#lib/base/reason.ts'
import type { RefundDetail } from '#lib/rooms/charges/refunds/wire.ts'
import type { ChargeDetail } from '#lib/rooms/charges/wire.ts'
import type { WithdrawalDetail } from '#lib/rooms/withdrawals/wire.ts'
import type { RejectionCode } from '#lib/services/gateway/rejection.ts'
import type { Attempt } from '#lib/services/webhooks/schema.ts'

export type { DayReceived, Home, ReceiptSheet, Received, Steps } from '#lib/views/dashboard/wire.ts'

/** A period is one of these, or a month such as `2026-11`, from 2000 on: PIX began in 2020. */
export const PERIODS = ['today', '7d', '30d', '90d', 'this_month', 'last_month', 'custom'] as const
export const MONTH = /^2\d{3}-(0[1-9]|1[0-2])$/

export type SearchParams = Record<string, string | string[] | undefined>

export interface StatementRow {
  /** Position in the ledger, without gaps. */
  version: number
  kind:
    | ('charge_paid' | 'payout_returned' | `${'withdrawal' | 'refund'}_${'held' | 'returned'}`)
    | ('receipt_credited' | 'dispute_held' | 'dispute_won' | 'owed_repaid')
  subject_id: string
  /** In cents; negative for a debit. */
  amount: number
  balance_after: number
  created_at: string
  /** The charge that was paid, refunded or disputed; null for a withdrawal and for a credited receipt. */
  charge_id: string | null
  withdrawal_id: string | null
  client_name: string | null
  /** The merchant's reference of the charge or withdrawal. */
  external_id: string | null
  pix_key_type: PixKeyType | null
  dict_key: string | null
}

/** Steps of a withdrawal, oldest first; `at` is null where no time was recorded. */
export type WithdrawalStep =
  /** `ended_sent`: the bank never answered, and the operator found that the payment was sent. */
  | { what: 'requested' | 'sent' | 'approved' | 'ended_sent'; at: string }
  | { what: 'approval_needed'; at: string; reason: ApprovalReason }
  | { what: 'approval_given'; at: string; by: string }
  | { what: 'held' | 'returned'; at: string; balance_after: number }
  /** The receiver's bank has sent the money back, or a part of it. */
  | { what: 'sent_back'; at: string; amount: number; balance_after: number }
  | { what: 'asked_again'; at: null; times: number }
  | ({ what: 'rejected'; at: string; reason: string } & RejectionFields)
  | {
      what: 'call'
      at: string
      operation: string
      /** Null while in progress, or if the end of the call was never recorded. */
      outcome: 'ok' | 'rejected' | 'retryable' | 'unknown' | null
      /** State that the bank reported; null if it does not have the order. */
      said: 'taken' | 'done' | 'refused' | null
      /** Why the bank rejected the call. Its own text is for staff. */
      rejection_code: RejectionCode | null
      /** Number of consecutive equal calls; the last call was at `last_at`. */
      times: number
      last_at: string
    }
  | AttemptStep

export type AttemptStep = {
  what: 'told'
  at: string
  host: string
  number: number
  response_status: number | null
} & Pick<Attempt, 'problem' | 'problem_code' | 'problem_params'>

export interface RejectionFields {
  rejection_code: RejectionCode | null
  rejection_params: ReasonParams | null
}

export interface WithdrawalTimelineData {
  withdrawal: WithdrawalDetail
  /** The key as the bank's directory stores it. */
  dict_key: string
  /** The receiver as the bank names it; null as long as it has not. */
  payee: { name: string; masked_doc: string | null; bank: string | null } | null
  steps: WithdrawalStep[]
  has_receipt: boolean
  /** Set while the withdrawal waits for approval. */
  approval: { requester: string | null; expires_at: string; can_approve: boolean } | null
}

/** above the account's amount, or first to its key: why a withdrawal needs a second member. */
export const APPROVAL_REASONS = ['amount', 'new_key'] as const
export type ApprovalReason = (typeof APPROVAL_REASONS)[number]

export interface WaitingWithdrawal {
  id: string
  amount: number
  pix_key_type: PixKeyType
  dict_key: string
  reason: ApprovalReason
  /** Member who answers for the request; null: a token of the operator. */
  requester: string | null
  created_at: string
  expires_at: string
  can_approve: boolean
}

/** Which withdrawals need a second member, and a weaker rule that waits for confirmation. */
export interface ApprovalSettings {
  new_keys: boolean
  above: number | null
  is_in_force: boolean
  /** Members who may approve. */
  approvers: number
  change: {
    id: string
    new_keys: boolean
    above: number | null
    requester: string
    expires_at: string
    can_confirm: boolean
  } | null
}

export const FIRST_STEPS = ['payment', 'token', 'webhook'] as const
export type FirstStepName = (typeof FIRST_STEPS)[number]

export const FIRST_STEPS_COOKIE = 'troco-first-steps'

export const HIT_KINDS = ['charge', 'withdrawal', 'refund', 'delivery', 'event', 'token'] as const

export interface Hit {
  /** An account is found by the operator's search only. */
  kind: (typeof HIT_KINDS)[number] | 'account'
  id: string
  label: string
  detail: string | null
  status: string
  amount: number | null
  href: string
  /** The search text equals an id, reference, e-mail or document, not only a part of one. */
  isExact: boolean
}

/** Steps of a charge, oldest first; pending webhook attempts are last. */
export type ChargeStep =
  | { what: 'created'; at: string; ip: string | null }
  | { what: 'viewed' | 'expired' | 'failed'; at: string }
  | { what: 'paid'; at: string; end_to_end_id: string }
  | {
      what: 'entry'
      at: string
      kind: 'charge_paid' | 'refund_held' | 'refund_returned' | 'dispute_held' | 'dispute_won'
      amount: number
      balance_after: number
    }
  | (AttemptStep & { duration_ms: number })
  | ({
      what: 'refund'
      at: string
      status: 'pending' | 'completed' | 'rejected'
      amount: number
      reason: string | null
    } & RejectionFields)
  /** `amount`: what is disputed; at the end of a lost dispute, what went to the payer. */
  | {
      what: 'dispute'
      at: string
      status: 'open' | 'won' | 'lost'
      amount: number
      /** Until when an open dispute can be answered. */
      respond_by: string | null
    }
  /** Webhook attempt that is in progress (`at` is null) or scheduled. */
  | { what: 'next_try'; at: string | null; host: string; number: number }

/** In cents. */
export interface RefundLimits {
  /** Amount that can still be refunded. */
  refundable: number
  /** Amount that could be refunded until the payment was too old. */
  late: number
  /** Amount of open disputes, which cannot be refunded meanwhile. */
  disputed: number
  /** Amount that went to the payer by lost disputes. */
  lost: number
}

/** Charge as its page shows it: the payer's document is masked. */
export interface ChargeTimelineData extends RefundLimits {
  charge: ChargeDetail
  steps: ChargeStep[]
  receipt_url: string | null
  refunds: (RefundDetail & RejectionFields)[]
}

export type ChargeStatusUpdate = Pick<ChargeDetail, 'status'>

/** Marks the end of an exported file, before the row count; a file without it is incomplete. */
export const EXPORT_END = '\u001e'

/** Why the simulated bank cannot pay a text: no code, invalid, or not issued to this account. */
export type BankProblem = BrCodeError | 'no_code' | 'real' | 'foreign'
type CodeFields = 'id' | 'br_code' | 'amount' | 'status' | 'external_id' | 'expires_at'

export type BankReading =
  | { problem: BankProblem; receiver: null; city: null; charge: null }
  | { problem: null; receiver: string; city: string; charge: Pick<ChargeDetail, CodeFields> }
