import * as z from 'zod'
import { ConnectionLimits, ENVIRONMENTS } from '#lib/banks/schema.ts'
import { BANK_KINDS } from '#lib/banks/states.ts'
import { instant } from '#lib/core/fields.ts'
import { reasonRequest } from '#lib/operator/schema.ts'

/**
 * closed: begins nothing. unserved: this version cannot open it. unchecked, failed: its check has not
 * passed, so it serves no account. resting: not called after failures. blocked: the bank refuses a kind
 * of call. open: works.
 */
export const BANK_STATES = [
  'closed',
  'unserved',
  'unchecked',
  'failed',
  'resting',
  'blocked',
  'open',
] as const

const count = z.int().min(0)
const cents = z.int()

export const BankLine = z.object({
  id: z.uuid(),
  name: z.string(),
  kind: z.enum(BANK_KINDS),
  environment: z.enum(ENVIRONMENTS),
  state: z.enum(BANK_STATES),
  /** What the bank blocks: kind of call, code, and its own words. */
  blocks: z.array(
    z.object({ operation: z.string(), code: z.string(), reason: z.string(), since_s: count }),
  ),
  checked_at: instant.nullable(),
  certificate_ends_at: z.string().nullable(),
  /** Of the answered calls of the last hour, in milliseconds; null without one. */
  latency: z.object({ calls: count, failed: count, p50_ms: count, p95_ms: count }).nullable(),
  /** Accounts that receive or pay out through it. */
  accounts: count,
})
export type BankLine = z.infer<typeof BankLine>

/** Live money in cents: of all merchants, and at the banks. */
export const BankMoney = z.object({
  /** Balance that the bank reports; null: none, or not now. */
  bank: cents.nullable(),
  /** What moved through the connection. */
  books: cents,
  /** Explains the balance: docs/decisions/046. */
  terms: z.record(z.string(), cents),
  expected: cents,
  rest: cents.nullable(),
  /** What accounts own that pay out through the connection, without what is already sent. */
  owned: cents,
})
export type BankMoney = z.infer<typeof BankMoney>
export const BankMoneyRead = z.object({ data: BankMoney })

export const BankList = z.object({ data: z.array(BankLine), owned: cents })

export const BankDetail = BankLine.extend({
  profile: z.string().nullable(),
  api_host: z.string().nullable(),
  created_at: z.string(),
  /** Masked. */
  receiving_keys: z.array(z.string()),
  paying_key: z.string().nullable(),
  limits: ConnectionLimits,
  /** What the adapter can do. */
  can: z.object({ correct_settings: z.boolean(), register_notices: z.boolean() }),
  assigned: z.array(
    z.object({ id: z.uuid(), name: z.string(), receives: z.boolean(), pays: z.boolean() }),
  ),
  /** After a restore, until the bank was read; null: money goes out. */
  closure: z
    .object({
      restored_to: z.string(),
      /** How far each list was read; null: not yet. */
      until: z.object({
        payments: z.string().nullable(),
        refunds: z.string().nullable(),
        payouts: z.string().nullable(),
      }),
      unsettled: count,
      held: count,
      is_unlisted: z.boolean(),
      proposal: z
        .object({ id: z.uuid(), by: z.string().nullable(), reason: z.string() })
        .nullable(),
    })
    .nullable(),
  open_work: z.object({
    charges: count,
    withdrawals: count,
    unapproved: count,
    refunds: count,
  }),
})
export type BankDetail = z.infer<typeof BankDetail>
export const BankDetailRead = z.object({ data: BankDetail })

/** A check: `code` is `ok` or how the bank refused, null without an answer. */
export const BankChecked = z.object({
  data: z.object({
    code: z.string().nullable(),
    findings: z.array(
      z.object({
        code: z.string(),
        level: z.enum(['ok', 'warning', 'problem', 'unanswered', 'untried']),
        params: z.record(z.string(), z.union([z.string(), z.number()])),
      }),
    ),
  }),
})
export type BankChecked = z.infer<typeof BankChecked>['data']

/** `refusal`: why the bank changed nothing, in its own words. */
export const SettingsCorrected = z.object({
  data: z.object({ settings: z.array(z.string()), refusal: z.string().nullable() }),
})
export type SettingsCorrected = z.infer<typeof SettingsCorrected>['data']

export const noticesRequest = z.object({ replaces_foreign: z.boolean().default(false) })
export const NoticesRegistered = z.object({
  data: z.object({
    keys: z.array(
      z.object({
        /** Masked. */
        key: z.string(),
        state: z.enum(['registered', 'foreign']),
        host: z.string().nullable(),
      }),
    ),
    refusal: z.string().nullable(),
  }),
})
export type NoticesRegistered = z.infer<typeof NoticesRegistered>['data']

export const BankAdded = z.object({ data: z.object({ id: z.uuid() }) })
export const BankLimited = z.object({ data: ConnectionLimits })
export const closeRequest = reasonRequest
/** With `proposal_id`: confirms what another admin proposed. */
export const moneyOutRequest = z.strictObject({
  reason: reasonRequest.shape.reason,
  proposal_id: z.uuid().optional(),
})
export const MoneyOutOpened = z.object({
  data: z.object({ state: z.enum(['proposed', 'opened']) }),
})
export const BankClosed = z.object({ data: z.object({ accounts: count }) })
