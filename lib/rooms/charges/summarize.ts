import { Prisma } from '#lib/base/db/client.ts'
import { queryRows } from '#lib/base/db/rows.ts'
import { smallestIdAt } from '#lib/base/ids.ts'
import type { Mode } from '#lib/base/mode.ts'
import { cents } from '#lib/base/money.ts'

interface Sum {
  amount: number
  count: number
}

/** Ignores refunds. Moments are the merchant's midnights, so days of a clock change are exact. */
export async function sumPaid(accountId: string, mode: Mode, moments: Date[]): Promise<Sum[]> {
  const [first, last] = [moments[0], moments.at(-1)]
  const rows = await queryRows<Sum & { nth: number }>(Prisma.sql`
    SELECT json_build_object('nth', nth, 'amount', sum(amount), 'count', count(*))::text AS json
    FROM (SELECT c.amount, width_bucket(c.paid_at, ${moments}::timestamptz[]) AS nth
      FROM charges c
      WHERE c.account_id = ${accountId}::uuid AND c.mode = ${mode}
        AND c.paid_at >= ${first}::timestamptz AND c.paid_at < ${last}::timestamptz) paid
    GROUP BY nth`)
  const found = new Map(rows.map(({ nth, amount, count }) => [nth, { amount, count }]))
  return moments.slice(1).map((_, index) => {
    const { amount, count } = found.get(index + 1) ?? { amount: 0, count: 0 }
    return { amount: cents(amount), count }
  })
}

/**
 * Returns the paid share of ended charges created since `since`, and the median seconds to payment
 * of charges paid since then; null if none. Both scans are index-only.
 */
export async function summarizeCharges(
  accountId: string,
  mode: Mode,
  since: Date,
): Promise<{ conversion: number | null; median_seconds: number | null }> {
  const scope = Prisma.sql`c.account_id = ${accountId}::uuid AND c.mode = ${mode}`
  const [found] = await queryRows<{ paid: number; decided: number; seconds: number | null }>(
    Prisma.sql`
    SELECT row_to_json(found)::text AS json FROM (
      SELECT count(*) FILTER (WHERE c.status = 'paid') AS paid, count(*) AS decided,
        (SELECT percentile_cont(0.5) WITHIN GROUP (
            ORDER BY date_part('epoch', c.paid_at) - date_part('epoch', c.created_at))
          FROM charges c WHERE ${scope} AND c.paid_at >= ${since}::timestamptz) AS seconds
      FROM charges c
      WHERE ${scope} AND c.status IN ('paid', 'expired', 'failed')
        AND c.id >= ${smallestIdAt(since.getTime())}::uuid) found`,
  )
  const { paid = 0, decided = 0, seconds = null } = found ?? {}
  return {
    conversion: decided > 0 ? paid / decided : null,
    median_seconds: seconds === null ? null : Math.max(0, seconds),
  }
}
