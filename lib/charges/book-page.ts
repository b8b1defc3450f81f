import type { ReceivedPayment } from '#lib/banks/gateway.ts'
import { matchPayments } from '#lib/charges/match.ts'
import { log } from '#lib/core/log.ts'

/**
 * Books a page. If that fails, books its payments one by one, so that one that cannot be stored keeps no
 * other from being credited. Without the database, storing the place fails, too.
 */
export async function bookPage(connectionId: string, items: ReceivedPayment[]): Promise<void> {
  const book = (payments: ReceivedPayment[]) =>
    matchPayments({ id: connectionId, mode: 'live' }, payments)
  if (items.length === 0) return
  try {
    await book(items)
  } catch (error) {
    log().warn({ err: error, connectionId }, 'booking a page of payments failed')
    for (const item of items)
      await book([item]).catch(err => {
        const { endToEndId } = item
        log().error({ err, connectionId, endToEndId }, 'booking a listed payment failed')
      })
  }
}
