import type { ServedConnection } from '#lib/services/gateway/choose.ts'
import type { Booked, ClosureReading, ListName, Restored } from '#lib/services/gateway/closures.ts'
import { withConnectionJournal } from '#lib/services/gateway/connection-calls.ts'
import type { GatewayResult, Receipt } from '#lib/services/gateway/gateway.ts'
import type { Listing, TakenOrder, UnreadPayment } from '#lib/services/gateway/lists.ts'

/** How other rooms book what a bank lists. Called again for the same item, they do nothing. */
export interface RestoreBooking {
  bookReceipts: (connectionId: string, receipts: Receipt[]) => Promise<unknown>
  noteUnread: (connectionId: string, unread: UnreadPayment[]) => Promise<unknown>
  bookRefund: (restored: Restored, order: TakenOrder) => Promise<Booked>
  bookPayout: (restored: Restored, order: TakenOrder) => Promise<Booked>
  holdUnread: (reading: ClosureReading, unread: UnreadPayment) => Promise<unknown>
}

type List<Item> = (since: Date, cursor: string | null) => Promise<GatewayResult<Listing<Item>>>

/** Reads the list of a bank from a place on, and books the page. Undefined: the bank has no such list. */
type PageReader = (() => Promise<PageRead>) | undefined
export type PageRead =
  | { failure: Exclude<GatewayResult<never>, { outcome: 'ok' }> }
  | { nextCursor: string | null; unsettled: number }

/** Returns the reader of the next page of a reading. */
export function pageReaderOf(
  connection: ServedConnection,
  reading: ClosureReading,
  booking: RestoreBooking,
): PageReader {
  const { listReceipts, listTakenRefunds, listTakenPayouts } = withConnectionJournal(connection)
  const { connectionId, since, place } = reading
  const orders = (list: List<TakenOrder> | undefined, book: RestoreBooking['bookPayout']) =>
    list &&
    (async (): Promise<PageRead> => {
      const page = await list(since, place)
      if (page.outcome !== 'ok') return { failure: page }
      const { items, unread = [], nextCursor } = page.value
      let unsettled = 0
      for (const item of items) if ((await book(reading, item)) === 'unsettled') unsettled++
      for (const each of unread) await booking.holdUnread(reading, each)
      return { nextCursor, unsettled }
    })
  const readers: Record<ListName, PageReader> = {
    receipts:
      listReceipts &&
      (async () => {
        const page = await listReceipts(since, place)
        if (page.outcome !== 'ok') return { failure: page }
        const { items, unread = [], nextCursor } = page.value
        await booking.bookReceipts(connectionId, items)
        await booking.noteUnread(connectionId, unread)
        return { nextCursor, unsettled: 0 }
      }),
    refunds: orders(listTakenRefunds, booking.bookRefund),
    payouts: orders(listTakenPayouts, booking.bookPayout),
  }
  return readers[reading.list]
}
