import { type Claim, postpone } from '#lib/db/claim.ts'
import type { Prisma } from '#lib/db/client.ts'
import { gatewayOf } from '#lib/gateway/choose.ts'
import type { Gateway, OrderState } from '#lib/gateway/gateway.ts'
import { journaled } from '#lib/gateway/journal.ts'
import { askAgainInMs, placeOrder, sendDue } from '#lib/gateway/order.ts'
import { bareId } from '#lib/ids.ts'
import { findRefundOrder } from '#lib/refunds/queries.ts'
import { completeRefund, rejectRefund } from '#lib/refunds/settle.ts'

/**
 * Sends refunds that are due, each under its own id, and asks again about those that the bank has
 * not settled. Nothing is rejected because an answer got lost. Returns how many were due.
 */
export function sendDueRefunds(chargeColumns: Prisma.Sql, choose = gatewayOf): Promise<number> {
  return sendDue('refund', held => sendRefund(held, chargeColumns, choose))
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
  else await postpone('refunds', held, askAgainInMs(held.attempts))
}

function askBank(held: Claim, gateway: Gateway): Promise<OrderState | null> {
  const bank = journaled(gateway, [held])
  return placeOrder(held, {
    ask: () => bank.getRefund(bareId(held.id)),
    async send() {
      const order = await findRefundOrder(held)
      return order && bank.refundCharge(order)
    },
  })
}
