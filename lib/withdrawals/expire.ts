import { isMoneyOutClosedFor } from '#lib/banks/closures.ts'
import { log } from '#lib/core/log.ts'
import { db, Prisma } from '#lib/db/client.ts'
import { isWaitingSql } from '#lib/withdrawals/approval.ts'
import { rejectWithdrawal } from '#lib/withdrawals/outcome.ts'

const BATCH_MAX = 100

/**
 * Rejects withdrawals that nobody approved in time and returns their amounts, each in one statement
 * that an approval or another worker excludes. Not while money out is closed after a restore: the bank
 * may have paid one that was approved since. Returns how many expired.
 */
export async function expireWaitingWithdrawals(): Promise<number> {
  const due = await db().$queryRaw<{ accountId: string; id: string }[]>`
    SELECT account_id AS "accountId", id FROM withdrawals
    WHERE approval_due_at <= now() AND NOT ${isMoneyOutClosedFor(Prisma.sql`connection_id`)}
    ORDER BY approval_due_at LIMIT ${BATCH_MAX}`
  let expired = 0
  for (const { accountId, id } of due) {
    // A failure must not stop the others; the withdrawal stays due.
    const row = await expireOne(accountId, id).catch(error =>
      log().error({ err: error, withdrawalId: id }, 'expiring a withdrawal failed'),
    )
    if (row) expired += 1
  }
  return expired
}

function expireOne(accountId: string, withdrawalId: string) {
  return rejectWithdrawal({
    ...{ accountId, withdrawalId, reason: { code: 'approval_expired', params: {} } },
    decision: {
      condition: isWaitingSql(Prisma.sql`w.approval_due_at <= now()`),
      ofWithdrawal: Prisma.sql`approval_due_at = NULL, approval_at = now(),`,
      audit: { action: 'withdrawal.approval_expired', by: null, orSystem: true },
    },
  })
}
