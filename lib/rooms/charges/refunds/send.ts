import { type Claim, postpone } from '#lib/base/db/claim.ts'
import type { Prisma } from '#lib/base/db/client.ts'
import { findHidden, findRefundOrder } from '#lib/rooms/charges/refunds/queries.ts'
import { completeRefund, rejectRefund } from '#lib/rooms/charges/refunds/settle.ts'
import type { Gateway } from '#lib/services/gateway/gateway.ts'
import { orderRetryPauseMs, placeOrder } from '#lib/services/gateway/order.ts'
import { createOrderSender, type OrderSender } from '#lib/services/gateway/order-sender.ts'

/**
 * Sends due refunds, each under its own id, and queries refunds that the bank has not settled. A
 * lost response never rejects a refund.
 */
export function createRefundSender(
  chargeColumns: Prisma.Sql,
  onCapacity?: () => void,
): OrderSender {
  const send = (claim: Claim, gateway: Gateway) => sendRefund(claim, chargeColumns, gateway)
  return createOrderSender('refund', send, onCapacity)
}

async function sendRefund(
  claim: Claim,
  chargeColumns: Prisma.Sql,
  gateway: Gateway,
): Promise<void> {
  const { accountId, lease } = claim
  const found = await findRefundOrder(claim)
  if (!found) return
  // The address is for the simulator: a bank, and the journal of its calls, get none.
  const { payerEmail, ...sent } = found
  const order = gateway.local ? { ...sent, payerEmail } : sent
  const placement = await placeOrder('refund', claim, gateway, {
    query: bank => bank.getRefund(order),
    send: bank => bank.refundCharge(order),
    findHidden: () => findHidden(claim),
  })
  const settlement = { accountId, refundId: claim.id, lease, chargeColumns }
  if (placement.state === 'done')
    await completeRefund({ ...settlement, returnId: placement.endToEndId })
  else if (placement.state === 'refused') await rejectRefund({ ...settlement, reason: placement })
  else await postpone('refunds', claim, orderRetryPauseMs(claim, placement))
}
