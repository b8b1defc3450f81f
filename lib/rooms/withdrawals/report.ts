import { transaction } from '#lib/base/db/transaction.ts'
import { wake } from '#lib/base/db/wake.ts'
import { Invariant } from '#lib/base/invariant.ts'
import { returnPayout } from '#lib/rooms/withdrawals/return.ts'
import type { WithdrawalRow } from '#lib/rooms/withdrawals/schema.ts'
import { approveWithdrawal, rejectWithdrawal } from '#lib/rooms/withdrawals/settle.ts'
import type { OrderState } from '#lib/services/gateway/gateway.ts'

/**
 * Settles a withdrawal as the bank reports. Returns null if it was settled before. What came back since is
 * credited in the same transaction: the bank is not asked about a settled withdrawal again.
 */
export async function settleAsReported(
  accountId: string,
  withdrawalId: string,
  orderState: OrderState,
  lease?: string,
): Promise<WithdrawalRow | null> {
  if (orderState.state === 'taken')
    throw new Invariant(`withdrawal ${withdrawalId} cannot be settled: its payout is on its way`)
  const withdrawal = { accountId, withdrawalId, lease }
  if (orderState.state === 'refused') return rejectWithdrawal({ ...withdrawal, reason: orderState })
  const { returns = [], ...sent } = orderState
  if (returns.length === 0) return approveWithdrawal({ ...withdrawal, ...sent })
  const row = await transaction(async tx => {
    const approved = await approveWithdrawal({ ...withdrawal, ...sent, tx })
    for (const payoutReturn of returns) await returnPayout(withdrawal, payoutReturn, tx)
    return approved
  })
  wake('deliveries')
  return row
}
