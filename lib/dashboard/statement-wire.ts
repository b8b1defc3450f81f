import * as z from 'zod'
import {
  instant,
  listLimit,
  modeField,
  must,
  openApiMeta,
  pageOf,
  timeFilter,
} from '#lib/core/fields.ts'
import type { Mode } from '#lib/core/mode.ts'
import { maskPixKey, PIX_KEY_TYPES } from '#lib/core/pix/pix-key.ts'
import type { StatementRow } from '#lib/dashboard/schema.ts'
import type { StatementRange } from '#lib/ledger/statement.ts'

/** Kinds of entries on the wire, where a charge is a transaction. */
export const KIND_OF = {
  transaction_paid: 'charge_paid',
  refund_held: 'refund_held',
  refund_returned: 'refund_returned',
  withdrawal_held: 'withdrawal_held',
  withdrawal_returned: 'withdrawal_returned',
  payout_returned: 'payout_returned',
  receipt_credited: 'unmatched_credited',
  dispute_held: 'dispute_held',
  dispute_won: 'dispute_won',
  owed_repaid: 'owed_repaid',
} as const satisfies Record<string, StatementRow['kind']>
type WireKind = keyof typeof KIND_OF
const wireKindOf = Object.fromEntries(
  Object.entries(KIND_OF).map(([wire, kind]) => [kind, wire]),
) as Record<StatementRow['kind'], WireKind>
const WIRE_KINDS = Object.keys(KIND_OF) as [WireKind, ...WireKind[]]

const KIND_DESCRIPTION =
  'What moved the balance. `transaction_paid`: a payment. `withdrawal_held`, `refund_held`: the amount left the balance with the request; `…_returned`: it came back, because the bank rejected it. `payout_returned`: the receiver’s bank sent a withdrawal back. `receipt_credited`: a payment that the administrator assigned to the account. `dispute_held`, `dispute_won`: taken for a payment that its payer disputes, and given back. `owed_repaid`: taken to cover what was missing for disputes.'
const CURSOR_RULE = 'be the next_cursor of a previous page'
const DATE_DESCRIPTION =
  'a date (midnight in the time zone of the account) or a time with a UTC offset.'

export const statementFilter = z.object({
  from: timeFilter
    .optional()
    .meta(openApiMeta(`Entries at or after: ${DATE_DESCRIPTION}`, '2026-11-01')),
  to: timeFilter.optional().meta(openApiMeta(`Entries before: ${DATE_DESCRIPTION}`, '2026-12-01')),
  kind: z
    .enum(WIRE_KINDS, must(`be one of ${WIRE_KINDS.join(', ')}`))
    .optional()
    .meta(openApiMeta('Only entries of this kind.', 'transaction_paid')),
})
export type StatementFilter = z.infer<typeof statementFilter>

export const statementQuery = z.object({
  limit: listLimit(20),
  cursor: z
    .string()
    .regex(/^\d{1,15}\.\d{1,15}$/, must(CURSOR_RULE))
    .optional()
    .meta(openApiMeta('The `next_cursor` of the previous page.', '812.792')),
  ...statementFilter.shape,
})
export type StatementQuery = z.infer<typeof statementQuery>

const cents = (description: string, example: number) =>
  z.int().meta(openApiMeta(description, example))

const StatementEntry = z
  .object({
    version: z
      .int()
      .meta(openApiMeta('Position in the ledger: 1, 2, 3 and so on, without gaps.', 812)),
    kind: z.enum(WIRE_KINDS).meta(openApiMeta(KIND_DESCRIPTION, 'transaction_paid')),
    amount: cents('Amount, in cents; negative if it left the balance.', 1500),
    balance_after: cents('Balance after the entry, in cents.', 251_500),
    created_at: instant.meta(openApiMeta('Time of the entry.', '2026-11-21T01:28:12.004211Z')),
    subject_id: z
      .uuid()
      .meta(
        openApiMeta(
          'Id of what moved the balance: the charge, refund, withdrawal, dispute or assigned payment.',
          '01a1fbb6-bf1b-7d40-9b0e-5f0f2d1c88aa',
        ),
      ),
    transaction_id: z
      .uuid()
      .nullable()
      .meta(
        openApiMeta(
          'Id of the charge that was paid, refunded or disputed, or null.',
          '01a1fbb6-bf1b-7d40-9b0e-5f0f2d1c88aa',
        ),
      ),
    withdrawal_id: z.uuid().nullable().meta(openApiMeta('Id of the withdrawal, or null.', null)),
    external_id: z
      .string()
      .nullable()
      .meta(openApiMeta('Your reference of the charge or withdrawal, or null.', 'order-1048')),
    client_name: z
      .string()
      .nullable()
      .meta(openApiMeta('Name of the payer, or null.', 'Ana Beatriz Rocha')),
    pix_key_type: z
      .enum(PIX_KEY_TYPES)
      .nullable()
      .meta(openApiMeta('Type of the receiver’s Pix key, or null.', null)),
    pix_key: z
      .string()
      .nullable()
      .meta(openApiMeta('Pix key of the receiver, masked, or null.', null)),
  })
  .meta({ id: 'StatementEntry' })

export const ENTRY_FIELDS = Object.keys(StatementEntry.shape) as (keyof z.infer<
  typeof StatementEntry
>)[]

const balance = {
  opening_balance: cents('Balance at the beginning of the period, in cents.', 250_000),
  closing_balance: cents('Balance at the end of the period, in cents.', 251_500),
}

export const StatementPage = pageOf(StatementEntry, {
  mode: modeField,
  time_zone: z
    .string()
    .meta(openApiMeta('Time zone of the account, in which days begin.', 'America/Sao_Paulo')),
  from: instant
    .nullable()
    .meta(openApiMeta('Beginning of the period, or null.', '2026-11-01T03:00:00.000000Z')),
  to: instant
    .nullable()
    .meta(openApiMeta('End of the period, or null.', '2026-12-01T03:00:00.000000Z')),
  ...balance,
}).meta({ id: 'StatementPage' })

export function entryToWire(row: StatementRow): z.infer<typeof StatementEntry> {
  const { kind, charge_id, withdrawal_id, external_id, client_name, pix_key_type, dict_key } = row
  const { version, amount, balance_after, created_at, subject_id } = row
  return {
    ...{ version, kind: wireKindOf[kind] },
    ...{ amount, balance_after, created_at, subject_id, transaction_id: charge_id, withdrawal_id },
    ...{ external_id, client_name, pix_key_type },
    pix_key: pix_key_type && dict_key ? maskPixKey(pix_key_type, dict_key) : null,
  }
}

export function periodToWire(
  { from, to, range }: { from: string | null; to: string | null; range: StatementRange },
  place: { mode: Mode; time_zone: string },
) {
  const { opening: opening_balance, closing: closing_balance } = range
  return { ...place, from, to, opening_balance, closing_balance }
}

export const balanceQuery = z.object({
  from: z.iso
    .date(must('be a date such as 2026-11-01'))
    .refine(day => day >= '1970', must('be a date since 1970'))
    .optional()
    .meta(openApiMeta('First day. Default: 30 days before `to`.', '2026-11-01')),
  to: z.iso
    .date(must('be a date such as 2026-12-01'))
    .refine(day => day >= '1970', must('be a date since 1970'))
    .optional()
    .meta(openApiMeta('Day after the last one. Default, and at most: tomorrow.', '2026-12-01')),
})
export type BalanceQuery = z.infer<typeof balanceQuery>

const BalanceDay = z
  .object({
    date: z.iso.date().meta(openApiMeta('Day in the time zone of the account.', '2026-11-21')),
    opening_balance: cents('Balance at the beginning of the day, in cents.', 250_000),
    credited: cents('Sum of what came in, in cents.', 1500),
    debited: cents('Sum of what left, in cents, as a positive number.', 0),
    closing_balance: cents(
      'Balance at the end of the day, in cents; for today, the current balance.',
      251_500,
    ),
  })
  .meta({ id: 'BalanceDay' })
export type BalanceDay = z.infer<typeof BalanceDay>

export const BalanceHistory = z
  .object({
    data: z.array(BalanceDay).meta(openApiMeta('Newest day first.')),
    mode: modeField,
    time_zone: z
      .string()
      .meta(openApiMeta('Time zone of the account, in which days begin.', 'America/Sao_Paulo')),
  })
  .meta({ id: 'BalanceHistory' })
