import type { Actor } from '#lib/base/audit/record.ts'
import { recordAudit } from '#lib/base/audit/record.ts'
import { db, Prisma, type Tx } from '#lib/base/db/client.ts'
import { refuse, type TrocoError } from '#lib/base/errors.ts'
import { isUuid } from '#lib/base/ids.ts'
import { notWaiting } from '#lib/rooms/withdrawals/approval.ts'
import { mailEnd } from '#lib/rooms/withdrawals/mail-end.ts'
import { isEndProposed } from '#lib/rooms/withdrawals/queries.ts'
import type { Ending, WithdrawalRow } from '#lib/rooms/withdrawals/schema.ts'
import { approveWithdrawal, rejectWithdrawal } from '#lib/rooms/withdrawals/settle.ts'
import { mayArrive } from '#lib/services/gateway/journal.ts'

/** Time without a final outcome after which people may end a withdrawal that was sent. */
const SILENT_HOURS = 1

/**
 * Condition that people may end withdrawal `w`: a live one, whose sending began an hour ago and has no
 * outcome, while no worker calls the bank about it. Calls older than the journal count as sent.
 */
export const endableSql = Prisma.sql`w.mode = 'live' AND w.status = 'pending' AND ${notWaiting}
  AND (w.lease IS NULL OR w.due_at <= now()) AND w.attempts > 0
  AND (w.created_at < now() - interval '90 days' OR EXISTS (
    SELECT FROM gateway_calls g
    WHERE g.account_id = w.account_id AND g.subject_id = w.id AND g.operation = 'sendPayout'
      AND COALESCE(g.outcome, 'unknown') IN ('ok', 'unknown')
      AND g.created_at <= now() - ${SILENT_HOURS} * interval '1 hour'))`

/** Condition that the proposal `proposalId` still stands for withdrawal `w`. */
export function standingSql(proposalId: string): Prisma.Sql {
  return Prisma.sql`w.end_id = ${proposalId}::uuid AND ${isEndProposed}`
}

/**
 * Ends a withdrawal in the caller's transaction, with the audit record and the mails. As sent, the held
 * amount leaves; as not sent, it returns. One conditional update: the bank's own answer, another end
 * or this one again moves the money only if none did before. Returns null if it may not be ended.
 */
export async function endWithdrawal(
  tx: Tx,
  { accountId, id: withdrawalId, outcome, reason }: Ending,
  {
    actor,
    condition,
    assignments,
  }: { actor: Actor; condition: Prisma.Sql; assignments: Prisma.Sql },
): Promise<WithdrawalRow | null> {
  const settlement = {
    ...{ tx, accountId, withdrawalId },
    approval: {
      condition: Prisma.sql`${endableSql} AND ${condition}`,
      assignments: Prisma.sql`${assignments} ended_at = now(),
        end_ask_at = now() + interval '1 minute',`,
    },
  }
  const row =
    outcome === 'sent'
      ? await approveWithdrawal({ ...settlement, endToEndId: null })
      : await rejectWithdrawal({ ...settlement, reason: { code: 'ended_unsent', params: {} } })
  if (!row) return null
  // Read after the update: since then, no worker can begin another attempt.
  const subject = { accountId, id: withdrawalId }
  if (outcome === 'not_sent' && (await mayArrive(subject, 'sendPayout', tx)))
    throw refuse(
      'end_refused',
      'The last attempt may still reach the bank: try again in 10 minutes. Of a suspended account, nothing is sent',
    )
  const after = { mode: row.mode, amount: row.amount, outcome }
  const action = 'withdrawal.ended'
  await recordAudit(tx, { actor, action, accountId, target: withdrawalId, reason, after })
  const ended = { accountId, id: withdrawalId, outcome, reason, amount: row.amount }
  await mailEnd(tx, ended, 'withdrawalEnded')
  return row
}

/** Returns why the withdrawal cannot be ended. */
export async function explainNotEndable(accountId: string, id: string): Promise<TrocoError> {
  const where = { accountId, id }
  const found = [accountId, id].every(isUuid) && (await db().withdrawal.findFirst({ where }))
  if (!found) return refuse('withdrawal_not_found')
  if (found.status !== 'pending') return refuse('end_refused', 'This withdrawal has already ended')
  if (found.lease) return refuse('end_refused', 'The bank is being asked right now: try again soon')
  return refuse(
    'end_refused',
    'Only a live withdrawal that was sent an hour ago, and has no outcome, can be ended',
  )
}
