import {
  deleteChange,
  readRule,
  type StoredRule,
  storeRule,
  toRule,
} from '#lib/accounts/approval-rule.ts'
import { lockMembers, requirePermission } from '#lib/accounts/owners.ts'
import { readVouchers } from '#lib/accounts/vouchers.ts'
import { recordAudit } from '#lib/audit/record.ts'
import { refuse } from '#lib/core/errors.ts'
import { isUuid } from '#lib/core/ids.ts'
import type { Tx } from '#lib/db/client.ts'
import { transaction } from '#lib/db/client.ts'
import { lockApprover } from '#lib/people/approvers.ts'

type Member = { type: 'user'; id: string }

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
    await requirePermission(tx, { accountId, userId: actor.id }, 'settings:write')
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
  if (!isAdmin) await requirePermission(tx, { accountId, userId: actor.id }, 'settings:write')
  const mayConfirm = isAdmin || (await lockApprover(tx, accountId, actor.id))
  const ids = (await readVouchers(tx, accountId, [actor.id])).get(actor.id) ?? []
  if (!mayConfirm || ids.some(id => barred.includes(id))) throw refuse('approval_by_other')
}
