import type { Account } from '#lib/accounts/schema.ts'
import { db } from '#lib/db/client.ts'
import { transaction } from '#lib/db/transaction.ts'

/** One delivery that arrived, and one whose tries are used up. */
export async function tellDeliveries(account: Account): Promise<void> {
  const [delivered, exhausted] = await db().delivery.findMany({
    where: { accountId: account.id, event: { type: 'transaction.paid' } },
    orderBy: { sequence: 'asc' },
    take: 2,
  })
  const requestHeaders = { 'content-type': 'application/json' }
  await transaction(async tx => {
    if (delivered) {
      const { accountId, id } = delivered
      const answer = { responseStatus: 200, responseBody: 'ok', durationMs: 38 }
      const attempt = { accountId, deliveryId: id, number: 1, requestHeaders, ...answer }
      await tx.deliveryAttempt.create({ data: attempt })
      const done = { status: 'delivered', deliveredAt: new Date(), attempts: 1, dueAt: null }
      await tx.delivery.update({ where: { accountId_id: { accountId, id } }, data: done })
    }
    if (exhausted) {
      const { accountId, id } = exhausted
      const answer = { responseStatus: 500, responseBody: 'Internal Server Error', durationMs: 112 }
      const attempts = Array.from({ length: 7 }, (_, at) => at + 1)
      await tx.deliveryAttempt.createMany({
        data: attempts.map(number => ({
          accountId,
          deliveryId: id,
          number,
          requestHeaders,
          ...answer,
        })),
      })
      const done = { status: 'exhausted', attempts: attempts.length, dueAt: null }
      await tx.delivery.update({ where: { accountId_id: { accountId, id } }, data: done })
    }
    // The receiver is made up: what else would be told it must not wait for it for ever.
    await tx.delivery.updateMany({
      where: { accountId: account.id, status: 'pending' },
      data: { status: 'stopped', dueAt: null },
    })
  })
}
