import { findCharge, serializeMaskedCharge } from '#lib/charges/queries.ts'
import { createChargeReceiptUrl } from '#lib/charges/receipt-url.ts'
import { refundColumns } from '#lib/charges/refunds/queries.ts'
import type { RefundRow } from '#lib/charges/refunds/schema.ts'
import type { ChargeRow } from '#lib/charges/schema.ts'
import { refuse } from '#lib/core/errors.ts'
import { showRawNumbers } from '#lib/core/exact-json.ts'
import { pickFields } from '#lib/core/fields.ts'
import type { Mode } from '#lib/core/mode.ts'
import { attemptColumns } from '#lib/dashboard/attempt-step.ts'
import {
  buildDisputeSteps,
  disputesSql,
  refundLimitsSql,
  returnsSql,
} from '#lib/dashboard/charge-disputes.ts'
import {
  type ChargeDispute,
  type ChargeStep,
  type ChargeTimelineData,
  RefundLimits,
  type RejectionFields,
} from '#lib/dashboard/timeline-wire.ts'
import { Prisma } from '#lib/db/client.ts'
import { asJson, queryRows, reasonColumns, utc } from '#lib/db/sql.ts'

type StepData<What extends ChargeStep['what']> = Omit<Extract<ChargeStep, { what: What }>, 'what'>
type Refund = RefundRow & RejectionFields & { is_late: boolean }

interface ChargeHistory extends RefundLimits {
  viewed_at: string | null
  ends: { at: string; type: 'transaction.expired' | 'transaction.failed' }[]
  refunds: Refund[]
  disputes: ChargeDispute[]
  returns: StepData<'returned'>[]
  mismatches: StepData<'mismatch'>[]
  entries: StepData<'entry'>[]
  told: StepData<'told'>[]
  next: StepData<'next_try'>[]
}

const ROWS_MAX = 200

export async function readChargeTimeline(
  accountId: string,
  mode: Mode,
  idOrReference: string,
): Promise<ChargeTimelineData> {
  const row = await findCharge(accountId, mode, idOrReference)
  const history = row && (await readHistory(accountId, row.id))
  if (!history) throw refuse('transaction_not_found')
  return {
    charge: showRawNumbers(serializeMaskedCharge(row)),
    steps: buildSteps(row, history),
    receipt_url: await createChargeReceiptUrl(row),
    refunds: history.refunds.map(refund => ({ ...refund, ...pickRejection(refund) })),
    disputes: history.disputes,
    ...pickFields(RefundLimits.shape, history),
  }
}

/**
 * Sorts by time. The bank's clock may run behind: the creation is first all the same, and a payment
 * follows the expiry or failure before it, because a paid charge can no longer expire or fail.
 */
function buildSteps(row: ChargeRow, history: ChargeHistory): ChargeStep[] {
  const { viewed_at, ends, refunds, disputes, returns, mismatches, entries } = history
  const { told: attempts, next } = history
  const later: ChargeStep[] = [
    ...(viewed_at ? [{ what: 'viewed' as const, at: viewed_at }] : []),
    ...buildEndSteps(row, ends),
    ...(row.paid_at
      ? [{ what: 'paid' as const, at: row.paid_at, end_to_end_id: row.end_to_end_id ?? '' }]
      : []),
    ...refunds.flatMap(buildRefundSteps),
    ...disputes.flatMap(buildDisputeSteps),
    ...returns.map(({ at, amount, nature }) => ({ what: 'returned' as const, at, amount, nature })),
    ...mismatches.map(one => ({ what: 'mismatch' as const, ...one })),
    ...entries.map(one => ({ what: 'entry' as const, ...one })),
    ...attempts.map(one => ({ what: 'told' as const, ...one })),
  ]
  const endAt =
    ends
      .map(({ at }) => at)
      .toSorted()
      .at(-1) ?? ''
  const orderOf = ({ what, at }: ChargeStep) =>
    what === 'paid' && (at ?? '') < endAt ? endAt : (at ?? '')
  return [
    { what: 'created', at: row.created_at, ip: row.ip },
    ...later.sort((one, other) => compareTexts(orderOf(one), orderOf(other))),
    ...next.map(one => ({ what: 'next_try' as const, ...one })),
  ]
}

function compareTexts(one: string, other: string): number {
  return one === other ? 0 : one < other ? -1 : 1
}

/** Events are pruned; without them, the row still has the end. */
function buildEndSteps(
  { status, updated_at }: ChargeRow,
  ends: ChargeHistory['ends'],
): ChargeStep[] {
  if (ends.length === 0 && (status === 'expired' || status === 'failed')) {
    return [{ what: status, at: updated_at }]
  }
  return ends.map(({ at, type }) => ({
    what: type === 'transaction.expired' ? 'expired' : 'failed',
    at,
  }))
}

const NOT_REJECTED: RejectionFields = { rejection_code: null, rejection_params: null }

function buildRefundSteps(refund: Refund): ChargeStep[] {
  const { amount, created_at, completed_at, rejected_at } = refund
  const at = { pending: created_at, completed: completed_at, rejected: rejected_at }
  const step = (
    status: keyof typeof at,
    reason: string | null,
    rejection = NOT_REJECTED,
  ): ChargeStep[] =>
    at[status] ? [{ what: 'refund', at: at[status], status, amount, reason, ...rejection }] : []
  return [
    ...step('pending', refund.reason),
    ...step('completed', null),
    ...step('rejected', refund.rejection_reason, pickRejection(refund)),
  ]
}

function pickRejection({ rejection_code, rejection_params }: RejectionFields): RejectionFields {
  return { rejection_code, rejection_params }
}

function jsonListSql(from: Prisma.Sql, name: string): Prisma.Sql {
  return Prisma.sql`(SELECT COALESCE(json_agg(x), '[]') FROM (${from}) x) AS ${Prisma.raw(name)}`
}

/** Banks confirm a refund within seconds. */
const REFUND_LATE_AFTER = Prisma.sql`interval '15 minutes'`

const refundWithRejection = asJson(
  Prisma.sql`${refundColumns}, ${reasonColumns('r', 'rejection', 'rejection_reason')},
    r.status = 'pending' AND r.created_at < now() - ${REFUND_LATE_AFTER} AS is_late`,
)

async function readHistory(accountId: string, id: string): Promise<ChargeHistory | null> {
  const accountCondition = (alias: string) =>
    Prisma.sql`${Prisma.raw(`${alias}.account_id`)} = ${accountId}::uuid`
  const refunds = Prisma.sql`
    SELECT r.* FROM refunds r WHERE ${accountCondition('r')} AND r.charge_id = ${id}::uuid
    ORDER BY r.id LIMIT ${ROWS_MAX}`
  const disputes = disputesSql(accountId, id)
  const returns = returnsSql(accountId, id)
  const entries = Prisma.sql`
    SELECT e.kind, e.amount, e.balance_after, ${utc('e.created_at', 'at')} FROM ledger_entries e
    WHERE ${accountCondition('e')} AND e.ledger = 'available' AND (e.kind, e.subject_id) IN (
      SELECT 'charge_paid', ${id}::uuid
      UNION ALL SELECT k.kind, r.id FROM (${refunds}) r
        CROSS JOIN (VALUES ('refund_held'), ('refund_returned')) k(kind)
      UNION ALL SELECT k.kind, d.id FROM (${disputes}) d
        CROSS JOIN (VALUES ('dispute_held'), ('dispute_won')) k(kind)
      UNION ALL SELECT 'payment_returned', r.id FROM (${returns}) r)
    ORDER BY e.version`
  const mismatches = Prisma.sql`
    SELECT p.amount, ${utc('p.paid_at', 'at')}, CASE
        WHEN s.entry = 'give_back' OR p.amount = (SELECT sum(b.amount) FROM payment_returns b
          WHERE b.account_id = p.account_id AND b.payment_id = p.id) THEN 'returned'
        WHEN s.entry IN ('credit', 'match') THEN 'credited'
        WHEN s.entry IS NOT NULL THEN 'kept'
        WHEN EXISTS (SELECT FROM unmatched_returns r
          WHERE r.account_id = p.account_id AND r.payment_id = p.id AND r.status = 'pending') THEN 'returning'
        ELSE 'open' END AS state
    FROM unmatched_payments p
    LEFT JOIN unmatched_resolutions s ON s.account_id = p.account_id AND s.payment_id = p.id
    WHERE p.charge_account_id = ${accountId}::uuid AND p.charge_id = ${id}::uuid
      AND p.reason = 'payment_amount'
    ORDER BY p.paid_at LIMIT ${ROWS_MAX}`
  const attemptsSql = Prisma.sql`
    SELECT ${attemptColumns}, a.duration_ms
    FROM deliveries d
    JOIN delivery_attempts a ON a.account_id = d.account_id AND a.delivery_id = d.id
    WHERE ${accountCondition('d')} AND d.subject_id = ${id}::uuid
    ORDER BY a.created_at LIMIT ${ROWS_MAX}`
  const next = Prisma.sql`
    SELECT d.host, d.attempts + CASE WHEN d.lease IS NULL THEN 1 ELSE 0 END AS number,
      t.at FROM deliveries d CROSS JOIN LATERAL (
        SELECT ${utc('CASE WHEN d.lease IS NULL THEN d.due_at END', 'at')}) t
    WHERE ${accountCondition('d')} AND d.subject_id = ${id}::uuid AND d.status = 'pending'
      AND d.due_at IS NOT NULL
    ORDER BY d.due_at LIMIT ${ROWS_MAX}`
  const columns = Prisma.sql`
    (SELECT ${utc('c.viewed_at', 'at')}) AS viewed_at,
    l.*,
    ${jsonListSql(
      Prisma.sql`
        SELECT e.type, ${utc('e.created_at', 'at')} FROM events e
        WHERE ${accountCondition('e')} AND e.subject_id = ${id}::uuid
          AND e.type IN ('transaction.expired', 'transaction.failed')
        ORDER BY e.sequence`,
      'ends',
    )},
    (SELECT COALESCE(json_agg(${refundWithRejection} ORDER BY r.id), '[]')
      FROM (${refunds}) r) AS refunds,
    ${jsonListSql(disputes, 'disputes')}, ${jsonListSql(returns, 'returns')}, ${jsonListSql(entries, 'entries')},
    ${jsonListSql(mismatches, 'mismatches')},
    ${jsonListSql(attemptsSql, 'told')}, ${jsonListSql(next, 'next')}`
  const [found] = await queryRows<ChargeHistory>(Prisma.sql`
    SELECT ${asJson(columns)}::text AS json
    FROM charges c CROSS JOIN LATERAL (${refundLimitsSql}) l
    WHERE ${accountCondition('c')} AND c.id = ${id}::uuid`)
  return found ?? null
}
