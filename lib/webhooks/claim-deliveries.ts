import { newId } from '#lib/core/ids.ts'
import type { Mode } from '#lib/core/mode.ts'
import { leaseMs } from '#lib/db/claim.ts'
import { Prisma } from '#lib/db/client.ts'
import { clockFrom } from '#lib/db/clock.ts'
import { queryRows } from '#lib/db/sql.ts'
import type { EventRow } from '#lib/webhooks/events.ts'

/** Maximum concurrent calls per account over all workers: no account uses up the capacity. */
const PER_ACCOUNT_MAX = 64
export const PER_HOST_MAX = 16
export const PER_URL_MAX = 4

export interface DueDelivery {
  accountId: string
  id: string
  mode: Mode
  lease: string
  url: string
  endpointId: string | null
  /** Failed attempts since the delivery was enqueued or last resent. */
  tried: number
  event: EventRow
  /** See `currentCause` in lib/core/trace.ts. */
  trace: string | null
  /** Body of the first attempt, null before it: every later attempt sends the same bytes. */
  body: string | null
  /** Active secrets, newest first, encrypted, base64. */
  secrets: { id: string; sealed: string }[] | null
  /** The database's clock, which signs: a worker's may be wrong by more than a receiver tolerates. */
  now: () => Date
}

type ClaimedRow = Omit<DueDelivery, 'now'> & { claimedAtMs: number }

/**
 * Claims at most `limit` deliveries; `reserved` of them only for accounts without a call in progress.
 * `more`: further deliveries may be due. See prisma/functions/troco_claim_deliveries.sql.
 */
export async function claimDueDeliveries(
  limit: number,
  reserved = 0,
): Promise<{ claimed: DueDelivery[]; more: boolean }> {
  const rows = await queryRows<ClaimedRow | null>(Prisma.sql`
    SELECT json FROM troco_claim_deliveries(
      ${newId()}::uuid, ${leaseMs()}::float8, ${limit}::integer, ${reserved}::integer,
      ${PER_ACCOUNT_MAX}::integer, ${PER_HOST_MAX}::integer, ${PER_URL_MAX}::integer) AS json`)
  const claimed = rows
    .filter(row => row !== null)
    .map(({ claimedAtMs, ...due }) => ({ ...due, now: clockFrom(claimedAtMs) }))
  return { claimed, more: claimed.length < rows.length }
}
