import { recordAudit } from '#lib/base/audit/record.ts'
import { transaction } from '#lib/base/db/transaction.ts'
import { isUuid, newRoutableId } from '#lib/base/ids.ts'
import { cents } from '#lib/base/money.ts'
import { endableSql, explainNotEndable } from '#lib/rooms/withdrawals/end.ts'
import { mailEnd } from '#lib/rooms/withdrawals/mail-end.ts'
import type { Ending } from '#lib/rooms/withdrawals/schema.ts'

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
        UPDATE withdrawals w SET end_id = ${newRoutableId(accountId)}::uuid, end_outcome = ${outcome},
          end_reason = ${reason}, end_proposed_by = ${by}::uuid, end_proposed_at = now(), lease = NULL
        WHERE w.account_id = ${accountId}::uuid AND w.id = ${id}::uuid AND ${endableSql}
        RETURNING w.amount`
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
