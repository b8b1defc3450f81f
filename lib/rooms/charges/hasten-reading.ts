import { db } from '#lib/base/db/client.ts'

/**
 * Has the connection's list of receipts read as soon as no reading is in progress and the bank wants no
 * pause: a payment was announced that is not booked.
 */
export async function hastenReading(connectionId: string): Promise<void> {
  await db().receiptReading.updateMany({
    where: { connectionId, pace: 'late', isWanted: false },
    data: { isWanted: true },
  })
}
