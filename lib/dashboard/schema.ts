import type { ChargeDetail } from '#lib/charges/wire.ts'
import type { Mode } from '#lib/core/mode.ts'
import type { BrCodeError } from '#lib/core/pix/br-code.ts'
import type { PixKeyType } from '#lib/core/pix/pix-key.ts'

export type {
  ChargeStep,
  ChargeTimelineData,
  RejectionFields,
  WaitingWithdrawal,
  WithdrawalStep,
  WithdrawalTimelineData,
} from '#lib/dashboard/timeline.ts'
export type { DayReceived, Home, Received, Steps } from '#lib/dashboard/wire.ts'

/** A period is one of these, or a month such as `2026-11`, from 2000 on: PIX began in 2020. */
export const PERIODS = ['today', '7d', '30d', '90d', 'this_month', 'last_month', 'custom'] as const
export const MONTH = /^2\d{3}-(0[1-9]|1[0-2])$/

export type SearchParams = Record<string, string | string[] | undefined>

export interface StatementRow {
  /** Position in the ledger, without gaps. */
  version: number
  kind:
    | ('charge_paid' | 'payout_returned' | `${'withdrawal' | 'refund'}_${'held' | 'returned'}`)
    | ('unmatched_credited' | 'dispute_held' | 'dispute_won' | 'owed_repaid')
    | ('payment_returned' | 'corrected')
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

/** Which withdrawals need a second member, and a weaker rule that waits for confirmation. */
export interface ApprovalSettings {
  new_keys: boolean
  above: number | null
  day_above: number | null
  is_in_force: boolean
  /** Members who may approve. */
  approvers: number
  change: {
    id: string
    new_keys: boolean
    above: number | null
    day_above: number | null
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

export type ChargeStatusUpdate = Pick<ChargeDetail, 'status'>

/** Marks the end of an exported file, before the row count; a file without it is incomplete. */
export const EXPORT_END = '\u001e'

/** Why the simulated bank cannot pay a text: no code, invalid, or not issued to this account. */
export type BankProblem = BrCodeError | 'no_code' | 'real' | 'foreign'
type CodeFields = 'id' | 'br_code' | 'amount' | 'status' | 'external_id' | 'expires_at'

export type BankReading =
  | { problem: BankProblem; receiver: null; city: null; charge: null }
  | { problem: null; receiver: string; city: string; charge: Pick<ChargeDetail, CodeFields> }

/** One step of a trace. It has ids, states, times and hosts, and no data of a payer or receiver. */
export interface TraceStep {
  what:
    | 'request'
    | 'charge'
    | 'withdrawal'
    | 'refund'
    | 'bank_call'
    | 'event'
    | 'delivery'
    | 'attempt'
  at: string
  id: string
  /** Method and path, operation of a bank, type of an event, or host and number of an attempt. */
  name: string | null
  /** Status of a response or row, outcome of a call, or code of a problem. Null: not known yet. */
  outcome: string | null
  duration_ms: number | null
  /** Request that caused the step; null: a job, a payer or a bank did. */
  request_id: string | null
  /** Null where a step is in no trace of its own, as a row. */
  trace_id: string | null
}

/** What happened to a charge with its refunds, to a withdrawal, or because of one request. */
export interface Trace {
  account_id: string
  mode: Mode
  subject: { kind: 'charge' | 'withdrawal'; id: string } | null
  steps: TraceStep[]
}

/** Whether a step ended as it should: null while it is open, or if it has no end. */
export function isGood({ what, outcome }: TraceStep): boolean | null {
  if (outcome === null || outcome === 'pending') return null
  if (what === 'request' || what === 'attempt') return /^[23]\d\d/.test(outcome)
  if (what === 'event') return null
  return ['ok', 'paid', 'approved', 'completed', 'delivered'].includes(outcome)
}

/** A receipt as the page and the PDF show it, in one language. */
export interface ReceiptSheet {
  mode: Mode
  /** Id of the charge or withdrawal. */
  id: string
  title: string
  /** Whether the money was received or sent, as text. */
  operation: string
  amount: string
  merchant: string
  /** With punctuation. */
  cnpj: string | null
  rows: { name: string; value: string; isCode?: boolean }[]
  /** Content of the QR code: the public page on which the receipt proves itself. */
  url: string
  /** Where the reader must find that page. */
  address: string
}
