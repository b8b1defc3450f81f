import { db } from '#lib/base/db/client.ts'

/**
 * Makes a reading of the connection's list of receipts due, unless it is in progress: a payment was
 * announced that is not booked.
 */
export async function hastenReading(connectionId: string): Promise<void> {
  const now = new Date()
  await db().receiptReading.updateMany({
    where: { connectionId, pace: 'late', lease: null, dueAt: { gt: now } },
    data: { dueAt: now },
  })
}
