import { bookPage } from '#lib/rooms/charges/book-page.ts'
import { noteUnread } from '#lib/rooms/charges/note-unread.ts'
import { adoptRefund } from '#lib/rooms/charges/refunds/adopt.ts'
import { createRestoreReader, type RestoreReader } from '#lib/rooms/restore/read-bank.ts'
import { adoptPayout } from '#lib/rooms/withdrawals/adopt.ts'
import { holdUnread } from '#lib/services/house/held-orders.ts'

/** Creates the reader of banks after a restore, with the rooms that book what it finds. */
export function createRestoredReader(): RestoreReader {
  return createRestoreReader({
    bookReceipts: bookPage,
    noteUnread,
    bookRefund: adoptRefund,
    bookPayout: adoptPayout,
    holdUnread: ({ connectionId, list }, unread) =>
      holdUnread(list === 'refunds' ? 'refund_unbooked' : 'payout_unbooked', connectionId, unread),
  })
}
