// Over the line limit: two admins, or the command line, end a withdrawal by one rule and one statement.

import { type Actor, recordAudit } from '#lib/audit/record.ts'
import { mayArrive } from '#lib/banks/journal.ts'
import { refuse, type TrocoError } from '#lib/core/errors.ts'
import { isUuid, newRoutableId } from '#lib/core/ids.ts'
import { cents, formatReais } from '#lib/core/money.ts'
import { PROPOSAL_ENDED } from '#lib/core/refusals.ts'
import { db, Prisma, type Tx } from '#lib/db/client.ts'
import { transaction } from '#lib/db/transaction.ts'
import { wake } from '#lib/db/wake.ts'
import { queueMailToOwners } from '#lib/mail/owners.ts'
import { queueMail } from '#lib/mail/queue.ts'
import { isEndProposed } from '#lib/orders/queue.ts'
import { areTwoAdmins, listAdmins, lockSecondAdmin } from '#lib/people/admins.ts'
import { approveWithdrawal, rejectWithdrawal } from '#lib/withdrawals/outcome.ts'
import type { Ending, WithdrawalRow } from '#lib/withdrawals/schema.ts'
import type { EndOutcome } from '#lib/withdrawals/states.ts'

/** Time without a final outcome after which people may end a withdrawal that was sent. */
const SILENT_HOURS = 1

/**
 * Condition that people may end the order `o` of a withdrawal: a live one, whose sending began an hour ago and has
 * no outcome, while no worker calls the bank about it. Calls older than the journal count as sent.
 */
export const endableSql = Prisma.sql`o.kind = 'withdrawal' AND o.mode = 'live' AND o.state IN ('waiting', 'placed')
  AND (o.lease IS NULL OR o.due_at <= now()) AND o.attempts > 0
  AND (o.created_at < now() - interval '90 days' OR EXISTS (
    SELECT FROM gateway_calls g
    WHERE g.account_id = o.account_id AND g.subject_id = o.id AND g.operation = 'sendPayout'
      AND COALESCE(g.outcome, 'unknown') IN ('ok', 'unknown')
      AND g.created_at <= now() - ${SILENT_HOURS} * interval '1 hour'))`

/** Condition that the proposal `proposalId` still stands for the order `o`. */
function standingSql(proposalId: string): Prisma.Sql {
  return Prisma.sql`o.end_id = ${proposalId}::uuid AND ${isEndProposed}`
}

/**
 * Proposes how to end a withdrawal, and mails all admins. Moves no money, but takes an expired lease
 * away: a worker that was stopped before its call then sends nothing. A later proposal replaces
 * this one, whoever makes it: the other admin then confirms it.
 */
export async function proposeEnd(ending: Ending, by: string): Promise<void> {
  const { accountId, id, outcome, reason } = ending
  const isProposed =
    [accountId, id].every(isUuid) &&
    (await transaction(async tx => {
      const [row] = await tx.$queryRaw<{ amount: bigint }[]>`
        UPDATE bank_orders o SET end_id = ${newRoutableId(accountId)}::uuid, end_outcome = ${outcome},
          end_reason = ${reason}, end_proposed_by = ${by}::uuid, end_proposed_at = now(), lease = NULL
        WHERE o.account_id = ${accountId}::uuid AND o.id = ${id}::uuid AND ${endableSql}
        RETURNING o.amount`
      if (!row) return false
      const amount = cents(row.amount)
      const after = { mode: 'live', amount, outcome }
      const actor = { type: 'user', id: by } as const
      const action = 'withdrawal.end_proposed'
      await recordAudit(tx, { actor, action, accountId, target: id, reason, after })
      await mailEnd(tx, { ...ending, amount }, 'withdrawalEndProposed')
      return true
    }))
  if (!isProposed) throw await explainNotEndable(accountId, id)
}

interface Confirmation {
  accountId: string
  id: string
  /** The proposal that the second admin has seen. */
  proposalId: string
  by: string
}

/**
 * Ends a withdrawal as another admin proposed. Both admins stay locked until the commit, so that
 * neither loses the role meanwhile. Called twice, the second call is refused.
 */
export async function confirmEnd({ accountId, id, proposalId, by }: Confirmation): Promise<void> {
  if (![accountId, id, proposalId].every(isUuid)) throw refuse('withdrawal_not_found')
  const isEnded = await transaction(async tx => {
    const proposal = await findProposal(tx, accountId, id, proposalId)
    if (!(await lockSecondAdmin(tx, proposal.by, by))) throw refuse('end_by_other')
    const { outcome, reason } = proposal
    const decision = {
      actor: { type: 'user', id: by } as const,
      condition: standingSql(proposalId),
      assignments: Prisma.sql`end_confirmed_by = ${by}::uuid,`,
    }
    return (await endWithdrawal(tx, { accountId, id, outcome, reason }, decision)) !== null
  })
  if (!isEnded) throw await explainNotEndable(accountId, id)
  wake('deliveries')
}

async function findProposal(tx: Tx, accountId: string, id: string, proposalId: string) {
  const [proposal] = await tx.$queryRaw<{ outcome: EndOutcome; reason: string; by: string }[]>`
    SELECT o.end_outcome AS outcome, o.end_reason AS reason, o.end_proposed_by AS by
    FROM bank_orders o WHERE o.account_id = ${accountId}::uuid AND o.id = ${id}::uuid
      AND o.ended_at IS NULL AND ${standingSql(proposalId)}`
  if (proposal) return proposal
  throw refuse('end_refused', PROPOSAL_ENDED)
}

/** Ends a withdrawal at the command line, for an installation without two admins who could do it. */
export async function endAlone(ending: Ending): Promise<void> {
  const { accountId, id, outcome, reason } = ending
  const isEnded =
    isUuid(id) &&
    (await transaction(async tx => {
      if (await areTwoAdmins(tx)) {
        const advice = 'one proposes and another confirms on the page of the account'
        throw refuse('end_refused', `There are two admins who can end it: ${advice}`)
      }
      const decision = {
        actor: { type: 'command_line' } as const,
        condition: Prisma.sql`true`,
        assignments: Prisma.sql`end_id = ${newRoutableId(accountId)}::uuid, end_outcome = ${outcome},
          end_reason = ${reason}, end_proposed_by = NULL, end_proposed_at = now(),`,
      }
      return (await endWithdrawal(tx, ending, decision)) !== null
    }))
  if (!isEnded) throw await explainNotEndable(accountId, id)
  wake('deliveries')
}

/**
 * Ends a withdrawal in the caller's transaction, with the audit record and the mails. As sent, the held
 * amount leaves; as not sent, it returns. One conditional update: the bank's own answer, another end
 * or this one again moves the money only if none did before. Returns null if it may not be ended.
 */
async function endWithdrawal(
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
    decision: {
      condition: Prisma.sql`${endableSql} AND ${condition}`,
      ofOrder: Prisma.sql`${assignments} ended_at = now(),
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
async function explainNotEndable(accountId: string, id: string): Promise<TrocoError> {
  const where = { accountId, id, kind: 'withdrawal' }
  const found = [accountId, id].every(isUuid) && (await db().bankOrder.findFirst({ where }))
  if (!found) return refuse('withdrawal_not_found')
  if (['done', 'refused'].includes(found.state))
    return refuse('end_refused', 'This withdrawal has already ended')
  if (found.lease) return refuse('end_refused', 'The bank is being asked right now: try again soon')
  return refuse(
    'end_refused',
    'Only a live withdrawal that was sent an hour ago, and has no outcome, can be ended',
  )
}

/** Mails all admins; once it has ended, also the owners of the account. */
async function mailEnd(
  tx: Tx,
  { accountId, id, outcome, reason, amount }: Ending & { amount: number },
  kind: 'withdrawalEndProposed' | 'withdrawalEnded',
): Promise<void> {
  const { name: account } = await tx.account.findUniqueOrThrow({ where: { id: accountId } })
  const messageTo = (path: string, locale: string | null) => ({
    ...{ kind, account, reason, path, decided: outcome },
    amount: `R$ ${formatReais(amount, locale ?? 'pt-BR')}`,
  })
  const staffPath = `/admin/accounts/${accountId}?charge=${id}`
  for (const admin of await listAdmins(tx))
    await queueMail(tx, admin, messageTo(staffPath, admin.locale))
  if (kind === 'withdrawalEnded')
    await queueMailToOwners(tx, accountId, (_name, { locale }) =>
      messageTo(`/live/withdrawals/${id}`, locale),
    )
}
