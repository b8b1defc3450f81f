import * as z from 'zod'
import { Prisma } from '#lib/base/db/client.ts'
import { reasonColumns, utc } from '#lib/base/db/columns.ts'
import { asJson, queryRows } from '#lib/base/db/rows.ts'
import { refuse } from '#lib/base/errors.ts'
import { instant } from '#lib/base/fields.ts'
import type { Mode } from '#lib/base/mode.ts'
import { describeMaskedCharge, findCharge } from '#lib/rooms/charges/queries.ts'
import { refundColumns } from '#lib/rooms/charges/refunds/queries.ts'
import type { RefundRow } from '#lib/rooms/charges/refunds/schema.ts'
import { RefundDetail } from '#lib/rooms/charges/refunds/wire.ts'
import type { ChargeRow } from '#lib/rooms/charges/schema.ts'
import { ChargeDetail } from '#lib/rooms/charges/wire.ts'
import type { ChargeStep, ChargeStory, RejectionFields } from '#lib/views/dashboard/schema.ts'
import { rejectionFields, toldColumns, toldStep } from '#lib/views/dashboard/told.ts'

type Bare<What extends ChargeStep['what']> = Omit<Extract<ChargeStep, { what: What }>, 'what'>
type Refund = RefundRow & RejectionFields

interface Traces {
  viewed_at: string | null
  refundable: number
  ends: { at: string; type: 'transaction.expired' | 'transaction.failed' }[]
  refunds: Refund[]
  entries: Bare<'entry'>[]
  told: Bare<'told'>[]
  next: Bare<'next_try'>[]
}

/** Maximum refunds or attempts shown. */
const ROWS_MAX = 200

/** Reads a charge by id or reference, with every recorded step of its history. */
export async function readChargeStory(
  accountId: string,
  mode: Mode,
  idOrReference: string,
): Promise<ChargeStory> {
  const row = await findCharge(accountId, mode, idOrReference)
  const traces = row && (await readTraces(accountId, row.id))
  if (!traces) throw refuse('transaction_not_found')
  return {
    charge: describeMaskedCharge(row),
    steps: stepsOf(row, traces),
    refunds: traces.refunds.map(refund => ({ ...refund, ...rejectionOf(refund) })),
    refundable: row.status === 'paid' ? traces.refundable : 0,
  }
}

/**
 * Sorts by time; equal times keep insertion order, because the bank's clock may run behind ours.
 */
function stepsOf(row: ChargeRow, traces: Traces): ChargeStep[] {
  const { viewed_at, ends, refunds, entries, told, next } = traces
  const later: ChargeStep[] = [
    ...(viewed_at ? [{ what: 'viewed' as const, at: viewed_at }] : []),
    ...endsOf(row, ends),
    ...(row.paid_at
      ? [{ what: 'paid' as const, at: row.paid_at, end_to_end_id: row.end_to_end_id ?? '' }]
      : []),
    ...refunds.flatMap(stepsOfRefund),
    ...entries.map(one => ({ what: 'entry' as const, ...one })),
    ...told.map(one => ({ what: 'told' as const, ...one })),
  ]
  return [
    { what: 'created', at: row.created_at, ip: row.ip },
    ...later.sort((one, other) => ((one.at ?? '') < (other.at ?? '') ? -1 : 1)),
    ...next.map(one => ({ what: 'next_try' as const, ...one })),
  ]
}

/** Events are pruned; without them, the row still shows that a charge ended unpaid. */
function endsOf({ status, updated_at }: ChargeRow, ends: Traces['ends']): ChargeStep[] {
  if (ends.length === 0 && (status === 'expired' || status === 'failed')) {
    return [{ what: status, at: updated_at }]
  }
  return ends.map(({ at, type }) => ({
    what: type === 'transaction.expired' ? 'expired' : 'failed',
    at,
  }))
}

const NOT_REJECTED: RejectionFields = { rejection_code: null, rejection_params: null }

function stepsOfRefund(refund: Refund): ChargeStep[] {
  const { amount, created_at, completed_at, rejected_at } = refund
  const at = { pending: created_at, completed: completed_at, rejected: rejected_at }
  const step = (
    status: keyof typeof at,
    reason: string | null,
    why = NOT_REJECTED,
  ): ChargeStep[] =>
    at[status] ? [{ what: 'refund', at: at[status], status, amount, reason, ...why }] : []
  return [
    ...step('pending', refund.reason),
    ...step('completed', null),
    ...step('rejected', refund.rejection_reason, rejectionOf(refund)),
  ]
}

function rejectionOf({ rejection_code, rejection_params }: RejectionFields): RejectionFields {
  return { rejection_code, rejection_params }
}

function list(from: Prisma.Sql, name: string): Prisma.Sql {
  return Prisma.sql`(SELECT COALESCE(json_agg(x), '[]') FROM (${from}) x) AS ${Prisma.raw(name)}`
}

const refundWithRejection = asJson(
  Prisma.sql`${refundColumns}, ${reasonColumns('r', 'rejection', 'rejection_reason')}`,
)

async function readTraces(accountId: string, id: string): Promise<Traces | null> {
  const mine = (alias: string) =>
    Prisma.sql`${Prisma.raw(`${alias}.account_id`)} = ${accountId}::uuid`
  const refunds = Prisma.sql`
    SELECT r.* FROM refunds r WHERE ${mine('r')} AND r.charge_id = ${id}::uuid
    ORDER BY r.id LIMIT ${ROWS_MAX}`
  const entries = Prisma.sql`
    SELECT e.kind, e.amount, e.balance_after, ${utc('e.created_at', 'at')} FROM ledger_entries e
    WHERE ${mine('e')} AND e.ledger = 'available' AND (e.kind, e.subject_id) IN (
      SELECT 'charge_paid', ${id}::uuid
      UNION ALL SELECT k.kind, r.id FROM (${refunds}) r
        CROSS JOIN (VALUES ('refund_held'), ('refund_returned')) k(kind))
    ORDER BY e.version`
  const told = Prisma.sql`
    SELECT ${toldColumns}, a.duration_ms
    FROM deliveries d
    JOIN delivery_attempts a ON a.account_id = d.account_id AND a.delivery_id = d.id
    WHERE ${mine('d')} AND d.subject_id = ${id}::uuid
    ORDER BY a.created_at LIMIT ${ROWS_MAX}`
  const next = Prisma.sql`
    SELECT d.host, d.attempts + CASE WHEN d.lease IS NULL THEN 1 ELSE 0 END AS number,
      t.at FROM deliveries d CROSS JOIN LATERAL (
        SELECT ${utc('CASE WHEN d.lease IS NULL THEN d.due_at END', 'at')}) t
    WHERE ${mine('d')} AND d.subject_id = ${id}::uuid AND d.status = 'pending'
      AND d.due_at IS NOT NULL
    ORDER BY d.due_at LIMIT ${ROWS_MAX}`
  const columns = Prisma.sql`
    (SELECT ${utc('c.viewed_at', 'at')}) AS viewed_at,
    c.amount - c.refunded_amount - c.refund_held_amount AS refundable,
    ${list(
      Prisma.sql`
        SELECT e.type, ${utc('e.created_at', 'at')} FROM events e
        WHERE ${mine('e')} AND e.subject_id = ${id}::uuid
          AND e.type IN ('transaction.expired', 'transaction.failed')
        ORDER BY e.sequence`,
      'ends',
    )},
    (SELECT COALESCE(json_agg(${refundWithRejection} ORDER BY r.id), '[]')
      FROM (${refunds}) r) AS refunds,
    ${list(entries, 'entries')}, ${list(told, 'told')}, ${list(next, 'next')}`
  const [found] = await queryRows<Traces>(Prisma.sql`
    SELECT ${asJson(columns)}::text AS json FROM charges c
    WHERE ${mine('c')} AND c.id = ${id}::uuid`)
  return found ?? null
}

const step: z.ZodType<ChargeStep> = z.union([
  z.object({ what: z.literal('created'), at: instant, ip: z.string().nullable() }),
  z.object({ what: z.enum(['viewed', 'expired', 'failed']), at: instant }),
  z.object({ what: z.literal('paid'), at: instant, end_to_end_id: z.string() }),
  z.object({
    what: z.literal('entry'),
    at: instant,
    kind: z.enum(['charge_paid', 'refund_held', 'refund_returned']),
    amount: z.int(),
    balance_after: z.int(),
  }),
  toldStep.extend({ duration_ms: z.int() }),
  z.object({
    what: z.literal('refund'),
    at: instant,
    status: z.enum(['pending', 'completed', 'rejected']),
    amount: z.int(),
    reason: z.string().nullable(),
    ...rejectionFields,
  }),
  z.object({
    what: z.literal('next_try'),
    at: instant.nullable(),
    host: z.string(),
    number: z.int(),
  }),
])

export const ChargeStoryRead = z.object({
  data: z.object({
    charge: ChargeDetail,
    steps: z.array(step),
    refunds: z.array(RefundDetail.extend(rejectionFields)),
    refundable: z.int(),
  }),
})
