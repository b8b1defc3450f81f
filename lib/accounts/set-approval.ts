import { deleteChange, readRule, storeRule, toAudit } from '#lib/accounts/approval-rule.ts'
import { lockMembers, requirePermission } from '#lib/accounts/owners.ts'
import type { ApprovalRule } from '#lib/accounts/schema.ts'
import { recordAudit } from '#lib/audit/record.ts'
import { newId } from '#lib/core/ids.ts'
import type { Tx } from '#lib/db/client.ts'
import { transaction } from '#lib/db/client.ts'
import { queueMailToOwners } from '#lib/mail/queue.ts'
import { barredSql } from '#lib/people/approvers.ts'

/** Time in which a second owner or an admin may confirm a weaker rule. */
const CHANGE_HOURS = 24

type Member = { type: 'user'; id: string }

/**
 * Sets the rule at once if it asks for approval of all that the old rule did, or if no second member
 * could approve anyway. A weaker rule only waits for another owner or an admin; the old one applies.
 */
export function setApprovalRule(
  accountId: string,
  rule: ApprovalRule,
  actor: Member,
): Promise<'set' | 'waiting'> {
  return transaction(async tx => {
    await lockMembers(tx, accountId)
    await requirePermission(tx, { accountId, userId: actor.id }, 'settings:write')
    const { isInForce, ...old } = await readRule(tx, accountId)
    await deleteChange(tx, accountId)
    if (isInForce && isWeaker(old, rule)) {
      await addChange(tx, accountId, rule, actor)
      return 'waiting'
    }
    await storeRule(tx, accountId, old, rule, actor)
    return 'set'
  })
}

function isWeaker(old: ApprovalRule, rule: ApprovalRule): boolean {
  const isRaised = (from: number | null, to: number | null) =>
    from !== null && (to === null || to > from)
  return (
    isRaised(old.above, rule.above) ||
    isRaised(old.day_above, rule.day_above) ||
    (old.new_keys && !rule.new_keys)
  )
}

async function addChange(
  tx: Tx,
  accountId: string,
  rule: ApprovalRule,
  actor: Member,
): Promise<void> {
  const { new_keys, above, day_above } = rule
  await tx.$executeRaw`
    INSERT INTO approval_changes (account_id, id, new_keys, above, day_above, requested_by, barred,
      expires_at)
    SELECT a.id, ${newId()}::uuid, ${new_keys}, ${above}::bigint, ${day_above}::bigint,
      ${actor.id}::uuid, ${barredSql([actor.id])}, now() + ${CHANGE_HOURS} * interval '1 hour'
    FROM accounts a WHERE a.id = ${accountId}::uuid`
  const action = 'account.approval_change_requested'
  await recordAudit(tx, { actor, action, accountId, after: toAudit(rule) })
  const { name } = await tx.user.findUniqueOrThrow({ where: { id: actor.id } })
  const path = '/live/settings'
  await queueMailToOwners(tx, accountId, account => ({
    ...{ kind: 'approvalChange', account, requester: name, path },
  }))
}
