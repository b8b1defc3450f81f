import { type Claim, claim, postpone } from '#lib/db/claim.ts'
import type { Prisma } from '#lib/db/client.ts'
import { gatewayOf } from '#lib/gateway/choose.ts'
import type { Answer, Gateway, OrderState } from '#lib/gateway/gateway.ts'
import { bareId } from '#lib/ids.ts'
import { log } from '#lib/log.ts'
import { findRefundOrder } from '#lib/refunds/queries.ts'
import { completeRefund, rejectRefund } from '#lib/refunds/settle.ts'

const BATCH_MAX = 50
/** How long to wait for a bank that has taken an order, or could not be reached. */
const ASK_AGAIN_MS = 1_000

/**
 * Sends refunds that are due, each under its own id, and asks again about those that the bank has
 * not settled. Nothing is rejected because an answer got lost. Returns how many were due.
 */
export async function sendDueRefunds(chargeColumns: Prisma.Sql): Promise<number> {
  const due = await claim('refunds', BATCH_MAX)
  for (const held of due) {
    // One that fails keeps its lease and comes back; the others must not wait for it.
    await sendRefund(held, chargeColumns).catch(error =>
      log().error({ err: error, refundId: held.id }, 'a refund could not be sent'),
    )
  }
  return due.length
}

/** Does with one refund that is held what its bank says of it. */
export async function sendRefund(
  held: Claim,
  chargeColumns: Prisma.Sql,
  gateway: Gateway = gatewayOf(held.mode),
): Promise<void> {
  const said = await askBank(held, gateway)
  const settlement = { accountId: held.accountId, refundId: held.id, chargeColumns }
  if (said?.state === 'done') await completeRefund({ ...settlement, returnId: said.endToEndId })
  else if (said?.state === 'refused') await rejectRefund({ ...settlement, reason: said.reason })
  else await postpone('refunds', held, ASK_AGAIN_MS)
}

/** What has become of it at the bank; null: that is not known yet. */
async function askBank(held: Claim, gateway: Gateway): Promise<OrderState | null> {
  // It may have been sent before: then the bank is asked about it, and gets it only if it has none.
  if (held.attempts > 1) {
    const known = await gateway.getRefund(bareId(held.id))
    // A question that is turned down says nothing of the refund itself.
    if (known.outcome !== 'ok') return null
    if (known.value) return known.value
  }
  const answer: Answer<OrderState> = await gateway.refundCharge(
    await findRefundOrder(held.accountId, held.id),
  )
  if (answer.outcome === 'rejected') return { state: 'refused', reason: answer.reason }
  return answer.outcome === 'ok' ? answer.value : null
}
