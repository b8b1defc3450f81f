import { wake } from '#lib/base/db/wake.ts'
import { hastenCharges, hastenReading } from '#lib/rooms/charges/hasten.ts'
import {
  claimNotices,
  endNotices,
  type Notice,
  QUESTIONS_MAX,
} from '#lib/services/gateway/notices.ts'
import { findClaimed } from '#lib/services/house/receipts.ts'
import { hastenOrders } from '#lib/services/orders/queue.ts'
import { noteTryNotices } from '#lib/services/tries/receive.ts'

/**
 * Turns notices into questions: the charge or order of ours becomes due, and the jobs that ask about it
 * do the rest; so does a try, which proves that notices come. A payment that no question books is looked for in the bank's list. Nothing in a notice
 * but its ids is used. Returns how many notices were due.
 */
export async function askAboutNotices(): Promise<number> {
  const due = await claimNotices()
  for (const [connectionId, ofConnection] of Map.groupBy(due, notice => notice.connectionId)) {
    for (const [kind, notices] of Map.groupBy(ofConnection, notice => notice.kind)) {
      const open = await askAbout(
        connectionId,
        kind,
        notices.map(({ id }) => id),
      )
      const isOver = ({ id, attempts }: Notice) => !open.has(id) || attempts >= QUESTIONS_MAX
      await endNotices(notices.filter(isOver))
    }
  }
  return due.length
}

/** Returns the ids about which the bank must be asked again if this question finds nothing. */
async function askAbout(
  connectionId: string,
  kind: Notice['kind'],
  ids: string[],
): Promise<Set<string>> {
  await noteTryNotices(connectionId, kind, ids)
  if (kind !== 'receipt') {
    const isCharge = kind === 'charge'
    const open = await (isCharge ? hastenCharges : hastenOrders)(connectionId, ids)
    if (open.size > 0) wake(isCharge ? 'charges' : 'orders')
    return open
  }
  const booked = await findClaimed(connectionId, ids)
  const unbooked = new Set(ids.filter(id => !booked.has(id)))
  if (unbooked.size > 0) await hastenReading(connectionId)
  return unbooked
}
