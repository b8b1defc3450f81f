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
 * Sends due refunds, each under its own id, and queries those the bank has not settled. A lost
 * response never rejects one. Returns how many were due.
 */
export function sendDueRefunds(chargeColumns: Prisma.Sql, choose = gatewayOf): Promise<number> {
  return sendDueOrders('refund', held => sendRefund(held, chargeColumns, choose))
}

async function sendRefund(
  held: Claim,
  chargeColumns: Prisma.Sql,
  choose: typeof gatewayOf,
): Promise<void> {
  const { accountId, lease } = held
  const said = await askBank(held, choose(held.mode))
  const settlement = { accountId, refundId: held.id, lease, chargeColumns }
  if (said?.state === 'done') await completeRefund({ ...settlement, returnId: said.endToEndId })
  else if (said?.state === 'refused') await rejectRefund({ ...settlement, reason: said.reason })
  else await postpone('refunds', held, orderRetryPauseMs(held.attempts))
}

function askBank(held: Claim, gateway: Gateway): Promise<OrderState | null> {
  const bank = withJournal(gateway, [held])
  return placeOrder(held, {
    query: () => bank.getRefund(removeHyphens(held.id)),
    async send() {
      const order = await findRefundOrder(held)
      return order && bank.refundCharge(order)
    },
  })
}
