import * as z from 'zod'
import { factParams } from '#lib/base/fact.ts'
import { instant, must, text } from '#lib/base/fields.ts'
import type { Mode } from '#lib/base/mode.ts'
import type { AccountLimits, AccountStatus, Role } from '#lib/rooms/accounts/schema.ts'
import type { ListedCharge } from '#lib/rooms/charges/schema.ts'
import type { TokenRow } from '#lib/rooms/tokens/schema.ts'
import { PROBLEM_CODES } from '#lib/services/webhooks/problem.ts'

/** Why the operator does something to somebody, who reads it. */
export const reasoned = z.object({
  reason: text(3, 200).regex(/^[^\p{C}]+$/u, must('be on one line')),
})
export const maybeReasoned = reasoned.partial()

export type OfModes = Record<Mode, number>

export interface AccountLine {
  id: string
  name: string
  status: AccountStatus
  owner_email: string | null
  created_at: string
  /** What may be withdrawn, and what was paid in the last 30 days, in cents. */
  balance: OfModes
  volume: OfModes
}

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
  outbound: OfModes
  limits: AccountLimits
  members: AccountMember[]
  /** Since when it stands as it does, and why. */
  standing: { since: string; reason: string | null; by: string | null }
}

/** A token as staff sees it: how it begins and ends, and whose it is. */
export interface TokenLine extends TokenRow {
  mode: Mode
  account_id: string
  account_name: string
}

export const TOKEN_FILTERS = ['in_force', 'revoked', 'expired'] as const

/** What one charge is found for: never more of its payer than that. */
export interface FoundCharge extends Pick<ListedCharge, 'id' | 'status' | 'amount' | 'created_at'> {
  mode: Mode
  payer: string
}

/** How the system stands in one respect: a warning harms somebody soon, a problem does so now. */
export type Level = 'ok' | 'warning' | 'problem'

/** Work that waits in the database until a worker takes it up. */
export const QUEUES = [
  'charges',
  'withdrawals',
  'refunds',
  'deliveries',
  'mails',
  'search',
] as const
export type QueueName = (typeof QUEUES)[number]

export type CheckName =
  | QueueName
  | ('workers' | 'receivers' | 'gateway' | 'mail_server' | 'database' | 'connections')
  | ('transactions' | 'durability' | 'migrations' | 'ledger' | 'address' | 'staff')

/** What was found. Each but those that are ok has words for what to do. */
export const STATES = {
  ok: [
    ...['workers_alive', 'queue_empty', 'queue_moves', 'receivers_quiet', 'receivers_answer'],
    ...['gateway_simulated', 'gateway_quiet', 'gateway_answers', 'mail_set', 'mail_to_log'],
    ...['database_stands', 'connections_left', 'transactions_short', 'durable', 'migrated'],
    ...['books_none', 'books_right', 'address_sure', 'address_local', 'staff_guarded'],
    'staff_local',
  ],
  bad: [
    ...['worker_silent', 'no_worker', 'queue_waits', 'deliveries_wait', 'mails_wait'],
    ...['search_waits', 'receivers_fail', 'gateway_slow', 'gateway_fails', 'gateway_down'],
    ...['no_mail_server', 'mails_given_up', 'connections_scarce', 'transaction_long'],
    ...['not_durable', 'migrations_wait', 'migration_failed', 'database_newer'],
    ...['books_unchecked', 'books_wrong', 'address_plain', 'staff_unguarded', 'unreadable'],
  ],
} as const

export type GoodState = (typeof STATES.ok)[number]
export type BadState = (typeof STATES.bad)[number]

/** What one look at the system found; a figure whose name ends in `_s` is a time, in `_bytes` a size. */
export type Finding = { figures: Record<string, number | string> } & (
  | { level: 'ok'; state: GoodState }
  | { level: 'warning' | 'problem'; state: BadState }
)
export type Check = Finding & { name: CheckName }

const count = z.int().min(0)

export const WorkerLine = z.object({
  id: z.uuid(),
  host: z.string(),
  pid: count,
  started_at: instant,
  silent_s: count,
})
export type WorkerLine = z.infer<typeof WorkerLine>

export const JOB_KINDS = ['withdrawal', 'refund', 'charge', 'delivery', 'mail'] as const
export type JobKind = (typeof JOB_KINDS)[number]

/** What became of the last call to the bank; `call_reason` quotes the bank. */
export const CALL_CODES = ['call_open', 'call_ok', 'call_timeout', 'call_reason'] as const

/** Work that does not come to its end by itself. */
export const StuckJob = z.object({
  kind: z.enum(JOB_KINDS),
  // The database makes those of deliveries, in no version's form.
  id: z.guid(),
  account: z.object({ id: z.uuid(), name: z.string() }).nullable(),
  attempts: count,
  created_at: instant,
  /** Null: nobody will try it again by itself. */
  due_at: instant.nullable(),
  /** A worker has it just now. */
  is_held: z.boolean(),
  /** False: there is nothing left that could be run. */
  can_run: z.boolean(),
  /** What came of the last attempt, in the words of whoever answered it. */
  problem: z.string().nullable(),
  problem_code: z.enum([...PROBLEM_CODES, ...CALL_CODES]).nullable(),
  problem_params: factParams.nullable(),
})
export type StuckJob = z.infer<typeof StuckJob>

export interface Health {
  at: string
  checks: Check[]
  workers: WorkerLine[]
  jobs: StuckJob[]
}
