import { decideRefund } from '#lib/banks/simulator.ts'
import { completeRefund, rejectRefund } from '#lib/charges/refunds/order.ts'
import { findRefund } from '#lib/charges/refunds/queries.ts'
import type { RefundDecision, RefundRow } from '#lib/charges/refunds/schema.ts'
import { refuse } from '#lib/core/errors.ts'
import { removeHyphens } from '#lib/core/ids.ts'

/**
 * The first decision is final, and stored first: after a crash, the worker settles the refund. `isResumed`:
 * an earlier process died during this request and may already have decided.
 */
export async function simulateRefund(
  accountId: string,
  requestedId: string,
  { outcome, reason }: RefundDecision,
  isResumed = false,
): Promise<RefundRow> {
  const refund = await findRefund(accountId, 'test', null, requestedId)
  if (!refund) throw refuse('refund_not_found')
  // The bank knows the stored id: one in capitals would be another order.
  const { id } = refund
  if (isResumed && refund.status === outcome) return refund
  if (refund.status !== 'pending') throw alreadyFinal(refund)
  const isDone = outcome === 'completed'
  const { state, isAccepted } = await decideRefund(removeHyphens(id), refund.amount, isDone, reason)
  const settlement = { accountId, refundId: id }
  const settled =
    state.state === 'done'
      ? await completeRefund({ ...settlement, returnId: state.endToEndId })
      : state.state === 'refused' && (await rejectRefund({ ...settlement, reason: state }))
  // The worker or another request has settled it.
  const ended = settled || ((await findRefund(accountId, 'test', null, id)) ?? refund)
  if (ended.status === outcome && (isAccepted || isResumed)) return ended
  throw alreadyFinal(ended)
}

function alreadyFinal({ status }: RefundRow) {
  return refuse('already_final', { subject: 'Refund', status })
}
