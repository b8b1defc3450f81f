import { db } from '#lib/base/db/client.ts'
import type { WithdrawalRow } from '#lib/rooms/withdrawals/schema.ts'
import { isEndToEndId } from '#lib/services/payment-receipts/format.ts'
import { createReceiptUrl } from '#lib/services/payment-receipts/sign.ts'

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
  const where = { accountId_id: { accountId, id } }
  const select = { endedAt: true, otherEndToEndId: true } as const
  const { endedAt, otherEndToEndId } = await db().withdrawal.findUniqueOrThrow({ where, select })
  if (endedAt !== null || otherEndToEndId !== null) return null
  return createReceiptUrl({ kind: 'withdrawal', id, mode, amount, at, endToEndId })
}
