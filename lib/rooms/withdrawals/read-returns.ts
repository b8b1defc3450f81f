import { db } from '#lib/base/db/client.ts'
import { log } from '#lib/base/log.ts'
import { returnPayout } from '#lib/rooms/withdrawals/return.ts'
import { listServed, type ServedConnection } from '#lib/services/gateway/choose.ts'
import { withConnectionJournal } from '#lib/services/gateway/connection-calls.ts'
import type { SentPayout } from '#lib/services/gateway/lists.ts'

/** Age up to which a payment may be returned by its receiver, by the rules of PIX; and a margin. */
const PERIOD_MS = 91 * 86_400_000
/** Longest time between the request of a withdrawal and its payout, with approval and pauses. */
const WAIT_MAX_MS = 91 * 86_400_000

/**
 * Credits what came back of approved withdrawals, as banks list their payouts: a bank is not asked about a
 * withdrawal that has ended. After a crash at any point, or if two processes read the same list, each
 * return is credited once. A list that cannot be read is read by the next run.
 */
export async function readReturns(): Promise<void> {
  const served = (await listServed()).filter(({ gateway }) => gateway.listSentPayouts)
  const readings = served.map(connection =>
    // A failure must not stop the lists of other banks.
    readList(connection).catch(error =>
      log().error({ err: error, connectionId: connection.id }, 'reading returns failed'),
    ),
  )
  await Promise.all(readings)
}

async function readList(connection: ServedConnection): Promise<void> {
  const { listSentPayouts } = withConnectionJournal(connection)
  const since = new Date(Date.now() - PERIOD_MS)
  for (let cursor: string | null = null; listSentPayouts; ) {
    const page: Awaited<ReturnType<typeof listSentPayouts>> = await listSentPayouts(since, cursor)
    if (page.outcome !== 'ok') return
    for (const payout of page.value.items) await creditReturns(connection.id, payout)
    cursor = page.value.nextCursor
    if (cursor === null) return
  }
}

/** A withdrawal that is pending gets its returns with its approval. */
async function creditReturns(connectionId: string, payout: SentPayout): Promise<void> {
  const { returns } = payout
  if (returns.length === 0) return
  const withdrawal =
    (await findPaid(connectionId, payout)) ?? (await findEnded(connectionId, payout))
  if (!withdrawal) return
  const listed = returns.reduce((sum, { amount }) => sum + amount, 0)
  if (BigInt(listed) === withdrawal.returnedAmount) return
  const { accountId, id: withdrawalId } = withdrawal
  for (const payoutReturn of returns) await returnPayout({ accountId, withdrawalId }, payoutReturn)
}

function findPaid(connectionId: string, { endToEndId }: SentPayout) {
  return db().withdrawal.findFirst({
    where: { connectionId, endToEndId, status: 'approved' },
    select: { accountId: true, id: true, returnedAmount: true },
  })
}

/** Finds a withdrawal that people ended as sent: the bank had not named its payment. */
async function findEnded(connectionId: string, { id, amount, sentAt }: SentPayout) {
  if (id === null) return null
  const earliest = new Date(sentAt.getTime() - WAIT_MAX_MS)
  // The condition on the status is that of the index by connection and time.
  const [withdrawal] = await db().$queryRaw<
    { accountId: string; id: string; returnedAmount: bigint }[]
  >`
    SELECT account_id AS "accountId", id, returned_amount AS "returnedAmount" FROM withdrawals
    WHERE connection_id = ${connectionId}::uuid AND created_at >= ${earliest}::timestamptz
      AND mode = 'live' AND status <> 'rejected' AND status = 'approved'
      AND id = ${id}::uuid AND end_to_end_id IS NULL AND amount = ${amount}::bigint`
  return withdrawal ?? null
}
