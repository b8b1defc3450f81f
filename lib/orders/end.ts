import { type Actor, recordAudit } from '#lib/audit/record.ts'
import { refuse, type TrocoError } from '#lib/core/errors.ts'
import { isUuid, newRoutableId, OPERATOR_ACCOUNT_ID } from '#lib/core/ids.ts'
import { cents, formatReais } from '#lib/core/money.ts'
import { PROPOSAL_ENDED } from '#lib/core/refusals.ts'
import { Prisma, type Tx, transaction } from '#lib/db/client.ts'
import { wake } from '#lib/db/wake.ts'
import { queueMailToOwners } from '#lib/mail/queue.ts'
import {
  type FoundOrder,
  findOrder,
  isEndProposed,
  mayHaveArrived,
  type OrderKey,
  type RulesByKind,
} from '#lib/orders/order.ts'
import type { EndOutcome } from '#lib/orders/states.ts'
import { areTwoAdmins, lockSecondAdmin, queueMailToAdmins } from '#lib/people/approvers.ts'

/** Time without a final outcome after which people may end an order that was sent. */
const SILENT_HOURS = 1

/**
 * Condition that people may end the order `o`: a live one, whose sending began an hour ago and has no outcome, while
 * no worker calls the bank about it. Calls older than the journal count as sent.
 */
export const endableSql = Prisma.sql`o.mode = 'live' AND o.state IN ('waiting', 'placed')
  AND (o.lease IS NULL OR o.due_at <= now()) AND o.attempts > 0
  AND (o.created_at < now() - interval '90 days' OR EXISTS (
    SELECT FROM gateway_calls g
    WHERE g.account_id = o.account_id AND g.subject_id = o.id
      AND g.operation = CASE o.operation WHEN 'payout' THEN 'sendPayout' ELSE 'refundCharge' END
      AND COALESCE(g.outcome, 'unknown') IN ('ok', 'unknown')
      AND g.created_at <= now() - ${SILENT_HOURS} * interval '1 hour'))`

/** Condition that the proposal `proposalId` still stands for the order `o`. */
function standingSql(proposalId: string): Prisma.Sql {
  return Prisma.sql`o.end_id = ${proposalId}::uuid AND ${isEndProposed}`
}

export interface Ending {
  id: string
  outcome: EndOutcome
  reason: string
}

async function requireOrder(id: string): Promise<FoundOrder> {
  const order = isUuid(id) ? await findOrder(id) : null
  if (!order) throw refuse('order_not_found')
  return order
}

/**
 * Proposes how to end an order, and mails all admins. Moves no money, but takes an expired lease away: a worker that
 * was stopped before its call then sends nothing. A later proposal replaces this one, whoever makes it: the other
 * admin then confirms it.
 */
export async function proposeEnd(ending: Ending, by: string): Promise<void> {
  const { id, outcome, reason } = ending
  const order = await requireOrder(id)
  const { accountId } = order
  const isProposed = await transaction(async tx => {
    const proposed = await tx.$executeRaw`
      UPDATE bank_orders o SET end_id = ${newRoutableId(accountId)}::uuid, end_outcome = ${outcome},
        end_reason = ${reason}, end_proposed_by = ${by}::uuid, end_proposed_at = now(), lease = NULL
      WHERE o.account_id = ${accountId}::uuid AND o.id = ${id}::uuid AND ${endableSql}`
    if (proposed === 0) return false
    await recordEnd(tx, order, ending, 'order.end_proposed', { type: 'user', id: by })
    await mailEnd(tx, order, ending, 'orderEndProposed')
    return true
  })
  if (!isProposed) throw await explainNotEndable(id)
}

interface Confirmation {
  id: string
  /** The proposal that the second admin has seen. */
  proposalId: string
  by: string
}

/**
 * Ends an order as another admin proposed. Both admins stay locked until the commit, so that neither loses the role
 * meanwhile. Called twice, the second call is refused.
 */
export async function confirmEnd(
  { id, proposalId, by }: Confirmation,
  byKind: RulesByKind,
): Promise<void> {
  const order = await requireOrder(id)
  const isEnded = await transaction(async tx => {
    const proposal = await findProposal(tx, order, proposalId)
    if (!(await lockSecondAdmin(tx, proposal.by, by))) throw refuse('end_by_other')
    const { outcome, reason } = proposal
    return endOrder(tx, order, { id, outcome, reason }, byKind, {
      actor: { type: 'user', id: by },
      condition: standingSql(proposalId),
      assignments: Prisma.sql`end_confirmed_by = ${by}::uuid,`,
    })
  })
  if (!isEnded) throw await explainNotEndable(id)
  wake('deliveries')
}

async function findProposal(tx: Tx, { accountId, id }: OrderKey, proposalId: string) {
  const [proposal] = isUuid(proposalId)
    ? await tx.$queryRaw<{ outcome: EndOutcome; reason: string; by: string }[]>`
        SELECT o.end_outcome AS outcome, o.end_reason AS reason, o.end_proposed_by AS by
        FROM bank_orders o WHERE o.account_id = ${accountId}::uuid AND o.id = ${id}::uuid
          AND o.ended_at IS NULL AND ${standingSql(proposalId)}`
    : []
  if (proposal) return proposal
  throw refuse('end_refused', PROPOSAL_ENDED)
}

/** Ends an order at the command line, for an installation without two admins who could do it. */
export async function endAlone(ending: Ending, byKind: RulesByKind): Promise<void> {
  const { id, outcome, reason } = ending
  const order = await requireOrder(id)
  const isEnded = await transaction(async tx => {
    if (await areTwoAdmins(tx)) {
      const advice = 'one proposes and another confirms on its page'
      throw refuse('end_refused', `There are two admins who can end it: ${advice}`)
    }
    return endOrder(tx, order, ending, byKind, {
      actor: { type: 'command_line' },
      condition: Prisma.sql`true`,
      assignments: Prisma.sql`end_id = ${newRoutableId(order.accountId)}::uuid, end_outcome = ${outcome},
        end_reason = ${reason}, end_proposed_by = NULL, end_proposed_at = now(),`,
    })
  })
  if (!isEnded) throw await explainNotEndable(id)
  wake('deliveries')
}

/**
 * Ends an order in the caller's transaction, with the audit record and the mails. As sent, the money leaves; as not
 * sent, it is where it was before the order. One conditional update: the bank's own answer, another end or this one
 * again moves the money only if none did before. Returns false if it may not be ended.
 */
async function endOrder(
  tx: Tx,
  order: FoundOrder,
  ending: Ending,
  byKind: RulesByKind,
  decision: { actor: Actor; condition: Prisma.Sql; assignments: Prisma.Sql },
): Promise<boolean> {
  const { actor, condition, assignments } = decision
  const endByPeople = byKind[order.kind]?.endByPeople
  if (!endByPeople) return false
  const isEnded = await endByPeople(order, ending.outcome, {
    tx,
    condition: Prisma.sql`${endableSql} AND ${condition}`,
    assignments: Prisma.sql`${assignments} ended_at = now(), end_ask_at = now() + interval '1 minute',`,
  })
  if (!isEnded) return false
  // Read after the update: since then, no worker can begin another attempt.
  if (ending.outcome === 'not_sent' && (await mayHaveArrived(order, tx)))
    throw refuse(
      'end_refused',
      'The last attempt may still reach the bank: try again in 10 minutes. Of a suspended account, nothing is sent',
    )
  await recordEnd(tx, order, ending, 'order.ended', actor)
  await mailEnd(tx, order, ending, 'orderEnded')
  return true
}

/** Returns why the order cannot be ended. */
async function explainNotEndable(id: string): Promise<TrocoError> {
  const { state, lease } = await requireOrder(id)
  if (['done', 'refused'].includes(state))
    return refuse('end_refused', 'This order has already ended')
  if (lease) return refuse('end_refused', 'The bank is being asked right now: try again soon')
  return refuse(
    'end_refused',
    'Only a live order that was sent an hour ago, and has no outcome, can be ended',
  )
}

function recordEnd(
  tx: Tx,
  { accountId, kind, amount }: FoundOrder,
  { id, outcome, reason }: Ending,
  action: 'order.end_proposed' | 'order.ended',
  actor: Actor,
): Promise<void> {
  const after = { kind, mode: 'live', amount: cents(amount), outcome }
  const of = accountId === OPERATOR_ACCOUNT_ID ? {} : { accountId }
  return recordAudit(tx, { actor, action, ...of, target: id, reason, after })
}

/** Mails all admins; once it has ended, also the owners of the account. */
async function mailEnd(
  tx: Tx,
  { accountId, id, kind, amount }: FoundOrder,
  { outcome, reason }: Ending,
  mail: 'orderEndProposed' | 'orderEnded',
): Promise<void> {
  const [places] = await tx.$queryRaw<
    { account: string | null; chargeId: string; itemId: string }[]
  >`
    SELECT (SELECT name FROM accounts WHERE id = ${accountId}::uuid) AS account,
      (SELECT charge_id FROM refunds WHERE account_id = ${accountId}::uuid AND id = ${id}::uuid) AS "chargeId",
      (SELECT item_id FROM unmatched_returns WHERE account_id = ${accountId}::uuid AND id = ${id}::uuid)
        AS "itemId"`
  const { account = null, chargeId, itemId } = places ?? {}
  const messageTo = (path: string, locale: string | null) => ({
    kind: mail,
    ordered: kind,
    account: account ?? '',
    reason,
    path,
    decided: outcome,
    amount: `R$ ${formatReais(cents(amount), locale ?? 'pt-BR')}`,
  })
  const isOfOperator = kind === 'return'
  const staffPath = isOfOperator
    ? `/admin/reconciliation/${itemId}`
    : `/admin/accounts/${accountId}?charge=${id}`
  await queueMailToAdmins(tx, ({ locale }) => messageTo(staffPath, locale))
  if (mail === 'orderEndProposed' || isOfOperator) return
  const path = kind === 'refund' ? `/live/charges/${chargeId}` : `/live/withdrawals/${id}`
  await queueMailToOwners(tx, accountId, (_name, { locale }) => messageTo(path, locale))
}
