import { isDeepStrictEqual } from 'node:util'
import { lockMembers, readVouchers, requireMemberPermission } from '#lib/accounts/members.ts'
import type { ApprovalRule } from '#lib/accounts/schema.ts'
import { type Actor, recordAudit } from '#lib/audit/record.ts'
import { refuse } from '#lib/core/errors.ts'
import { isUuid, newId } from '#lib/core/ids.ts'
import { cents } from '#lib/core/money.ts'
import { type Tx, transaction } from '#lib/db/client.ts'
import { queueMailToOwners } from '#lib/mail/queue.ts'
import { barredSql, inForceSql, lockApprover } from '#lib/people/approvers.ts'

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
    await requireMemberPermission(tx, { accountId, userId: actor.id }, 'settings:write')
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
    kind: 'approvalChange',
    account,
    requester: name,
    path,
  }))
}

/**
 * Sets the rule that waits for confirmation. An owner confirms only what another owner requested; an
 * admin any but their own and that of a member they answer for. `id` names the change that the person
 * has seen.
 */
export function confirmApprovalRule(
  accountId: string,
  id: string,
  actor: Member,
  isAdmin = false,
): Promise<void> {
  return transaction(async tx => {
    if (!isUuid(accountId)) throw refuse('account_not_found')
    await lockMembers(tx, accountId)
    const { isInForce: _, ...old } = await readRule(tx, accountId)
    const [change] = isUuid(id)
      ? await tx.$queryRaw<(StoredRule & { barred: string[] })[]>`
          SELECT new_keys, above, day_above, barred FROM approval_changes
          WHERE account_id = ${accountId}::uuid AND id = ${id}::uuid AND expires_at > now()`
      : []
    if (!change) throw refuse('approval_ended', 'This change no longer waits for confirmation')
    await requireOtherPerson(tx, accountId, actor, { barred: change.barred, isAdmin })
    await deleteChange(tx, accountId)
    await storeRule(tx, accountId, old, toRule(change), actor)
  })
}

/** Withdraws the change that waits for confirmation, if any: the rule stays. Any owner may do it. */
export function cancelApprovalRule(accountId: string, actor: Member): Promise<void> {
  return transaction(async tx => {
    await lockMembers(tx, accountId)
    await requireMemberPermission(tx, { accountId, userId: actor.id }, 'settings:write')
    if ((await deleteChange(tx, accountId)) === 0) return
    await recordAudit(tx, { actor, action: 'account.approval_change_canceled', accountId })
  })
}

/** An admin need not be a member; one who is or was has the same vouchers here as anywhere. */
async function requireOtherPerson(
  tx: Tx,
  accountId: string,
  actor: Member,
  { barred, isAdmin }: { barred: string[]; isAdmin: boolean },
): Promise<void> {
  if (!isAdmin) await requireMemberPermission(tx, { accountId, userId: actor.id }, 'settings:write')
  const mayConfirm = isAdmin || (await lockApprover(tx, accountId, actor.id))
  const ids = (await readVouchers(tx, accountId, [actor.id])).get(actor.id) ?? []
  if (!mayConfirm || ids.some(id => barred.includes(id))) throw refuse('approval_by_other')
}

interface StoredRule {
  new_keys: boolean
  above: bigint | null
  day_above: bigint | null
}

async function readRule(tx: Tx, accountId: string): Promise<ApprovalRule & { isInForce: boolean }> {
  const [row] = await tx.$queryRaw<(StoredRule & { isInForce: boolean })[]>`
    SELECT a.approval_new_keys AS new_keys, a.approval_above AS above,
      a.approval_day_above AS day_above, ${inForceSql} AS "isInForce"
    FROM accounts a WHERE a.id = ${accountId}::uuid`
  if (!row) throw refuse('account_not_found')
  return { ...toRule(row), isInForce: row.isInForce }
}

/** Deletes the change that waits for confirmation. Returns 0 if none did. */
async function deleteChange(tx: Tx, accountId: string): Promise<number> {
  return (await tx.approvalChange.deleteMany({ where: { accountId } })).count
}

async function storeRule(
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

const toAudit = ({ new_keys, above, day_above }: ApprovalRule) => ({
  approval_new_keys: new_keys,
  approval_above: above,
  approval_day_above: day_above,
})

const toRule = ({ new_keys, above, day_above }: StoredRule): ApprovalRule => ({
  new_keys,
  above: above === null ? null : cents(above),
  day_above: day_above === null ? null : cents(day_above),
})
