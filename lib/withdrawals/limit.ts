import { refuse } from '#lib/core/errors.ts'
import { idLowerBoundAt } from '#lib/core/ids.ts'
import { cents } from '#lib/core/money.ts'
import type { ExceededLimit } from '#lib/core/refusals.ts'
import { Prisma, type Tx } from '#lib/db/client.ts'
import { type LimitedOrder, readLimits } from '#lib/withdrawals/read-limits.ts'

/**
 * Refuses over a live-mode limit, rolling back the caller's transaction. The caller holds the lock
 * on the balance, so no other withdrawal of the account can intervene; a statement before that lock
 * would not see the one that held it. Names the limit that frees last.
 */
export async function requireWithinLimits(
  tx: Tx,
  accountId: string,
  order: LimitedOrder,
): Promise<void> {
  const limits = await readLimits(tx, accountId, order)
  if (!limits) return
  const { withdrawalMax, nightMax, dayMax, payoutMax, payoutDayMax } = limits
  const { nightBegan, nightEnds, dayBegan, dayEnds } = limits
  const exceeded: ExceededLimit[] = []
  const check = (name: ExceededLimit['name'], max: bigint | null, total: number, ends?: Date) => {
    if (max === null || total <= cents(max)) return
    const isLater = name === 'account_night' || order.amount <= cents(max)
    const amount = name === 'connection_day' ? null : cents(max)
    exceeded.push({ name, amount, freesAt: (isLater && ends) || null })
  }
  const ofAccount = (from: Date) =>
    Prisma.sql`account_id = ${accountId}::uuid AND id >= ${idLowerBoundAt(from.getTime())}::uuid`
  check('account_withdrawal', withdrawalMax, order.amount)
  check('connection_withdrawal', payoutMax, order.amount)
  if (nightMax !== null && nightBegan && nightEnds) {
    const total = await sumWithdrawals(tx, ofAccount(nightBegan), nightBegan, nightEnds)
    check('account_night', nightMax, total, nightEnds)
  }
  if (dayMax !== null) {
    const total = await sumWithdrawals(tx, ofAccount(dayBegan), dayBegan, dayEnds)
    check('account_day', dayMax, total, dayEnds)
  }
  if (payoutDayMax !== null) {
    const ofConnection = await lockConnection(tx, order.connectionId)
    const total = await sumWithdrawals(tx, ofConnection, dayBegan, dayEnds)
    check('connection_day', payoutDayMax, total, dayEnds)
  }
  const [limit] = exceeded.sort((one, other) => freesIn(other) - freesIn(one))
  if (limit) throw refuse('limit_exceeded', { limit })
}

function freesIn({ freesAt }: ExceededLimit): number {
  return freesAt?.getTime() ?? Number.MAX_SAFE_INTEGER
}

/** Until the commit, no other account can create a withdrawal through the same connection. */
async function lockConnection(tx: Tx, id: string | null | undefined): Promise<Prisma.Sql> {
  await tx.$executeRaw`SELECT FROM connections WHERE id = ${id ?? null}::uuid FOR NO KEY UPDATE`
  return Prisma.sql`connection_id = ${id ?? null}::uuid`
}

/** Sums what was not rejected; a withdrawal counts for the time at which it was created. */
async function sumWithdrawals(
  tx: Tx,
  condition: Prisma.Sql,
  from: Date,
  until: Date,
): Promise<number> {
  const [sum] = await tx.$queryRaw<{ total: bigint }[]>`
    SELECT COALESCE(sum(amount), 0)::bigint AS total FROM withdrawals
    WHERE ${condition} AND mode = 'live' AND status <> 'rejected'
      AND created_at >= ${from}::timestamptz AND created_at < ${until}::timestamptz`
  return cents(sum?.total ?? 0)
}
