import { refundOrders } from '#lib/rooms/charges/refunds/settle.ts'
import { returnOrders } from '#lib/rooms/inbox/settle-return.ts'
import { withdrawalOrders } from '#lib/rooms/withdrawals/order.ts'
import type { RulesByKind } from '#lib/services/orders/order.ts'
import { tryOrders } from '#lib/services/tries/settle.ts'

/** All kinds of orders that leave through a bank. */
export const ORDER_RULES = {
  withdrawal: withdrawalOrders,
  refund: refundOrders,
  return: returnOrders,
  trial: tryOrders,
} satisfies RulesByKind
