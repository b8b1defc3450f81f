import { type Claim, postpone } from '#lib/base/db/claim.ts'
import type { Prisma } from '#lib/base/db/client.ts'
import { removeHyphens } from '#lib/base/ids.ts'
import { findRefundOrder } from '#lib/rooms/charges/refunds/queries.ts'
import { completeRefund, rejectRefund } from '#lib/rooms/charges/refunds/settle.ts'
import { gatewayOf } from '#lib/services/gateway/choose.ts'
import type { Gateway, OrderState } from '#lib/services/gateway/gateway.ts'
import { withJournal } from '#lib/services/gateway/journal.ts'
import { orderRetryPauseMs, placeOrder, sendDueOrders } from '#lib/services/gateway/order.ts'

/**
 * Sends due refunds, each under its own id, and queries refunds that the bank has not settled. A
 * lost response never rejects a refund. Returns how many were due.
 */
export function sendDueRefunds(
  chargeColumns: Prisma.Sql,
  chooseGateway = gatewayOf,
): Promise<number> {
  return sendDueOrders('refund', claim => sendRefund(claim, chargeColumns, chooseGateway))
}

async function sendRefund(
  claim: Claim,
  chargeColumns: Prisma.Sql,
  chooseGateway: typeof gatewayOf,
): Promise<void> {
  const { accountId, lease } = claim
  const orderState = await callBank(claim, chooseGateway(claim.mode))
  const settlement = { accountId, refundId: claim.id, lease, chargeColumns }
  if (orderState?.state === 'done')
    await completeRefund({ ...settlement, returnId: orderState.endToEndId })
  else if (orderState?.state === 'refused')
    await rejectRefund({ ...settlement, reason: orderState.reason })
  else await postpone('refunds', claim, orderRetryPauseMs(claim.attempts))
}

function callBank(claim: Claim, gateway: Gateway): Promise<OrderState | null> {
  const bank = withJournal(gateway, [claim])
  return placeOrder(claim, {
    query: () => bank.getRefund(removeHyphens(claim.id)),
    async send() {
      const order = await findRefundOrder(claim)
      return order && bank.refundCharge(order)
    },
  })
}
