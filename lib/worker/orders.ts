import { bookPage } from '#lib/charges/book-page.ts'
import { noteUnread } from '#lib/charges/note-unread.ts'
import { adoptRefund } from '#lib/charges/refunds/adopt.ts'
import { refundOrders } from '#lib/charges/refunds/order.ts'
import { holdUnread } from '#lib/differences/differences.ts'
import { returnOrders } from '#lib/operator/differences/end-return.ts'
import { createRestoreReader, type RestoreReader } from '#lib/operator/restore.ts'
import type { RulesByKind } from '#lib/orders/order.ts'
import { adoptPayout } from '#lib/withdrawals/adopt.ts'
import { withdrawalOrders } from '#lib/withdrawals/order.ts'

/** All kinds of orders that leave through a bank. */
export const ORDER_RULES = {
  withdrawal: withdrawalOrders,
  refund: refundOrders,
  return: returnOrders,
} satisfies RulesByKind

/** Creates the reader of banks after a restore, with the rooms that book what it finds. */
export function createRestoredReader(): RestoreReader {
  return createRestoreReader({
    bookPayments: bookPage,
    noteUnread,
    bookRefund: adoptRefund,
    bookPayout: adoptPayout,
    holdUnread: ({ connectionId, list }, unread) =>
      holdUnread(list === 'refunds' ? 'refund_unbooked' : 'payout_unbooked', connectionId, unread),
  })
}
