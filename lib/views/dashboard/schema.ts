import type { FactParams } from '#lib/base/fact.ts'
import type { BrCodeError } from '#lib/base/pix/br-code.ts'
import type { PixKeyType } from '#lib/base/pix/pix-key.ts'
import type { RefundDetail } from '#lib/rooms/charges/refunds/wire.ts'
import type { ChargeDetail } from '#lib/rooms/charges/wire.ts'
import type { WithdrawalDetail } from '#lib/rooms/withdrawals/wire.ts'
import type { RejectionCode } from '#lib/services/gateway/rejection.ts'
import type { Attempt } from '#lib/services/webhooks/schema.ts'

export type { DayReceived, Home, Received, Steps } from '#lib/views/dashboard/wire.ts'

/** The periods that a list or a chart can be asked for by name; `custom` says its days beside it. */
export const PERIODS = ['today', '7d', '30d', '90d', 'custom'] as const
export type Period = (typeof PERIODS)[number]

/** What the address of a page says beside its path. */
export type SearchParams = Record<string, string | string[] | undefined>

/** One movement of the available money, and what it was about. */
export interface StatementRow {
  /** Its place in the book: one more than that of the movement before. */
  version: number
  kind: 'charge_paid' | `${'withdrawal' | 'refund'}_${'held' | 'returned'}`
  subject_id: string
  /** In cents; below zero where it left. */
  amount: number
  balance_after: number
  created_at: string
  /** Of the charge that was paid or refunded; null for a withdrawal. */
  charge_id: string | null
  client_name: string | null
  /** The merchant's own, of the charge or the withdrawal. */
  external_id: string | null
  pix_key_type: PixKeyType | null
  dict_key: string | null
}

/** What happened to a withdrawal, the oldest first; `at` is null where nobody wrote the time down. */
export type WithdrawalStep =
  | { what: 'requested' | 'sent' | 'approved'; at: string }
  | { what: 'held' | 'returned'; at: string; balance_after: number }
  | { what: 'asked_again'; at: null; times: number }
  | ({ what: 'rejected'; at: string; reason: string } & RejectionFields)
  | {
      what: 'call'
      at: string
      operation: string
      /** Null: it is under way, or its end was never written down. */
      outcome: 'ok' | 'rejected' | 'retryable' | 'unknown' | null
      /** What the bank said of the order, in the words of the gateway. */
      said: string | null
      /** Set where `said` is a reason of our own. */
      said_code: 'timeout' | null
      /** So many of the same followed each other, the last of them at `last_at`. */
      times: number
      last_at: string
    }
  | ToldStep

/** An attempt to send a webhook, and why it failed. */
export type ToldStep = {
  what: 'told'
  at: string
  host: string
  number: number
  response_status: number | null
} & Pick<Attempt, 'problem' | 'problem_code' | 'problem_params'>

/** Why the bank rejected an order; null where it did not. */
export interface RejectionFields {
  rejection_code: RejectionCode | null
  rejection_params: FactParams | null
}

/** A withdrawal as its page shows it. */
export interface WithdrawalStory {
  withdrawal: WithdrawalDetail
  /** The key as the bank's directory has it. */
  dict_key: string
  steps: WithdrawalStep[]
}

/** The first deeds of a new merchant, in their order. */
export const STEPS = ['token', 'payment', 'webhook'] as const
export type Step = (typeof STEPS)[number]

/** Set where somebody wants to see the first steps no more. */
export const STEPS_COOKIE = 'troco-first-steps'

/** What the search finds, by what it is. */
export const FOUND_KINDS = ['charge', 'withdrawal', 'refund', 'delivery', 'event', 'token'] as const

export interface Hit {
  kind: (typeof FOUND_KINDS)[number]
  id: string
  /** Who or what it is about, and by which of its names it may be told from others. */
  label: string
  detail: string | null
  status: string
  amount: number | null
  href: string
  /** It is what was asked for by its whole name, not one of those that are like it. */
  isExact: boolean
}

/** What happened to a charge, the oldest first; what is to come stands at the end. */
export type ChargeStep =
  | { what: 'created'; at: string; ip: string | null }
  | { what: 'viewed' | 'expired' | 'failed'; at: string }
  | { what: 'paid'; at: string; end_to_end_id: string }
  | {
      what: 'entry'
      at: string
      kind: 'charge_paid' | 'refund_held' | 'refund_returned'
      amount: number
      balance_after: number
    }
  | (ToldStep & { duration_ms: number })
  | ({
      what: 'refund'
      at: string
      status: 'pending' | 'completed' | 'rejected'
      amount: number
      /** Why it was asked for, or why the bank refused it. */
      reason: string | null
    } & RejectionFields)
  /** A try of a webhook that is under way (null) or waits for its time. */
  | { what: 'next_try'; at: string | null; host: string; number: number }

/** A charge as its page shows it: the payer's document is covered. */
export interface ChargeStory {
  charge: ChargeDetail
  steps: ChargeStep[]
  refunds: (RefundDetail & RejectionFields)[]
  /** What may still be given back, in cents. */
  refundable: number
}

/** What a live charge says each time something about it has changed. */
export interface ChargeNews {
  status: ChargeDetail['status']
}

/** What a file of charges ends with, before the number of its rows: without it, it is not whole. */
export const EXPORT_END = '\u001e'

/** Why the simulated bank cannot pay what was pasted: no code, a broken one, or not one of its own. */
export type BankProblem = BrCodeError | 'no_code' | 'real' | 'foreign'
type Terms = 'id' | 'br_code' | 'amount' | 'status' | 'external_id' | 'expires_at'

/** What a bank shows of a code before one pays: whom the code names, and the charge behind it. */
export type BankReading =
  | { problem: BankProblem; receiver: null; city: null; charge: null }
  | { problem: null; receiver: string; city: string; charge: Pick<ChargeDetail, Terms> }
