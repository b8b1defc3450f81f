import { bookPage } from '#lib/rooms/charges/book-page.ts'
import { noteUnread } from '#lib/rooms/charges/note-unread.ts'
import { adoptRefund } from '#lib/rooms/charges/refunds/adopt.ts'
import { refundOrders } from '#lib/rooms/charges/refunds/order.ts'
import { returnOrders } from '#lib/rooms/differences/end-return.ts'
import { createRestoreReader, type RestoreReader } from '#lib/rooms/restore/restore.ts'
import { adoptPayout } from '#lib/rooms/withdrawals/adopt.ts'
import { withdrawalOrders } from '#lib/rooms/withdrawals/order.ts'
import { holdUnread } from '#lib/services/operator/differences.ts'
import type { RulesByKind } from '#lib/services/orders/order.ts'
import { trialOrders } from '#lib/services/trials/orders.ts'

/** All kinds of orders that leave through a bank. */
export const ORDER_RULES = {
  withdrawal: withdrawalOrders,
  refund: refundOrders,
  return: returnOrders,
  trial: trialOrders,
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
