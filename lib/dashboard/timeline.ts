import * as z from 'zod'
import { readPeople } from '#lib/audit/queries.ts'
import { REJECTION_CODES } from '#lib/banks/gateway.ts'
import { evidenceListSql } from '#lib/charges/disputes/evidence.ts'
import { ANSWER_STATES } from '#lib/charges/disputes/schema.ts'
import { DisputeDetail, Evidence } from '#lib/charges/disputes/wire.ts'
import { chargeAsJson, findCharge, serializeMaskedCharge } from '#lib/charges/list.ts'
import { refundColumns } from '#lib/charges/refunds/refund.ts'
import type { RefundRow } from '#lib/charges/refunds/schema.ts'
import { RefundDetail } from '#lib/charges/refunds/wire.ts'
import type { ChargeRow } from '#lib/charges/schema.ts'
import { REFUND_WINDOW_DAYS } from '#lib/charges/states.ts'
import { createChargeReceiptUrl } from '#lib/charges/urls.ts'
import { ChargeDetail } from '#lib/charges/wire.ts'
import { refuse } from '#lib/core/errors.ts'
import { showRawNumbers } from '#lib/core/exact-json.ts'
import { instant, pickFields, reasonParams } from '#lib/core/fields.ts'
import { removeHyphens } from '#lib/core/ids.ts'
import type { Mode } from '#lib/core/mode.ts'
import { describeBank } from '#lib/core/pix/participants.ts'
import { PIX_KEY_TYPES } from '#lib/core/pix/pix-key.ts'
import { disputeColumns } from '#lib/dashboard/disputes.ts'
import { Prisma } from '#lib/db/client.ts'
import { asJson, queryRows, reasonColumns, utc, utcText } from '#lib/db/sql.ts'
import { approverRows, mayApproveSql } from '#lib/people/approvers.ts'
import { isUnderWaySql } from '#lib/webhooks/deliveries.ts'
import { Attempt } from '#lib/webhooks/wire.ts'
import {
  createWithdrawalReceiptUrl,
  findWithdrawal,
  withdrawalAsJson,
} from '#lib/withdrawals/queries.ts'
import type { WithdrawalRow } from '#lib/withdrawals/schema.ts'
import { WithdrawalDetail, withdrawalToWire } from '#lib/withdrawals/wire.ts'

const attemptColumns = Prisma.sql`
  ${utc('a.created_at', 'at')}, d.host, a.number, a.response_status, a.problem,
  ${reasonColumns('a', 'problem')}`

const { problem, problem_code, problem_params, response_status } = Attempt.shape

const attemptStep = z.object({
  what: z.literal('told'),
  at: instant,
  host: z.string(),
  number: z.int(),
  response_status,
  problem,
  problem_code,
  problem_params,
})
type AttemptStep = z.infer<typeof attemptStep>

const RejectionFields = z.object({
  rejection_code: z.enum(REJECTION_CODES).nullable(),
  rejection_params: reasonParams.nullable(),
})
export type RejectionFields = z.infer<typeof RejectionFields>
const { rejection_code } = RejectionFields.shape

/** Steps of a charge, oldest first; pending webhook attempts are last. */
const chargeStep = z.union([
  z.object({ what: z.literal('created'), at: instant, ip: z.string().nullable() }),
  z.object({ what: z.enum(['viewed', 'expired', 'failed']), at: instant }),
  z.object({ what: z.literal('paid'), at: instant, end_to_end_id: z.string() }),
  z.object({
    what: z.literal('entry'),
    at: instant,
    kind: z.enum([
      'charge_paid',
      'refund_held',
      'refund_returned',
      'dispute_held',
      'dispute_won',
      'payment_returned',
    ] as const),
    amount: z.int(),
    balance_after: z.int(),
  }),
  attemptStep.extend({ duration_ms: z.int() }),
  /** `amount`: what is disputed; at the end of a lost dispute, what went to the payer. */
  z.object({
    what: z.literal('dispute'),
    at: instant,
    status: z.enum(['open', 'won', 'lost']),
    amount: z.int(),
  }),
  /** The bank gave money back by itself; `nature` is its reason. */
  z.object({
    what: z.literal('returned'),
    at: instant,
    amount: z.int(),
    nature: z.string().nullable(),
  }),
  /** A payment of another amount than the charge's, which did not pay it, and what was decided about it. */
  z.object({
    what: z.literal('mismatch'),
    at: instant,
    amount: z.int(),
    state: z.enum(['open', 'returning', 'returned', 'credited', 'kept']),
  }),
  z.object({
    what: z.literal('refund'),
    at: instant,
    status: z.enum(['pending', 'completed', 'rejected']),
    amount: z.int(),
    reason: z.string().nullable(),
    ...RejectionFields.shape,
  }),
  /** Webhook attempt that is in progress (`at` is null) or scheduled. */
  z.object({
    what: z.literal('next_try'),
    at: instant.nullable(),
    host: z.string(),
    number: z.int(),
  }),
])
export type ChargeStep = z.infer<typeof chargeStep>

const ChargeDispute = DisputeDetail.omit({ transaction_id: true, updated_at: true }).extend({
  answer_state: z.enum(ANSWER_STATES).nullable(),
  evidence: z.array(Evidence),
})
type ChargeDispute = z.infer<typeof ChargeDispute>

/** In cents. */
const RefundLimits = z.object({
  /** Amount that can still be refunded. */
  refundable: z.int(),
  /** Amount that could be refunded until the payment was too old. */
  late: z.int(),
  /** Amount of open disputes, which cannot be refunded meanwhile. */
  disputed: z.int(),
  /** Amount that went to the payer by lost disputes. */
  lost: z.int(),
})
type RefundLimits = z.infer<typeof RefundLimits>

/** Charge as its page shows it: the payer's document is masked. */
const ChargeTimelineData = z.object({
  charge: ChargeDetail,
  steps: z.array(chargeStep),
  receipt_url: z.string().nullable(),
  refunds: z.array(
    RefundDetail.extend({
      ...RejectionFields.shape,
      /** Whether the bank has taken longer than usual to confirm it. */
      is_late: z.boolean(),
    }),
  ),
  disputes: z.array(ChargeDispute),
  ...RefundLimits.shape,
})
export type ChargeTimelineData = z.infer<typeof ChargeTimelineData>
export const ChargeTimelineRead = z.object({ data: ChargeTimelineData })

/**
 * Why a withdrawal needs a second member: it is above the account's amount, its day is above that of a
 * day, or no withdrawal to its key was paid before.
 */
const ApprovalReason = z.enum(['amount', 'day_amount', 'new_key'])
type ApprovalReason = z.infer<typeof ApprovalReason>

/** Steps of a withdrawal, oldest first. */
const withdrawalStep = z.union([
  /** `ended_sent`: the bank never answered, and the operator found that the payment was sent. */
  z.object({ what: z.enum(['requested', 'sent', 'approved', 'ended_sent']), at: instant }),
  z.object({ what: z.literal('approval_needed'), at: instant, reason: ApprovalReason }),
  z.object({ what: z.literal('approval_given'), at: instant, by: z.string() }),
  z.object({ what: z.enum(['held', 'returned']), at: instant, balance_after: z.int() }),
  /** The receiver's bank has sent the money back, or a part of it. */
  z.object({
    what: z.literal('sent_back'),
    at: instant,
    amount: z.int(),
    balance_after: z.int(),
  }),
  z.object({
    what: z.literal('rejected'),
    at: instant,
    reason: z.string(),
    ...RejectionFields.shape,
  }),
  z.object({
    what: z.literal('call'),
    at: instant,
    operation: z.string(),
    /** Null while in progress, or if the end of the call was never recorded. */
    outcome: z.enum(['ok', 'rejected', 'retryable', 'unknown']).nullable(),
    /** State that the bank reported; null if it does not have the order. */
    said: z.enum(['taken', 'done', 'refused']).nullable(),
    /** Why the bank rejected the call. Its own text is for staff. */
    rejection_code,
    /** Number of consecutive equal calls; the last call was at `last_at`. */
    times: z.int(),
    last_at: instant,
  }),
  attemptStep,
])
export type WithdrawalStep = z.infer<typeof withdrawalStep>

const WithdrawalTimelineData = z.object({
  withdrawal: WithdrawalDetail,
  /** The key as the bank's directory stores it. */
  dict_key: z.string(),
  /** The receiver as the bank names it; null as long as it has not. */
  payee: z
    .object({ name: z.string(), masked_doc: z.string().nullable(), bank: z.string().nullable() })
    .nullable(),
  steps: z.array(withdrawalStep),
  has_receipt: z.boolean(),
  /** Set while the withdrawal waits for approval. */
  approval: z
    .object({ requester: z.string().nullable(), expires_at: instant, can_approve: z.boolean() })
    .nullable(),
})
export type WithdrawalTimelineData = z.infer<typeof WithdrawalTimelineData>
export const WithdrawalTimelineRead = z.object({ data: WithdrawalTimelineData })

const WaitingWithdrawal = z.object({
  id: z.uuid(),
  amount: z.int(),
  pix_key_type: z.enum(PIX_KEY_TYPES),
  dict_key: z.string(),
  reason: ApprovalReason,
  /** Member who answers for the request; null: a token of the operator. */
  requester: z.string().nullable(),
  created_at: instant,
  expires_at: instant,
  can_approve: z.boolean(),
})
export type WaitingWithdrawal = z.infer<typeof WaitingWithdrawal>
export const WaitingList = z.object({ data: z.array(WaitingWithdrawal) })

/** Maximum waiting withdrawals shown; further ones follow when these are decided. */
const SHOWN_MAX = 100

/** Whether a user may approve withdrawal `w` of account `a`; null: a program, which may not. */
function canApproveSql(userId: string | null): Prisma.Sql {
  if (userId === null) return Prisma.sql`false`
  return Prisma.sql`
    EXISTS (SELECT FROM ${approverRows(userId)} WHERE ${mayApproveSql('w.approval_barred')})`
}

/** Returns the withdrawals that wait for approval, those that expire first in front. */
export async function listWaiting(
  accountId: string,
  mode: Mode,
  userId: string,
): Promise<WaitingWithdrawal[]> {
  const columns = Prisma.sql`
    w.id, w.amount, w.pix_key_type, w.dict_key, w.approval_reason AS reason, w.requested_by,
    ${utcText('w.created_at')} AS created_at, ${utcText('w.approval_due_at')} AS expires_at,
    ${canApproveSql(userId)} AS can_approve`
  const rows = await queryRows<WaitingWithdrawal & { requested_by: string | null }>(Prisma.sql`
    SELECT ${asJson(columns)}::text AS json FROM withdrawals w JOIN accounts a ON a.id = w.account_id
    WHERE w.account_id = ${accountId}::uuid AND w.mode = ${mode} AND w.approval_due_at IS NOT NULL
    ORDER BY w.id LIMIT ${SHOWN_MAX}`)
  const findPerson = await readPeople(rows.map(row => [accountId, row.requested_by]))
  return rows.map(({ requested_by, ...row }) => ({
    ...row,
    requester: findPerson(accountId, requested_by)?.name ?? null,
  }))
}

function disputesSql(accountId: string, chargeId: string): Prisma.Sql {
  return Prisma.sql`
    SELECT ${disputeColumns}, ${evidenceListSql} AS evidence, d.lost_amount, ${utc('d.closed_at')}
    FROM disputes d WHERE d.account_id = ${accountId}::uuid AND d.charge_id = ${chargeId}::uuid
    ORDER BY d.id`
}

/**
 * Selects from a charge `c`; its disputes by prisma/functions/troco_disputed.sql, the time
 * of test mode by prisma/functions/troco_test_now.sql. Nothing is left if one was opened while a refund was held.
 */
const refundLimitsSql = Prisma.sql`
  SELECT CASE WHEN p.is_late THEN 0 ELSE p.unspent END AS refundable,
    CASE WHEN p.is_late THEN p.unspent ELSE 0 END AS late, d.disputed, d.lost
  FROM troco_disputed(c.account_id, c.id) d CROSS JOIN LATERAL (SELECT
    CASE c.status WHEN 'paid' THEN GREATEST(0,
      c.amount - c.refunded_amount - c.refund_held_amount - c.returned_amount - d.disputed - d.lost)
      ELSE 0 END AS unspent,
    c.paid_at < troco_test_now(c.account_id, c.mode, c.paid_at)
      - make_interval(days => ${REFUND_WINDOW_DAYS}::int) AS is_late) p`

/** Returns that the bank made on its own, as booked by lib/charges/returned.ts. */
function returnsSql(accountId: string, chargeId: string): Prisma.Sql {
  return Prisma.sql`
    SELECT r.id, r.amount, r.nature, ${utc('r.returned_at', 'at')} FROM payment_returns r
    WHERE r.account_id = ${accountId}::uuid AND r.charge_id = ${chargeId}::uuid
    ORDER BY r.returned_at, r.id`
}

/** Returns the opening of a dispute and its end. */
function buildDisputeSteps(dispute: ChargeDispute): ChargeStep[] {
  const { amount, lost_amount: lostAmount, status, created_at, closed_at } = dispute
  const step = (at: string | null, name: typeof status, cents = amount): ChargeStep[] =>
    at ? [{ what: 'dispute', at, status: name, amount: cents }] : []
  return [...step(created_at, 'open'), ...step(closed_at, status, lostAmount ?? amount)]
}

type StepData<What extends ChargeStep['what']> = Omit<Extract<ChargeStep, { what: What }>, 'what'>
type Refund = RefundRow & RejectionFields & { is_late: boolean }

/** With the charge itself: read by another statement, it could be pending beside the entry of its payment. */
interface ChargeHistory extends RefundLimits {
  charge: ChargeRow
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
  const found = await findCharge(accountId, mode, idOrReference)
  const history = found && (await readChargeHistory(accountId, found.id))
  if (!history) throw refuse('transaction_not_found')
  const row = history.charge
  return {
    charge: withPayersBank(showRawNumbers(serializeMaskedCharge(row))),
    steps: chargeSteps(history),
    receipt_url: await createChargeReceiptUrl(row),
    refunds: history.refunds.map(refund => ({ ...refund, ...pickRejection(refund) })),
    disputes: history.disputes,
    ...pickFields(RefundLimits.shape, history),
  }
}

function withPayersBank(charge: ChargeDetail): ChargeDetail {
  const { mode, payer } = charge
  return payer ? { ...charge, payer: withBankName(mode, payer) } : charge
}

function withBankName<Person extends { bank: string | null }>(mode: Mode, person: Person): Person {
  return { ...person, bank: describeBank(mode, person.bank) }
}

/**
 * Sorts by time. The bank's clock may run behind: the creation is first all the same, and a payment
 * follows the expiry or failure before it, because a paid charge can no longer expire or fail.
 */
function chargeSteps(history: ChargeHistory): ChargeStep[] {
  const { charge: row, viewed_at, ends, refunds, disputes, returns, mismatches, entries } = history
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

async function readChargeHistory(accountId: string, id: string): Promise<ChargeHistory | null> {
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
    SELECT d.host, d.attempts + 1 AS number, ${utc('CASE WHEN NOT n.is_under_way THEN d.due_at END', 'at')}
    FROM deliveries d CROSS JOIN LATERAL (SELECT ${isUnderWaySql} AS is_under_way) n
    WHERE ${accountCondition('d')} AND d.subject_id = ${id}::uuid AND d.status = 'pending'
      AND d.due_at IS NOT NULL
    ORDER BY d.due_at LIMIT ${ROWS_MAX}`
  const columns = Prisma.sql`
    ${chargeAsJson} AS charge, (SELECT ${utc('c.viewed_at', 'at')}) AS viewed_at,
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

type Call = Extract<WithdrawalStep, { what: 'call' }>
type Entry = Extract<WithdrawalStep, { what: 'held' | 'returned' }>

/** With the withdrawal itself, in one statement as for a charge. */
interface WithdrawalHistory extends RejectionFields {
  withdrawal: WithdrawalRow
  dict_key: string
  /** Whether the operator ended it, because the bank never answered. */
  is_ended: boolean
  entries: (Omit<Entry, 'what'> & { kind: string; amount: number })[]
  calls: Omit<Call, 'what' | 'times' | 'last_at'>[]
  told: Omit<AttemptStep, 'what'>[]
  /** When the simulator got the order (step `sent`): calls to it are not journaled. */
  taken_at: string | null
  approval: WithdrawalTimelineData['approval']
  payee: WithdrawalTimelineData['payee']
  approval_reason: ApprovalReason | null
  approval_by: string | null
  approval_at: string | null
}

/** Maximum rows shown: more calls than a working bank ever receives. */
const WITHDRAWAL_ROWS_MAX = 200

export async function readWithdrawalTimeline(
  accountId: string,
  mode: Mode,
  idOrReference: string,
  userId: string | null,
): Promise<WithdrawalTimelineData> {
  const found = await findWithdrawal(accountId, mode, idOrReference)
  const history = found && (await readWithdrawalHistory(accountId, found.id, userId))
  if (!history) throw refuse('withdrawal_not_found')
  const row = history.withdrawal
  return {
    withdrawal: withdrawalToWire(row),
    dict_key: history.dict_key,
    payee: history.payee && withBankName(row.mode, history.payee),
    steps: withdrawalSteps(history),
    has_receipt: (await createWithdrawalReceiptUrl(accountId, row)) !== null,
    approval: history.approval,
  }
}

function withdrawalSteps(history: WithdrawalHistory): WithdrawalStep[] {
  const row = history.withdrawal
  const entry = (kind: string) => history.entries.find(one => one.kind === kind)
  const [held, returned] = [entry('withdrawal_held'), entry('withdrawal_returned')]
  const end: 'ended_sent' | 'approved' = history.is_ended ? 'ended_sent' : 'approved'
  return [
    { what: 'requested', at: row.created_at },
    ...(held ? [{ what: 'held' as const, at: held.at, balance_after: held.balance_after }] : []),
    ...buildApprovalSteps(history),
    ...mergeRepeatedCalls(history.calls),
    ...(history.taken_at ? [{ what: 'sent' as const, at: history.taken_at }] : []),
    ...(row.approved_at ? [{ what: end, at: row.approved_at }] : []),
    ...(row.rejected_at
      ? [buildRejectedStep(row.rejected_at, row.rejection_reason ?? '', history)]
      : []),
    ...(returned
      ? [{ what: 'returned' as const, at: returned.at, balance_after: returned.balance_after }]
      : []),
    ...history.entries
      .filter(({ kind }) => kind === 'payout_returned')
      .map(({ at, amount, balance_after }) => ({
        what: 'sent_back' as const,
        at,
        amount,
        balance_after,
      })),
    ...history.told.map(one => ({ what: 'told' as const, ...one })),
  ]
}

function buildApprovalSteps(history: WithdrawalHistory): WithdrawalStep[] {
  const {
    withdrawal: row,
    approval_reason: reason,
    approval_by: by,
    approval_at: at,
    rejection_code,
  } = history
  if (reason === null) return []
  const isGiven = at !== null && by !== null && rejection_code !== 'approval_declined'
  return [
    { what: 'approval_needed', at: row.created_at, reason },
    ...(isGiven ? [{ what: 'approval_given' as const, at, by }] : []),
  ]
}

function buildRejectedStep(at: string, reason: string, history: RejectionFields): WithdrawalStep {
  const { rejection_code, rejection_params } = history
  return { what: 'rejected', at, reason, rejection_code, rejection_params }
}

function mergeRepeatedCalls(calls: WithdrawalHistory['calls']): Call[] {
  const merged: Call[] = []
  for (const call of calls) {
    const last = merged.at(-1)
    const isSame =
      last?.operation === call.operation && last.outcome === call.outcome && last.said === call.said
    if (isSame) Object.assign(last, { times: last.times + 1, last_at: call.at })
    else merged.push({ what: 'call', ...call, times: 1, last_at: call.at })
  }
  return merged
}

async function readWithdrawalHistory(
  accountId: string,
  id: string,
  userId: string | null,
): Promise<WithdrawalHistory | null> {
  const subjectCondition = Prisma.sql`account_id = ${accountId}::uuid AND subject_id = ${id}::uuid`
  const jsonListSql = (from: Prisma.Sql) =>
    Prisma.sql`(SELECT COALESCE(json_agg(r), '[]') FROM (${from}) r)`
  const columns = Prisma.sql`
    ${withdrawalAsJson} AS withdrawal, w.dict_key, o.ended_at IS NOT NULL AS is_ended, CASE WHEN w.payee_name IS NOT NULL THEN json_build_object(
      'name', w.payee_name, 'masked_doc', w.payee_doc, 'bank', w.payee_bank) END AS payee, ${reasonColumns('w', 'rejection', 'rejection_reason')},
    ${jsonListSql(Prisma.sql`
      SELECT e.kind, e.amount, e.balance_after, ${utc('e.created_at', 'at')}
      FROM ledger_entries e
      WHERE e.account_id = ${accountId}::uuid AND e.ledger = 'available'
        AND (e.kind, e.subject_id) IN (
          VALUES ('withdrawal_held', ${id}::uuid), ('withdrawal_returned', ${id}::uuid)
          UNION ALL SELECT 'payout_returned', r.id FROM payout_returns r
          WHERE r.account_id = ${accountId}::uuid AND r.withdrawal_id = ${id}::uuid)
      ORDER BY e.version`)} AS entries,
    ${jsonListSql(Prisma.sql`
      SELECT g.operation, ${utc('g.created_at', 'at')}, g.response ->> 'state' AS said,
        CASE g.outcome WHEN 'blocked' THEN 'retryable' ELSE g.outcome END AS outcome,
        CASE g.outcome WHEN 'rejected' THEN g.response ->> 'code' END AS rejection_code
      FROM (SELECT * FROM gateway_calls WHERE ${subjectCondition} ORDER BY id LIMIT ${WITHDRAWAL_ROWS_MAX}) g
      ORDER BY g.id`)} AS calls,
    ${jsonListSql(Prisma.sql`
      SELECT ${attemptColumns}
      FROM deliveries d JOIN delivery_attempts a
        ON a.account_id = d.account_id AND a.delivery_id = d.id
      WHERE d.account_id = ${accountId}::uuid AND d.subject_id = ${id}::uuid
      ORDER BY a.created_at LIMIT ${WITHDRAWAL_ROWS_MAX}`)} AS told,
    (SELECT ${utcText('o.created_at')} FROM simulator_orders o
      WHERE w.mode = 'test' AND o.id = ${removeHyphens(id)} AND o.kind = 'payout') AS taken_at,
    w.approval_reason, ${utcText('w.approval_at')} AS approval_at, w.approval_by, w.requested_by,
    CASE WHEN w.approval_due_at IS NOT NULL THEN json_build_object(
      'expires_at', ${utcText('w.approval_due_at')}, 'can_approve', ${canApproveSql(userId)}) END
      AS approval`
  const [found] = await queryRows<WithdrawalHistory & { requested_by: string | null }>(Prisma.sql`
    SELECT ${asJson(columns)}::text AS json FROM withdrawals w JOIN accounts a ON a.id = w.account_id
      JOIN bank_orders o ON o.account_id = w.account_id AND o.id = w.id
    WHERE w.account_id = ${accountId}::uuid AND w.id = ${id}::uuid`)
  if (!found) return null
  const { requested_by, approval_by } = found
  const findPerson = await readPeople([requested_by, approval_by].map(id => [accountId, id]))
  const nameOf = (personId: string | null) => findPerson(accountId, personId)?.name ?? null
  const approval = found.approval && { ...found.approval, requester: nameOf(requested_by) }
  return { ...found, approval, approval_by: nameOf(approval_by) }
}
