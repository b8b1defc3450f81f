import { chargeColumns } from '#lib/charges/queries.ts'
import type { ChargeRow } from '#lib/charges/schema.ts'
import { db } from '#lib/db/client.ts'
import { retried } from '#lib/db/transaction.ts'
import { newId } from '#lib/ids.ts'
import { eventCtes } from '#lib/webhooks/events.ts'

/**
 * Ends a pending charge without money and records the event, in one statement. Null: it was no
 * longer pending, so somebody else has ended it.
 */
export async function closeCharge(
  accountId: string,
  chargeId: string,
  outcome: 'expired' | 'failed',
): Promise<ChargeRow | null> {
  const eventId = newId()
  const [row] = await retried(
    () => db().$queryRaw<ChargeRow[]>`
      WITH closed AS (
        UPDATE charges c SET status = ${outcome}, updated_at = now(), due_at = NULL, lease = NULL
        WHERE c.account_id = ${accountId}::uuid AND c.id = ${chargeId}::uuid
          AND c.status = 'pending'
        RETURNING c.*
      ), source AS (
        SELECT c.account_id, c.mode, c.id, ${eventId}::uuid AS event_id, c.webhook_url,
          (SELECT row_to_json(r) FROM (SELECT ${chargeColumns}) r) AS resource
        FROM closed c
      ), ${eventCtes(`transaction.${outcome}`, 'source')}
      SELECT ${chargeColumns} FROM closed c`,
  )
  return row ?? null
}
