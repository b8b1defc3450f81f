import { type Claim, postpone } from '#lib/base/db/claim.ts'
import { db } from '#lib/base/db/client.ts'
import { removeHyphens } from '#lib/base/ids.ts'
import { cents } from '#lib/base/money.ts'
import { completeReturn, rejectReturn } from '#lib/rooms/inbox/settle-return.ts'
import type { Gateway, RefundOrder } from '#lib/services/gateway/gateway.ts'
import { orderRetryPauseMs, placeOrder } from '#lib/services/gateway/order.ts'
import { createOrderSender, type OrderSender } from '#lib/services/gateway/order-sender.ts'

/**
 * Sends due orders to give money back, each under its own id, and asks about those that the bank has not
 * settled. A lost response never rejects one.
 */
export function createReturnSender(onCapacity?: () => void): OrderSender {
  return createOrderSender('receipt_return', sendReturn, onCapacity)
}

async function sendReturn(claim: Claim, gateway: Gateway): Promise<void> {
  const order = await findOrder(claim)
  if (!order) return
  const placement = await placeOrder('receipt_return', claim, gateway, {
    query: bank => bank.getRefund(order),
    send: bank => bank.refundCharge(order),
    // The order names no person, and the payer is unknown.
    findHidden: async () => ({}),
  })
  if (placement.state === 'done') await completeReturn(claim, placement.endToEndId)
  else if (placement.state === 'refused') await rejectReturn(claim, placement)
  else await postpone('receipt_returns', claim, orderRetryPauseMs(claim, placement))
}

/** Returns the order for the bank; null if the lease was lost or the return has ended. */
async function findOrder({ accountId, id, lease }: Claim): Promise<RefundOrder | null> {
  const row = await db().receiptReturn.findFirst({
    where: { accountId, id, lease, status: 'pending' },
    select: { amount: true, receipt: { select: { endToEndId: true } } },
  })
  if (!row) return null
  const { endToEndId } = row.receipt
  return { id: removeHyphens(id), endToEndId, amount: cents(row.amount) }
}
