import { refuse, type TrocoError } from '#lib/base/errors.ts'
import { removeHyphens } from '#lib/base/ids.ts'
import { isWaiting } from '#lib/rooms/withdrawals/approval.ts'
import { findWithdrawal } from '#lib/rooms/withdrawals/queries.ts'
import { settleAsReported } from '#lib/rooms/withdrawals/report.ts'
import type { DecisionRequest, WithdrawalRow } from '#lib/rooms/withdrawals/schema.ts'
import { decidePayout } from '#lib/services/gateway/simulator.ts'

/**
 * The first decision is final, and stored first: after a crash, the worker settles the payout. `isResumed`:
 * an earlier process died during this request and may already have decided.
 */
export async function simulateWithdrawal(
  accountId: string,
  idOrReference: string,
  decision: DecisionRequest,
  isResumed = false,
): Promise<WithdrawalRow> {
  const withdrawal = await findWithdrawal(accountId, 'test', idOrReference)
  if (!withdrawal) throw refuse('withdrawal_not_found')
  if (isResumed && withdrawal.status === decision.outcome) return withdrawal
  if (withdrawal.status !== 'pending') throw alreadyFinal(withdrawal)
  if (await isWaiting(accountId, withdrawal.id)) throw refuse('approval_pending')
  const { outcome, reason } = decision
  const { id, amount } = withdrawal
  const { state, isAccepted } = await decidePayout(removeHyphens(id), amount, outcome, reason)
  const ended =
    (await settleAsReported(accountId, id, state)) ??
    // The worker or another request has settled it.
    (await findWithdrawal(accountId, 'test', id)) ??
    withdrawal
  if (ended.status === outcome && (isAccepted || isResumed)) return ended
  throw alreadyFinal(ended)
}

function alreadyFinal({ status }: WithdrawalRow): TrocoError {
  return refuse('already_final', { subject: 'Withdrawal', status })
}
