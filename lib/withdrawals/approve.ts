import { recordAction } from '#lib/audit/record.ts'
import { refuse, type TrocoError } from '#lib/core/errors.ts'
import { isUuid } from '#lib/core/ids.ts'
import type { Mode } from '#lib/core/mode.ts'
import { db, Prisma, transaction } from '#lib/db/client.ts'
import { joinCtes, queryRows } from '#lib/db/sql.ts'
import { wake } from '#lib/db/wake.ts'
import { lockDisputes } from '#lib/ledger/owed.ts'
import { lockHeldSql, releaseOrdersSql } from '#lib/orders/order.ts'
import { approverRows, lockApprover, mayApproveSql } from '#lib/people/approvers.ts'
import { findWithdrawal, withdrawalAsJson } from '#lib/withdrawals/queries.ts'
import type { WithdrawalRow } from '#lib/withdrawals/schema.ts'

export interface Decision {
  accountId: string
  mode: Mode
  id: string
  /** Member who decides. */
  by: string
}

/**
 * Releases a waiting withdrawal to the worker, in one statement with the audit record: of concurrent
 * decisions and the expiry, one takes effect. The approver's role is locked before and until commit.
 * Refused while less is held than is disputed. Approving an approved withdrawal again changes nothing.
 */
export async function approveRequest(decision: Decision): Promise<WithdrawalRow> {
  const { accountId, mode, id, by } = decision
  if (!isUuid(id)) throw refuse('withdrawal_not_found')
  const row = await transaction(async tx => {
    if (!(await lockApprover(tx, accountId, by))) return null
    const [released] = await queryRows<WithdrawalRow>(releaseSql(decision), tx)
    if (!released) return null
    const { held, disputed } = await lockDisputes(tx, accountId, mode)
    if (held < disputed) throw refuse('dispute_not_covered')
    return released
  })
  if (!row) return explainUnchanged(decision)
  wake('orders')
  return row
}

function releaseSql({ accountId, mode, id, by }: Decision): Prisma.Sql {
  const noted = recordAction({ action: 'withdrawal.approved', by }, 'released')
  return Prisma.sql`
    WITH ${joinCtes({
      held: lockHeldSql({ accountId, id }),
      released: Prisma.sql`
        UPDATE withdrawals w SET approval_due_at = NULL, approval_by = ${by}::uuid,
          approval_at = now(), updated_at = now()
        FROM held h JOIN accounts a ON a.id = h.account_id CROSS JOIN LATERAL ${approverRows(by)}
        WHERE w.account_id = h.account_id AND w.id = h.id AND w.mode = ${mode} AND w.status = 'pending' AND w.approval_due_at > now()
          AND ${mayApproveSql('w.approval_barred')}
        RETURNING w.*`,
      queued: releaseOrdersSql('released'),
      noted,
    })}
    SELECT ${withdrawalAsJson}::text AS json FROM released w`
}

/** Returns the withdrawal if a member has approved it already; else refuses with the reason. */
async function explainUnchanged({ accountId, mode, id }: Decision): Promise<WithdrawalRow> {
  const row = await findWithdrawal(accountId, mode, id)
  if (!row) throw refuse('withdrawal_not_found')
  const where = { accountId_id: { accountId, id } }
  const stored = await db().withdrawal.findUniqueOrThrow({ where })
  if (stored.approvalDueAt && stored.approvalDueAt > new Date()) throw refuse('approval_by_other')
  const isApproved = stored.approvalBy !== null && stored.rejectionCode !== 'approval_declined'
  if (isApproved) return row
  throw approvalEnded()
}

export function approvalEnded(): TrocoError {
  return refuse('approval_ended', 'This withdrawal no longer waits for approval')
}
