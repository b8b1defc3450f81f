import { db } from '#lib/base/db/client.ts'
import { transaction } from '#lib/base/db/transaction.ts'
import type { Account } from '#lib/rooms/accounts/schema.ts'
import { problemText } from '#lib/services/webhooks/problem.ts'

/** Pauses before each delivery attempt, in seconds: the webhook schedule without its jitter. */
const ATTEMPT_DELAYS_S = [0, 5, 300, 1_800, 7_200, 18_000, 36_000]

const FAILED = { code: 'status', params: { status: 500 } } as const

/**
 * Sets the delivery of the first payment to exhausted, that of the second to delivered and all
 * others to stopped. The first payment must be older than the whole schedule of attempts.
 */
export async function settleDeliveries(account: Account, paidAt: Date[]): Promise<void> {
  const [exhausted, delivered] = await db().delivery.findMany({
    where: { accountId: account.id, event: { type: 'transaction.paid' } },
    orderBy: { sequence: 'asc' },
    take: 2,
  })
  const [failingSince, deliveredAt] = paidAt
  const requestHeaders = { 'content-type': 'application/json' }
  await transaction(async tx => {
    if (delivered && deliveredAt) {
      const { accountId, id } = delivered
      const result = { responseStatus: 200, responseBody: 'ok', durationMs: 38 }
      const attempt = { accountId, deliveryId: id, number: 1, requestHeaders, ...result }
      await tx.deliveryAttempt.create({ data: { ...attempt, createdAt: deliveredAt } })
      const done = { status: 'delivered', deliveredAt, attempts: 1, dueAt: null }
      await tx.delivery.update({ where: { accountId_id: { accountId, id } }, data: done })
    }
    if (exhausted && failingSince) {
      const { accountId, id } = exhausted
      const result = {
        responseStatus: 500,
        responseBody: 'Internal Server Error',
        problem: problemText(FAILED),
        problemCode: FAILED.code,
        problemParams: FAILED.params,
        durationMs: 112,
      }
      let elapsedS = 0
      await tx.deliveryAttempt.createMany({
        data: ATTEMPT_DELAYS_S.map((pause, index) => {
          elapsedS += pause
          const createdAt = new Date(failingSince.getTime() + elapsedS * 1_000)
          return {
            accountId,
            deliveryId: id,
            number: index + 1,
            requestHeaders,
            createdAt,
            ...result,
          }
        }),
      })
      const done = { status: 'exhausted', attempts: ATTEMPT_DELAYS_S.length, dueAt: null }
      await tx.delivery.update({ where: { accountId_id: { accountId, id } }, data: done })
    }
    // The receiver does not exist, so pending deliveries would be retried in vain.
    await tx.delivery.updateMany({
      where: { accountId: account.id, status: 'pending' },
      data: { status: 'stopped', dueAt: null },
    })
  })
}
