import { leaseMs } from '#lib/db/claim.ts'
import { Prisma } from '#lib/db/client.ts'
import { utc } from '#lib/db/columns.ts'
import { queryRows } from '#lib/db/rows.ts'
import { newId } from '#lib/ids.ts'
import type { Mode } from '#lib/mode.ts'
import type { EventRow } from '#lib/webhooks/schema.ts'

/** Calls under way at once, over all workers, so that no receiver takes the place of the others. */
const OF_ACCOUNT_MAX = 64
const OF_HOST_MAX = 16
const OF_URL_MAX = 4

export interface DueDelivery {
  accountId: string
  id: string
  mode: Mode
  lease: string
  url: string
  endpointId: string | null
  /** Tries that failed since it was first, or again, to be delivered. */
  tried: number
  event: EventRow
  /** What was sent first: every later try sends the same bytes. */
  body: string | null
  /** Those in force, the newest first, sealed (in base64). */
  secrets: { id: string; sealed: string }[] | null
}

/** Takes what is due, of each receiver no more than it has room for, under one lease. */
export async function takeDue(most: number): Promise<DueDelivery[]> {
  const lease = newId()
  const [taken] = await queryRows<{ count: number }>(Prisma.sql`
    SELECT json_build_object('count', count(*))::text AS json FROM troco_claim_deliveries(
      ${lease}::uuid, ${leaseMs()}::float8, ${most}::integer,
      ${OF_ACCOUNT_MAX}::integer, ${OF_HOST_MAX}::integer, ${OF_URL_MAX}::integer)`)
  if (!taken || taken.count === 0) return []
  return queryRows<DueDelivery>(Prisma.sql`
    SELECT row_to_json(t)::text AS json FROM (
      SELECT d.account_id AS "accountId", d.id, d.mode, d.lease, d.url,
        d.endpoint_id AS "endpointId", d.attempts - d.attempts_before AS tried,
        (SELECT row_to_json(v) FROM (
          SELECT e.id, e.type, e.mode, e.sequence, e.resource, ${utc('e.created_at')}) v) AS event,
        (SELECT a.request_body FROM delivery_attempts a
          WHERE a.account_id = d.account_id AND a.delivery_id = d.id
            AND a.request_body IS NOT NULL
          ORDER BY a.number LIMIT 1) AS body,
        (SELECT json_agg(json_build_object('id', s.id, 'sealed', encode(s.sealed, 'base64'))
            ORDER BY s.retires_at DESC NULLS FIRST)
          FROM webhook_secrets s
          WHERE s.account_id = d.account_id AND s.mode = d.mode
            AND s.endpoint_id IS NOT DISTINCT FROM d.endpoint_id
            AND (s.retires_at IS NULL OR s.retires_at > now())) AS secrets
      FROM deliveries d JOIN events e ON e.account_id = d.account_id AND e.id = d.event_id
      WHERE d.lease = ${lease}::uuid
      ORDER BY d.sequence) t`)
}
