import { readPeople } from '#lib/audit/people.ts'
import { refuse } from '#lib/core/errors.ts'
import { removeHyphens } from '#lib/core/ids.ts'
import type { Mode } from '#lib/core/mode.ts'
import { canApproveSql } from '#lib/dashboard/approvals.ts'
import { attemptColumns } from '#lib/dashboard/attempt-step.ts'
import type {
  ApprovalReason,
  AttemptStep,
  RejectionFields,
  WithdrawalStep,
  WithdrawalTimelineData,
} from '#lib/dashboard/timeline-wire.ts'
import { Prisma } from '#lib/db/client.ts'
import { asJson, queryRows, reasonColumns, utc, utcText } from '#lib/db/sql.ts'
import { findWithdrawal } from '#lib/withdrawals/queries.ts'
import { createWithdrawalReceiptUrl } from '#lib/withdrawals/receipt-url.ts'
import type { WithdrawalRow } from '#lib/withdrawals/schema.ts'
import { withdrawalToWire } from '#lib/withdrawals/wire.ts'

type Call = Extract<WithdrawalStep, { what: 'call' }>
type Entry = Extract<WithdrawalStep, { what: 'held' | 'returned' }>

interface WithdrawalHistory extends RejectionFields {
  dict_key: string
  attempts: number
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
const ROWS_MAX = 200

export async function readWithdrawalTimeline(
  accountId: string,
  mode: Mode,
  idOrReference: string,
  userId: string | null,
): Promise<WithdrawalTimelineData> {
  const row = await findWithdrawal(accountId, mode, idOrReference)
  const history = row && (await readHistory(accountId, row.id, userId))
  if (!history) throw refuse('withdrawal_not_found')
  return {
    withdrawal: withdrawalToWire(row),
    dict_key: history.dict_key,
    payee: history.payee,
    steps: buildSteps(row, history),
    has_receipt: (await createWithdrawalReceiptUrl(accountId, row)) !== null,
    approval: history.approval,
  }
}

function buildSteps(row: WithdrawalRow, history: WithdrawalHistory): WithdrawalStep[] {
  const entry = (kind: string) => history.entries.find(one => one.kind === kind)
  const [held, returned] = [entry('withdrawal_held'), entry('withdrawal_returned')]
  const retries = history.calls.length > 0 ? 0 : history.attempts - 1
  const end: 'ended_sent' | 'approved' = history.is_ended ? 'ended_sent' : 'approved'
  return [
    { what: 'requested', at: row.created_at },
    ...(held ? [{ what: 'held' as const, at: held.at, balance_after: held.balance_after }] : []),
    ...buildApprovalSteps(row, history),
    ...mergeRepeatedCalls(history.calls),
    ...(history.taken_at ? [{ what: 'sent' as const, at: history.taken_at }] : []),
    ...(retries > 0 ? [{ what: 'asked_again' as const, at: null, times: retries }] : []),
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
        ...{ at, amount, balance_after },
      })),
    ...history.told.map(one => ({ what: 'told' as const, ...one })),
  ]
}

function buildApprovalSteps(row: WithdrawalRow, history: WithdrawalHistory): WithdrawalStep[] {
  const { approval_reason: reason, approval_by: by, approval_at: at, rejection_code } = history
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

async function readHistory(
  accountId: string,
  id: string,
  userId: string | null,
): Promise<WithdrawalHistory | null> {
  const subjectCondition = Prisma.sql`account_id = ${accountId}::uuid AND subject_id = ${id}::uuid`
  const jsonListSql = (from: Prisma.Sql) =>
    Prisma.sql`(SELECT COALESCE(json_agg(r), '[]') FROM (${from}) r)`
  const columns = Prisma.sql`
    w.dict_key, o.attempts, o.ended_at IS NOT NULL AS is_ended, CASE WHEN w.payee_name IS NOT NULL THEN json_build_object(
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
      FROM (SELECT * FROM gateway_calls WHERE ${subjectCondition} ORDER BY id LIMIT ${ROWS_MAX}) g
      ORDER BY g.id`)} AS calls,
    ${jsonListSql(Prisma.sql`
      SELECT ${attemptColumns}
      FROM deliveries d JOIN delivery_attempts a
        ON a.account_id = d.account_id AND a.delivery_id = d.id
      WHERE d.account_id = ${accountId}::uuid AND d.subject_id = ${id}::uuid
      ORDER BY a.created_at LIMIT ${ROWS_MAX}`)} AS told,
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
