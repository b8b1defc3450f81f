import { decidePayout, newEndToEndId } from '#lib/banks/simulator.ts'
import { invalidInput, refuse, type TrocoError } from '#lib/core/errors.ts'
import { removeHyphens } from '#lib/core/ids.ts'
import { Invariant } from '#lib/core/invariant.ts'
import { transaction } from '#lib/db/client.ts'
import { wake } from '#lib/db/wake.ts'
import { isWaiting } from '#lib/withdrawals/approval.ts'
import { endAsReported, lockWithdrawal, returnPayout } from '#lib/withdrawals/outcome.ts'
import { findWithdrawal } from '#lib/withdrawals/queries.ts'
import type { DecisionRequest, WithdrawalRow } from '#lib/withdrawals/schema.ts'

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
  const { outcome } = decision
  if (outcome === 'returned') return simulateReturn(accountId, withdrawal, decision, isResumed)
  if (isResumed && withdrawal.status === outcome) return withdrawal
  if (withdrawal.status !== 'pending') throw alreadyFinal(withdrawal)
  if (await isWaiting(accountId, withdrawal.id)) throw refuse('approval_pending')
  const { reason } = decision
  const { id, amount } = withdrawal
  const { state, isAccepted } = await decidePayout(removeHyphens(id), amount, outcome, reason)
  const ended =
    (await endAsReported(accountId, id, state)) ??
    // The worker or another request has settled it.
    (await findWithdrawal(accountId, 'test', id)) ??
    withdrawal
  if (ended.status === outcome && (isAccepted || isResumed)) return ended
  throw alreadyFinal(ended)
}

/** Sends a part of an approved withdrawal back, as a bank reports it. More than is left is refused. */
async function simulateReturn(
  accountId: string,
  withdrawal: WithdrawalRow,
  { amount }: DecisionRequest,
  isResumed: boolean,
): Promise<WithdrawalRow> {
  const { id, status, returned_amount } = withdrawal
  if (isResumed && returned_amount > 0) return withdrawal
  if (status !== 'approved')
    throw invalidInput('outcome', `must not be returned: the withdrawal is ${status}`)
  const row = await transaction(async tx => {
    await lockWithdrawal(tx, { accountId, withdrawalId: id })
    const where = { accountId_id: { accountId, id } }
    const locked = await tx.withdrawal.findUniqueOrThrow({ where })
    const left = Number(locked.amount - locked.returnedAmount)
    const returned = amount ?? left
    if (returned > left || left === 0)
      throw invalidInput('amount', `must be at most ${left}, what is left of the withdrawal`)
    const returnId = newEndToEndId().replace('E', 'D')
    const payoutReturn = { id: returnId, amount: returned, returnedAt: new Date() }
    return returnPayout({ accountId, withdrawalId: id }, payoutReturn, tx)
  })
  if (!row) throw new Invariant(`withdrawal ${id} was not returned`)
  wake('deliveries')
  return row
}

function alreadyFinal({ status }: WithdrawalRow): TrocoError {
  return refuse('already_final', { subject: 'Withdrawal', status })
}
