import type { Account } from '#lib/accounts/schema.ts'
import { db, type Prisma, type Tx, transaction } from '#lib/db/client.ts'
import { problemText } from '#lib/webhooks/problem.ts'

/** Pauses before each delivery attempt, in seconds: the webhook schedule without its jitter. */
const ATTEMPT_DELAYS_S = [0, 5, 300, 1_800, 7_200, 18_000, 36_000]

const FAILED = { code: 'status', params: { status: 500 } } as const

/** Time from the event to the first attempt, as the worker needs it. */
const FIRST_ATTEMPT_MS = 400

/**
 * Sets the delivery of the first payment to exhausted, that of the second to delivered and all
 * others to stopped. The first payment must be older than the whole schedule of attempts.
 */
export async function settleDeliveries({ id: accountId }: Account): Promise<void> {
  const [exhausted, delivered] = await db().$queryRaw<DemoDelivery[]>`
    SELECT d.account_id AS "accountId", d.id, c.paid_at AS "paidAt"
    FROM deliveries d JOIN charges c ON c.account_id = d.account_id AND c.id = d.subject_id
    WHERE d.account_id = ${accountId}::uuid AND c.paid_at IS NOT NULL ORDER BY d.sequence LIMIT 2`
  await transaction(async tx => {
    if (delivered) {
      const attempt = { responseStatus: 200, responseBody: 'ok', durationMs: 38 }
      const last = await recordAttempts(tx, delivered, [0], attempt)
      const done = { status: 'delivered', deliveredAt: last, attempts: 1 }
      await setOutcome(tx, delivered, last, done)
    }
    if (exhausted) {
      const attempt = {
        responseStatus: 500,
        responseBody: 'Internal Server Error',
        problem: problemText(FAILED),
        problemCode: FAILED.code,
        problemParams: FAILED.params,
        durationMs: 112,
      }
      const last = await recordAttempts(tx, exhausted, ATTEMPT_DELAYS_S, attempt)
      const done = { status: 'exhausted', attempts: ATTEMPT_DELAYS_S.length }
      await setOutcome(tx, exhausted, last, done)
    }
    // The receiver does not exist, so pending deliveries would be retried in vain.
    await tx.delivery.updateMany({
      where: { accountId, status: 'pending' },
      data: { status: 'stopped', dueAt: null },
    })
  })
}

interface DemoDelivery {
  accountId: string
  id: string
  paidAt: Date
}

/** Records the attempts, and returns the time of the last one. */
async function recordAttempts(
  tx: Tx,
  { accountId, id: deliveryId, paidAt }: DemoDelivery,
  delaysS: number[],
  result: Omit<
    Prisma.DeliveryAttemptCreateManyInput,
    'accountId' | 'deliveryId' | 'number' | 'requestHeaders'
  >,
): Promise<Date> {
  let at = new Date(paidAt.getTime() + FIRST_ATTEMPT_MS)
  const requestHeaders = { 'content-type': 'application/json' }
  const data = delaysS.map((delayS, index) => {
    at = new Date(at.getTime() + delayS * 1_000)
    const attempt = { accountId, deliveryId, number: index + 1, createdAt: at, requestHeaders }
    return { ...attempt, ...result }
  })
  await tx.deliveryAttempt.createMany({ data })
  return at
}

function setOutcome(
  tx: Tx,
  { accountId, id, paidAt: createdAt }: DemoDelivery,
  updatedAt: Date,
  outcome: Prisma.DeliveryUpdateInput,
) {
  const data = { ...outcome, createdAt, updatedAt, dueAt: null }
  return tx.delivery.update({ where: { accountId_id: { accountId, id } }, data })
}
