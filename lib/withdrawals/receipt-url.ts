import { db } from '#lib/db/client.ts'
import { createReceiptUrl, isEndToEndId } from '#lib/receipts/sign.ts'
import type { WithdrawalRow } from '#lib/withdrawals/schema.ts'

type Payout = Pick<
  WithdrawalRow,
  'id' | 'mode' | 'status' | 'amount' | 'approved_at' | 'end_to_end_id'
>

/**
 * Returns the URL on which the receipt of a payout proves itself. Null without the bank's word: also
 * if admins ended the withdrawal as sent, or if the bank reported a second end-to-end id.
 */
export async function createWithdrawalReceiptUrl(
  accountId: string,
  withdrawal: Payout,
): Promise<string | null> {
  const { id, mode, status, amount, approved_at: at, end_to_end_id: endToEndId } = withdrawal
  if (status !== 'approved' || at === null || !isEndToEndId(endToEndId)) return null
  const doubts = await db().$queryRaw<unknown[]>`
    SELECT FROM withdrawals w JOIN bank_orders o USING (account_id, id)
    WHERE w.account_id = ${accountId}::uuid AND w.id = ${id}::uuid
      AND (o.ended_at IS NOT NULL OR w.other_end_to_end_id IS NOT NULL)`
  if (doubts.length > 0) return null
  return createReceiptUrl({ kind: 'withdrawal', id, mode, amount, at, endToEndId })
}
