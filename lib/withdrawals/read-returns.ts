import type { PayoutReturn, SentPayout } from '#lib/banks/gateway.ts'
import { createListReader, type ListReader } from '#lib/banks/list-reader.ts'
import { withConnectionJournal } from '#lib/banks/record-call.ts'
import { db } from '#lib/db/client.ts'
import { returnFailedPayout, returnPayout } from '#lib/withdrawals/outcome.ts'

/** Age up to which a payment may be returned by its receiver, by the rules of PIX; and a margin. */
const PERIOD_MS = 91 * 86_400_000
/** Longest time between the request of a withdrawal and its payout, with approval and pauses. */
const WAIT_MAX_MS = 91 * 86_400_000

const MINUTE_MS = 60_000

/** Most payments come back within minutes; the others are found by the reading of the whole period. */
const READINGS = [
  { name: 'recent returns', everyMs: 10 * MINUTE_MS, periodMs: 86_400_000 },
  { name: 'returns', everyMs: 360 * MINUTE_MS, periodMs: PERIOD_MS },
]

/**
 * Creates a reader that credits what came back of approved withdrawals, as banks list their payouts: a
 * bank is not asked about a withdrawal that has ended. After a crash at any point, or if two processes
 * read the same list, each return is credited once.
 */
export function createReturnsReader(now = Date.now): ListReader {
  const readers = READINGS.map(({ periodMs, ...task }) =>
    createListReader({
      ...task,
      findSince: async () => new Date(now() - periodMs),
      open: connection => withConnectionJournal(connection).listSentPayouts,
      now,
      book: creditReturns,
    }),
  )
  return {
    run: async signal => void (await Promise.all(readers.map(reader => reader.run(signal)))),
    idle: async () => void (await Promise.all(readers.map(reader => reader.idle()))),
  }
}

/** A withdrawal that is pending gets its returns with its approval. */
async function creditReturns(connectionId: string, payout: SentPayout): Promise<void> {
  const { returns, isFailed } = payout
  if (returns.length === 0 && !isFailed) return
  const withdrawal =
    (await findPaid(connectionId, payout)) ?? (await findEnded(connectionId, payout))
  if (!withdrawal) return
  if (isFailed) {
    await returnFailedPayout({ accountId: withdrawal.accountId, withdrawalId: withdrawal.id })
    return
  }
  const listed = returns.reduce((sum, { amount }) => sum + amount, 0)
  if (BigInt(listed) === withdrawal.returnedAmount) return
  const { accountId, id: withdrawalId } = withdrawal
  for (const payoutReturn of returns) await returnPayout({ accountId, withdrawalId }, payoutReturn)
}

/** Credits a return of an approved withdrawal, found by its end-to-end id. Called twice, it does nothing. */
export async function creditReturn(
  connectionId: string,
  endToEndId: string,
  payoutReturn: PayoutReturn,
): Promise<void> {
  const withdrawal = await findPaid(connectionId, { endToEndId })
  if (!withdrawal) return
  const { accountId, id: withdrawalId } = withdrawal
  await returnPayout({ accountId, withdrawalId }, payoutReturn)
}

function findPaid(connectionId: string, { endToEndId }: Pick<SentPayout, 'endToEndId'>) {
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
