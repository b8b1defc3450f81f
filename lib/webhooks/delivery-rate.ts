import type { Mode } from '#lib/core/mode.ts'
import { Prisma } from '#lib/db/client.ts'
import { queryRows } from '#lib/db/rows.ts'

/** Maximum deliveries read, so that the cost does not grow with traffic. */
const SAMPLE_MAX = 1_000
const SAMPLE_AGE_MAX = '7 days'

/** Success share and mean duration; null without attempts. Excludes stopped deliveries. */
export async function readDeliveryRate(
  accountId: string,
  mode: Mode,
): Promise<{ delivered: number; mean_ms: number | null } | null> {
  const [counts] = await queryRows<{ arrived: number; tried: number; mean_ms: number | null }>(
    Prisma.sql`
    SELECT row_to_json(found)::text AS json FROM (
      SELECT count(*) FILTER (WHERE d.status = 'delivered') AS arrived, count(*) AS tried,
        round(avg(a.duration_ms) FILTER (WHERE d.status = 'delivered'))::int AS mean_ms
      FROM (
        SELECT d.account_id, d.id, d.status, d.created_at FROM deliveries d
        WHERE d.account_id = ${accountId}::uuid AND d.mode = ${mode}
        ORDER BY d.sequence DESC LIMIT ${SAMPLE_MAX}) d
      CROSS JOIN LATERAL (
        SELECT a.duration_ms FROM delivery_attempts a
        WHERE a.account_id = d.account_id AND a.delivery_id = d.id
        ORDER BY a.number DESC LIMIT 1) a
      WHERE d.created_at > now() - ${SAMPLE_AGE_MAX}::interval AND d.status <> 'stopped') found`,
  )
  if (!counts || counts.tried === 0) return null
  return { delivered: counts.arrived / counts.tried, mean_ms: counts.mean_ms }
}
