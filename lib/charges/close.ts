import { chargeAsJson } from '#lib/charges/queries.ts'
import type { ChargeRow } from '#lib/charges/schema.ts'
import { settleCharges } from '#lib/charges/settle.ts'
import { Prisma } from '#lib/db/client.ts'
import { queryRows } from '#lib/db/rows.ts'
import { retried } from '#lib/db/transaction.ts'
import type { ChargeState } from '#lib/gateway/gateway.ts'
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
  const [row] = await retried(() =>
    queryRows<ChargeRow>(Prisma.sql`
      WITH closed AS (
        UPDATE charges c SET status = ${outcome}, updated_at = now(), due_at = NULL, lease = NULL
        WHERE c.account_id = ${accountId}::uuid AND c.id = ${chargeId}::uuid
          AND c.status = 'pending'
        RETURNING c.*
      ), source AS (
        SELECT c.account_id, c.mode, c.id, ${eventId}::uuid AS event_id, c.webhook_url,
          ${chargeAsJson} AS resource
        FROM closed c
      ), ${eventCtes(`transaction.${outcome}`, 'source')}
      SELECT ${chargeAsJson}::text AS json FROM closed c`),
  )
  return row ?? null
}

/**
 * Does what the bank says of a charge whose time has come or whose end was reported; what it has
 * not heard of has expired. Null: the charge has had that end already.
 */
export async function endAsSaid(
  accountId: string,
  chargeId: string,
  said: ChargeState | undefined,
): Promise<ChargeRow | null> {
  if (said?.state !== 'paid') {
    return closeCharge(accountId, chargeId, said?.state === 'failed' ? 'failed' : 'expired')
  }
  const { endToEndId, paidAt } = said
  const [row] = await settleCharges([{ accountId, chargeId, endToEndId, paidAt }])
  return row ?? null
}
