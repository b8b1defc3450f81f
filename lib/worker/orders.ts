import { refundOrders } from '#lib/charges/refunds/order.ts'
import { returnOrders } from '#lib/operator/differences/end-return.ts'
import type { RulesByKind } from '#lib/orders/order.ts'
import { withdrawalOrders } from '#lib/withdrawals/order.ts'

/** All kinds of orders that leave through a bank. */
export const ORDER_RULES = {
  withdrawal: withdrawalOrders,
  refund: refundOrders,
  return: returnOrders,
} satisfies RulesByKind
