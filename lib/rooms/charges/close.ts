// Over the house budget: all ways to end a charge without money share one statement.

import { Prisma } from '#lib/base/db/client.ts'
import { queryRows } from '#lib/base/db/rows.ts'
import { retried } from '#lib/base/db/transaction.ts'
import { wake } from '#lib/base/db/wake.ts'
import { newId } from '#lib/base/ids.ts'
import { chargeAsJson, eventColumns } from '#lib/rooms/charges/queries.ts'
import type { ChargeRow } from '#lib/rooms/charges/schema.ts'
import { recordEvent } from '#lib/services/booking/book.ts'

export interface Closing {
  accountId: string
  chargeId: string
  /** Nobody said that it is over: only if its time is up, by the database's clock. */
  ifTimeUp?: boolean
  /** The lease of the job that closes it: without it any more, it writes nothing. */
  lease?: string
}

/**
 * Ends pending charges without money and records the events, in one statement; the ids of those
 * that were closed. What is missing was no longer pending: somebody else has ended it.
 */
export async function closeCharges(
  closings: Closing[],
  outcome: 'expired' | 'failed',
): Promise<{ id: string }[]> {
  const rows = await close<{ id: string }>(closings, outcome, ID)
  if (rows.length > 0) wake('deliveries')
  return rows
}

/**
 * The same for charges that nobody holds, as far as they are due and `unheard` holds of `c`. What
 * somebody else works on is left to him, and the caller wakes whoever delivers.
 */
export function closeUnheard(
  closings: Omit<Closing, 'lease'>[],
  unheard: Prisma.Sql,
): Promise<{ id: string }[]> {
  return close(closings, 'expired', ID, {
    further: Prisma.sql`AND c.due_at <= now() AND (${unheard})`,
    locking: Prisma.sql`SKIP LOCKED`,
  })
}

const ID = Prisma.sql`json_build_object('id', c.id)`

function close<Told>(
  closings: Closing[],
  outcome: 'expired' | 'failed',
  told: Prisma.Sql,
  { further, locking } = { further: Prisma.empty, locking: Prisma.empty },
): Promise<Told[]> {
  const leases = closings.map(({ lease }) => lease ?? null)
  const events = closings.map(() => newId())
  const mayBeClosed = Prisma.sql`c.status = 'pending'
    AND (p.lease IS NULL OR c.lease = p.lease) AND (NOT p.if_time_up OR c.expires_at <= now()) ${further}`
  const statement = recordEvent({
    ctes: {
      closings: Prisma.sql`
        SELECT * FROM unnest(${closings.map(({ accountId }) => accountId)}::uuid[],
            ${closings.map(({ chargeId }) => chargeId)}::uuid[], ${leases}::uuid[],
            ${closings.map(({ ifTimeUp }) => ifTimeUp ?? false)}::boolean[], ${events}::uuid[])
          AS p (account_id, id, lease, if_time_up, event_id)`,
      locked: Prisma.sql`
        SELECT c.account_id, c.id FROM charges c JOIN closings p USING (account_id, id)
        WHERE ${mayBeClosed}
        ORDER BY c.account_id, c.id FOR UPDATE OF c ${locking}`,
      closed: Prisma.sql`
        UPDATE charges c SET status = ${outcome}, updated_at = now(), due_at = NULL, lease = NULL
        FROM locked k JOIN closings p USING (account_id, id)
        WHERE c.account_id = k.account_id AND c.id = k.id AND ${mayBeClosed}
        RETURNING c.*, p.event_id`,
    },
    source: { from: Prisma.sql`closed c`, columns: eventColumns },
    event: `transaction.${outcome}`,
    returning: told,
  })
  return retried(() => queryRows<Told>(statement))
}

/** Null: it was no longer pending. */
export async function closeCharge(
  accountId: string,
  chargeId: string,
  outcome: 'expired' | 'failed',
): Promise<ChargeRow | null> {
  const [row] = await close<ChargeRow>([{ accountId, chargeId }], outcome, chargeAsJson)
  if (row) wake('deliveries')
  return row ?? null
}
