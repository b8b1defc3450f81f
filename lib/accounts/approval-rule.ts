import { isDeepStrictEqual } from 'node:util'
import type { ApprovalRule } from '#lib/accounts/schema.ts'
import { type Actor, recordAudit } from '#lib/audit/record.ts'
import { refuse } from '#lib/core/errors.ts'
import { cents } from '#lib/core/money.ts'
import type { Tx } from '#lib/db/client.ts'
import { queueMailToRoles } from '#lib/mail/queue.ts'
import { APPROVER_ROLES, inForceSql, settlingSql } from '#lib/people/approvers.ts'

export interface StoredRule {
  new_keys: boolean
  above: bigint | null
  day_above: bigint | null
}

export async function readRule(
  tx: Tx,
  accountId: string,
): Promise<ApprovalRule & { isInForce: boolean }> {
  const [row] = await tx.$queryRaw<(StoredRule & { isInForce: boolean })[]>`
    SELECT a.approval_new_keys AS new_keys, a.approval_above AS above,
      a.approval_day_above AS day_above, ${inForceSql} AS "isInForce"
    FROM accounts a WHERE a.id = ${accountId}::uuid`
  if (!row) throw refuse('account_not_found')
  return { ...toRule(row), isInForce: row.isInForce }
}

/** Deletes the change that waits for confirmation. Returns 0 if none did. */
export async function deleteChange(tx: Tx, accountId: string): Promise<number> {
  return (await tx.approvalChange.deleteMany({ where: { accountId } })).count
}

export async function storeRule(
  tx: Tx,
  accountId: string,
  old: ApprovalRule,
  rule: ApprovalRule,
  actor: Actor,
): Promise<void> {
  const change = { before: toAudit(old), after: toAudit(rule) }
  if (isDeepStrictEqual(change.before, change.after)) return
  const { new_keys: approvalNewKeys, above: approvalAbove, day_above: approvalDayAbove } = rule
  const data = { approvalNewKeys, approvalAbove, approvalDayAbove }
  await tx.account.update({ where: { id: accountId }, data })
  await recordAudit(tx, { actor, action: 'account.approval_changed', accountId, ...change })
}

export const toAudit = ({ new_keys, above, day_above }: ApprovalRule) => ({
  approval_new_keys: new_keys,
  approval_above: above,
  approval_day_above: day_above,
})

export const toRule = ({ new_keys, above, day_above }: StoredRule): ApprovalRule => ({
  new_keys,
  above: above === null ? null : cents(above),
  day_above: day_above === null ? null : cents(day_above),
})

/**
 * Keeps a rule that is in force for as long as a new role needs to count. For each change of who may
 * approve, in its transaction: a role that is taken and given again then leaves no gap.
 */
export async function keepApprovalInForce(tx: Tx, accountId: string): Promise<void> {
  await tx.$executeRaw`
    UPDATE accounts a
    SET approval_kept_until = GREATEST(a.approval_kept_until, now() + ${settlingSql})
    WHERE a.id = ${accountId}::uuid AND ${inForceSql}`
}

/** Informs the members who may approve withdrawals about another one; does nothing for other roles. */
export async function mailNewApprover(
  tx: Tx,
  accountId: string,
  { userId, role }: { userId: string; role: string },
): Promise<void> {
  if (!APPROVER_ROLES.some(name => name === role)) return
  const { email: member } = await tx.user.findUniqueOrThrow({ where: { id: userId } })
  await queueMailToRoles(tx, accountId, APPROVER_ROLES, account => ({
    ...{ kind: 'approverAdded', account, member },
  }))
}
