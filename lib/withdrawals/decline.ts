import { isMoneyOutClosed, isMoneyOutClosedFor } from '#lib/banks/closures.ts'
import { refuse } from '#lib/core/errors.ts'
import { isUuid } from '#lib/core/ids.ts'
import { db, Prisma } from '#lib/db/client.ts'
import { isWaitingSql } from '#lib/withdrawals/approval.ts'
import { approvalEnded, type Decision } from '#lib/withdrawals/approve.ts'
import { rejectWithdrawal } from '#lib/withdrawals/outcome.ts'
import { findWithdrawal } from '#lib/withdrawals/queries.ts'
import type { WithdrawalRow } from '#lib/withdrawals/schema.ts'

const RETRY_AFTER_S = 60

/**
 * Rejects a waiting withdrawal and returns its amount. The requester may do it, too: nothing leaves
 * the account. Not while money out is closed after a restore: the bank may have paid one that was
 * approved since.
 */
export async function declineRequest({
  accountId,
  mode,
  id,
  by,
}: Decision): Promise<WithdrawalRow> {
  const found = isUuid(id) ? await findWithdrawal(accountId, mode, id) : null
  if (!found) throw refuse('withdrawal_not_found')
  const row = await rejectWithdrawal({
    accountId,
    withdrawalId: id,
    reason: { code: 'approval_declined', params: {} },
    decision: {
      condition: Prisma.sql`${isWaitingSql(Prisma.sql`w.approval_due_at > now()`)}
        AND NOT ${isMoneyOutClosedFor(Prisma.sql`o.connection_id`)}`,
      ofWithdrawal: Prisma.sql`approval_due_at = NULL, approval_by = ${by}::uuid, approval_at = now(),`,
      audit: { action: 'withdrawal.declined', by },
    },
  })
  if (!row && (await mayHaveBeenSent(accountId, id)))
    throw refuse('service_unavailable', { retryAfterS: RETRY_AFTER_S })
  if (!row) throw approvalEnded()
  return row
}

async function mayHaveBeenSent(accountId: string, id: string): Promise<boolean> {
  const where = { accountId_id: { accountId, id } }
  const { approvalDueAt, connectionId } = await db().withdrawal.findUniqueOrThrow({ where })
  return approvalDueAt !== null && isMoneyOutClosed(connectionId)
}
