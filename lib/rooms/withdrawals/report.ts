import { Invariant } from '#lib/base/invariant.ts'
import type { WithdrawalRow } from '#lib/rooms/withdrawals/schema.ts'
import { approveWithdrawal, rejectWithdrawal } from '#lib/rooms/withdrawals/settle.ts'
import type { OrderState } from '#lib/services/gateway/gateway.ts'

export function settleAsReported(
  accountId: string,
  withdrawalId: string,
  orderState: OrderState,
  lease?: string,
): Promise<WithdrawalRow | null> {
  if (orderState.state === 'taken')
    throw new Invariant(`withdrawal ${withdrawalId} cannot be settled: its payout is on its way`)
  return orderState.state === 'done'
    ? approveWithdrawal({ accountId, withdrawalId, lease, ...orderState })
    : rejectWithdrawal({ accountId, withdrawalId, lease, reason: orderState })
}
