import * as z from 'zod'
import {
  ACCOUNT_STATUSES,
  type AccountLimits,
  type AccountStatus,
  type Role,
} from '#lib/accounts/schema.ts'
import type { RejectionCode } from '#lib/banks/gateway.ts'
import { defenseText, type ListedDispute } from '#lib/charges/disputes/schema.ts'
import type { Evidence } from '#lib/charges/disputes/wire.ts'
import type { ListedCharge } from '#lib/charges/schema.ts'
import type { ShownChargeStatus } from '#lib/charges/states.ts'
import {
  instant,
  must,
  type ReasonParams,
  reasonParams,
  text,
  wholeCents,
} from '#lib/core/fields.ts'
import { MODES, type Mode } from '#lib/core/mode.ts'
import { AMOUNT_MAX } from '#lib/core/money.ts'
import type { CheckName, FindingSubject } from '#lib/operator/states.ts'
import { END_OUTCOMES } from '#lib/orders/states.ts'
import type { TokenRow } from '#lib/tokens/schema.ts'
import { PROBLEM_CODES } from '#lib/webhooks/problem.ts'
import type { WithdrawalStatus } from '#lib/withdrawals/states.ts'

export const reasonRequest = z.object({
  reason: text(3, 200),
})
export const optionalReasonRequest = reasonRequest.partial()
/** Without `amount`: all that the account owes. */
export const writeOffRequest = z.strictObject({
  ...reasonRequest.shape,
  mode: z.enum(MODES),
  amount: wholeCents(1, AMOUNT_MAX).optional(),
})

export type PerMode = Record<Mode, number>

/** The status of an account, or what it has asked for. */
export const ACCOUNT_FILTERS = [...ACCOUNT_STATUSES, 'live_requested'] as const
export type AccountFilter = (typeof ACCOUNT_FILTERS)[number]

export interface AccountLine {
  id: string
  name: string
  status: AccountStatus
  owner_email: string | null
  created_at: string
  /** In cents: available for withdrawal. */
  balance: PerMode
  /** In cents: paid in the last 30 days. */
  volume: PerMode
}

export type FoundAccount = Pick<AccountLine, 'id' | 'name' | 'status' | 'owner_email'>

export interface AccountMember {
  id: string
  name: string
  email: string
  role: Role
  has_second_factor: boolean
  is_disabled: boolean
}

export interface AccountDetail extends AccountLine {
  city: string
  /** Held for withdrawals and refunds. */
  outbound: PerMode
  /** Disputed by payers, and owed for lost disputes. */
  disputed: PerMode
  claim: PerMode
  limits: AccountLimits
  members: AccountMember[]
  standing: { since: string; reason: string | null; by: string | null }
}

export interface TokenLine extends TokenRow {
  mode: Mode
  account_id: string
  account_name: string
}

export const TOKEN_FILTERS = ['in_force', 'revoked', 'expired'] as const

/** The masked document is the only data of the payer. */
export interface MaskedCharge extends Omit<ListedCharge, 'external_id' | 'client_name'> {
  mode: Mode
  payer: string
}

/** A withdrawal or refund, for staff. */
export interface BankOrder {
  kind: 'withdrawal' | 'refund'
  id: string
  mode: Mode
  status: 'pending' | 'approved' | 'completed' | 'rejected'
  amount: number
  created_at: string
  rejection_code: RejectionCode | null
  rejection_params: ReasonParams | null
  /** Why the bank refused, in its own words. */
  bank_text: string | null
  end_to_end_id: string | null
  /** A different end-to-end id that the bank reported later for the same payout. */
  other_end_to_end_id: string | null
}

/** How a live order that the bank never answers can be ended, or was. */
export const OrderEnding = z.object({
  id: z.uuid(),
  kind: z.enum(['withdrawal', 'refund', 'return']),
  can_propose: z.boolean(),
  /** What the bank said last, in its own words, about an order that has not ended. */
  bank_text: z.string().nullable(),
  /** As proposed or carried out; null without a proposal that stands. */
  outcome: z.enum(END_OUTCOMES).nullable(),
  reason: z.string().nullable(),
  /** Null without a proposal, and for the command line. */
  proposed_by: z.string().nullable(),
  confirmed_by: z.string().nullable(),
  proposal: z.object({ id: z.uuid(), expires_at: instant, can_confirm: z.boolean() }).nullable(),
  ended_at: instant.nullable(),
  /** What the bank reported later, against the end. */
  contradiction: z.enum(['done', 'refused']).nullable(),
})
export type OrderEnding = z.infer<typeof OrderEnding>
export const OrderEndingRead = z.object({ data: OrderEnding.nullable() })

export const endProposal = z.strictObject({
  outcome: z.enum(END_OUTCOMES, must('be sent or not_sent')),
  reason: reasonRequest.shape.reason,
})
export const endConfirmation = z.strictObject({
  id: z.uuid(must('be the id of the proposal')),
})

/** Severity: a warning will soon harm users, a problem harms them now. */
export type Level = 'ok' | 'warning' | 'problem'

export const QUEUES = [
  'charges',
  'withdrawals',
  'refunds',
  'deliveries',
  'mails',
  'search',
] as const
export type QueueName = (typeof QUEUES)[number]

/** States that a check can report. Each bad state has instructions in the interface. */
export const FINDING_STATES = {
  ok: [
    'workers_alive',
    'queue_empty',
    'queue_moves',
    'receivers_quiet',
    'receivers_answer',
    'gateway_simulated',
    'gateway_quiet',
    'gateway_answers',
    'mail_set',
    'mail_to_log',
    'database_stands',
    'connections_left',
    'transactions_short',
    'durable',
    'migrated',
    'books_none',
    'books_right',
    'address_sure',
    'address_local',
    'staff_guarded',
    'tokens_covered',
    'endpoints_allowed',
    'role_limited',
    'ends_agree',
    'certificates_valid',
    'clocks_agree',
    'backup_fresh',
    'drill_none',
    'drill_passed',
  ],
  bad: [
    'worker_silent',
    'no_worker',
    'queue_waits',
    'deliveries_wait',
    'mails_wait',
    'search_waits',
    'receivers_fail',
    'gateway_slow',
    'gateway_fails',
    'gateway_down',
    'gateway_rests',
    'gateway_blocks',
    'gateway_abandons',
    'payouts_late',
    'money_out_closed',
    'money_out_unlisted',
    'gateway_missing',
    'no_mail_server',
    'mails_given_up',
    'connections_scarce',
    'transaction_long',
    'not_durable',
    'migrations_wait',
    'migration_failed',
    'database_newer',
    'version_older',
    'books_unchecked',
    'books_wrong',
    'address_plain',
    'staff_local',
    'staff_unguarded',
    'tokens_exceed',
    'endpoints_refused',
    'role_owner',
    'role_excessive',
    'operator_books_wrong',
    'ends_contradicted',
    'certificate_ends',
    'certificate_ended',
    'unreadable',
    'clock_off',
    'clock_wrong',
    'clock_single',
    'clock_database',
    'backups_none',
    'backup_missing',
    'backup_old',
    'backup_failed',
    'archive_failing',
    'drill_missing',
    'drill_failed',
  ],
} as const

type GoodState = (typeof FINDING_STATES.ok)[number]
type BadState = (typeof FINDING_STATES.bad)[number]

/** Figures ending in `_s` are seconds, in `_bytes` sizes. */
export type Finding = {
  figures: Record<string, number | string>
  subjects?: FindingSubject[]
} & ({ level: 'ok'; state: GoodState } | { level: 'warning' | 'problem'; state: BadState })
/** `stuck`: jobs of a queue that do not end by themselves; absent if there are none. */
export type Check = Finding & { name: CheckName; stuck?: number }

const count = z.int().min(0)

/** Work that waits for a person of the staff, the most urgent first. */
export const STAFF_TASKS = [
  'problems',
  'disputes',
  'differences',
  'certificates',
  'stuck',
  'accounts',
  'live',
  'warnings',
] as const

export const StaffTask = z.object({
  name: z.enum(STAFF_TASKS),
  count,
  level: z.enum(['warning', 'problem']),
  /** The first deadline of the disputes, or the time of the oldest difference. */
  at: instant.nullish(),
})
export type StaffTask = z.infer<typeof StaffTask>
export const StaffTaskList = z.object({ data: z.array(StaffTask) })

export const WorkerLine = z.object({
  id: z.uuid(),
  host: z.string(),
  pid: count,
  started_at: instant,
  silent_s: count,
})
export type WorkerLine = z.infer<typeof WorkerLine>

export const JOB_KINDS = ['withdrawal', 'refund', 'return', 'charge', 'delivery', 'mail'] as const
export type JobKind = (typeof JOB_KINDS)[number]

/** Outcome of the last call to the bank; `call_reason` quotes the bank. */
export const CALL_CODES = ['call_open', 'call_ok', 'call_timeout', 'call_reason'] as const

export const StuckJob = z.object({
  kind: z.enum(JOB_KINDS),
  // The database generates ids of deliveries, which have no UUID version.
  id: z.guid(),
  account: z.object({ id: z.uuid(), name: z.string() }).nullable(),
  attempts: count,
  created_at: instant,
  /** Null: no attempt is scheduled. */
  due_at: instant.nullable(),
  is_held: z.boolean(),
  can_run: z.boolean(),
  /** Outcome of the last attempt, in the words of the bank or receiver. */
  problem: z.string().nullable(),
  problem_code: z.enum([...PROBLEM_CODES, ...CALL_CODES]).nullable(),
  problem_params: reasonParams.nullable(),
})
export type StuckJob = z.infer<typeof StuckJob>

export interface Health {
  at: string
  checks: Check[]
  workers: WorkerLine[]
  jobs: StuckJob[]
}

/** Spans of the overview, each with the width of a bar in hours. */
export const SPANS = {
  '24h': { hours: 24, intervalHours: 1 },
  '7d': { hours: 7 * 24, intervalHours: 6 },
  '30d': { hours: 30 * 24, intervalHours: 24 },
} as const
export type SpanName = keyof typeof SPANS
export const SPAN_NAMES = Object.keys(SPANS) as SpanName[]

/** Charges of a mode. Amounts in cents. */
export interface ChargeFigures {
  paid_amount: number
  paid_count: number
  created: number
  /** How many of those created have been paid by now. */
  converted: number
}

/** Requests with a token, in both modes together: a refused one may have none. Times in milliseconds. */
export interface RequestFigures {
  requests: number
  /** Responses with a status from 400 to 499, except 429. */
  refused: number
  limited: number
  failed: number
  p50: number | null
  p99: number | null
}

/** What happened from `at` until the next interval. */
export interface OverviewInterval extends RequestFigures, Record<Mode, ChargeFigures> {
  at: string
}

export interface Overview {
  intervals: OverviewInterval[]
  total: Omit<OverviewInterval, 'at'>
}

/** A charge or withdrawal in a list for staff: nothing in it is a whole document or key. */
export interface PaymentLine {
  id: string
  /** The payer's masked document, or the masked Pix key of a withdrawal. */
  subject: string
  external_id: string | null
  status: ShownChargeStatus | WithdrawalStatus
  amount: number
  created_at: string
}

export const PERSON_FILTERS = ['staff', 'without_factor', 'unverified', 'disabled'] as const
export type PersonFilter = (typeof PERSON_FILTERS)[number]

export interface PersonLine {
  id: string
  name: string
  email: string
  is_admin: boolean
  is_email_verified: boolean
  is_disabled: boolean
  has_second_factor: boolean
  account_count: number
  created_at: string
  /** Null: the user never signed in. */
  last_used_at: string | null
}

export interface PersonDetail extends PersonLine {
  session_count: number
  accounts: { id: string; name: string; role: Role }[]
}

export const answerRequest = z.object({
  text: defenseText,
})

export interface DisputeLine extends ListedDispute {
  account: { id: string; name: string }
}

/** What Troco's records say about the payment, for the defense. */
export interface DisputeEvidence {
  charge_id: string
  end_to_end_id: string
  reference: string
  charged: number
  created_at: string
  paid_at: string
  /** First time that the payment page was opened; null: never. */
  viewed_at: string | null
  payer: string
  /** Attempts to deliver events of the charge, the oldest first. */
  attempts: { at: string; type: string; host: string; response_status: number | null }[]
  refunds: { at: string; amount: number; status: 'pending' | 'completed' | 'rejected' }[]
}

export interface DisputeWithEvidence extends Omit<DisputeLine, 'evidence_count'> {
  bank_id: string
  connection: string
  lost_amount: number | null
  closed_at: string | null
  answer: string | null
  answered_at: string | null
  answered_by: string | null
  /** What the bank said to the last answer. */
  bank_text: string | null
  evidence: DisputeEvidence
  /** Evidence that the merchant sent. */
  sent_evidence: Evidence[]
}
