import { Prisma, type Tx } from '#lib/db/client.ts'
import { homeZone } from '#lib/db/sql.ts'
import type { WithdrawalOrder } from '#lib/withdrawals/schema.ts'

export type LimitedOrder = Pick<WithdrawalOrder, 'amount' | 'bookedAt' | 'connectionId'>

interface Limits {
  withdrawalMax: bigint | null
  nightMax: bigint | null
  dayMax: bigint | null
  payoutMax: bigint | null
  payoutDayMax: bigint | null
  /** Start of the request's night, 20:00 in São Paulo; null by day. */
  nightBegan: Date | null
  /** End of the same night, 06:00 in São Paulo; null by day. */
  nightEnds: Date | null
  dayBegan: Date
  dayEnds: Date
}

/** Reads the limits of the account and of the connection, and the night and day of the order. */
export async function readLimits(
  tx: Tx,
  accountId: string,
  { bookedAt, connectionId }: LimitedOrder,
): Promise<Limits | undefined> {
  const zone = Prisma.sql`AT TIME ZONE ${homeZone}`
  const [limits] = await tx.$queryRaw<Limits[]>`
    SELECT a.withdrawal_max AS "withdrawalMax", a.night_max AS "nightMax", a.day_max AS "dayMax",
      n.payout_max AS "payoutMax", n.payout_day_max AS "payoutDayMax",
      (night.evening + time '20:00') ${zone} AS "nightBegan",
      (night.evening + 1 + time '06:00') ${zone} AS "nightEnds",
      here.at::date::timestamp ${zone} AS "dayBegan", (here.at::date + 1)::timestamp ${zone} AS "dayEnds"
    FROM accounts a
    LEFT JOIN connections n ON n.id = ${connectionId ?? null}::uuid
    CROSS JOIN LATERAL (SELECT COALESCE(${bookedAt ?? null}::timestamptz, now()) ${zone} AS at) here
    CROSS JOIN LATERAL (SELECT CASE WHEN here.at::time >= '20:00' THEN here.at::date
      WHEN here.at::time < '06:00' THEN here.at::date - 1 END AS evening) night
    WHERE a.id = ${accountId}::uuid`
  return limits
}
