// Over the line limit: all ways to end a charge without money share one statement.

import { type MemberAction, recordAction } from '#lib/audit/record.ts'
import { chargeAsJson, eventColumns } from '#lib/charges/queries.ts'
import type { ChargeRow } from '#lib/charges/schema.ts'
import { newRoutableId } from '#lib/core/ids.ts'
import { currentCause } from '#lib/core/trace.ts'
import { Prisma, retryOnConflict } from '#lib/db/client.ts'
import { arrayOf, queryRows } from '#lib/db/sql.ts'
import { wake } from '#lib/db/wake.ts'
import { recordEvent } from '#lib/ledger/book.ts'

export interface Closing {
  accountId: string
  chargeId: string
  /** Closes only if expired by the database's clock: the bank reported no result. */
  ifTimeUp?: boolean
  /** Lease of the job that closes the charge. A job that has lost the lease writes nothing. */
  lease?: string
}

/**
 * Ends pending charges without money and records their events in one statement. Returns the ids
 * closed; the others had ended, had lost their lease or had not expired yet. `dueAt`: when the bank
 * is called about them next.
 */
export async function closeCharges(
  closings: Closing[],
  outcome: 'expired' | 'failed',
  dueAt?: Prisma.Sql,
): Promise<{ id: string }[]> {
  const rows = await close<{ id: string }>(closings, outcome, idAsJson, { dueAt })
  if (rows.length > 0) wake('deliveries')
  return rows
}

/** Expires due, unclaimed charges `c` that match `unreported`. The caller wakes deliveries. */
export function closeUnreported(
  closings: Omit<Closing, 'lease'>[],
  unreported: Prisma.Sql,
): Promise<{ id: string }[]> {
  return close(closings, 'expired', idAsJson, {
    further: Prisma.sql`AND c.due_at <= now() AND (${unreported})`,
    locking: Prisma.sql`SKIP LOCKED`,
  })
}

/**
 * Expires a pending charge that was cancelled, also while a worker holds its lease. `by`: the member who
 * cancelled it; null for a program. Returns null if it was no longer pending.
 */
export async function closeCancelled(
  { accountId, chargeId, by }: Pick<Closing, 'accountId' | 'chargeId'> & Pick<MemberAction, 'by'>,
  dueAt: Prisma.Sql,
): Promise<ChargeRow | null> {
  const cancellation = { action: 'charge.cancelled', by } as const
  const options = { dueAt, cancellation }
  const [row] = await close<ChargeRow>([{ accountId, chargeId }], 'expired', chargeAsJson, options)
  if (row) wake('deliveries')
  return row ?? null
}

const idAsJson = Prisma.sql`json_build_object('id', c.id)`

interface CloseOptions {
  dueAt?: Prisma.Sql
  further?: Prisma.Sql
  locking?: Prisma.Sql
  /** Set if people or programs end the charges. */
  cancellation?: MemberAction
}

function close<Row>(
  closings: Closing[],
  outcome: 'expired' | 'failed',
  returning: Prisma.Sql,
  options: CloseOptions = {},
): Promise<Row[]> {
  const { dueAt = Prisma.sql`NULL`, further = Prisma.empty, locking = Prisma.empty } = options
  const { cancellation } = options
  const cancelled = cancellation ? Prisma.sql`, cancelled_at = now()` : Prisma.empty
  const accounts = closings.map(({ accountId }) => accountId)
  const charges = closings.map(({ chargeId }) => chargeId)
  const leases = closings.map(({ lease }) => lease ?? null)
  const areTimed = closings.map(({ ifTimeUp }) => ifTimeUp ?? false)
  const events = accounts.map(accountId => newRoutableId(accountId))
  const closableCondition = Prisma.sql`c.status = 'pending'
    AND (p.lease IS NULL OR c.lease = p.lease) AND (NOT p.if_time_up OR c.expires_at <= now()) ${further}`
  const statement = recordEvent({
    ctes: {
      closings: Prisma.sql`
        SELECT * FROM unnest(${arrayOf('uuid', accounts)}, ${arrayOf('uuid', charges)},
            ${arrayOf('uuid', leases)}, ${arrayOf('boolean', areTimed)}, ${arrayOf('uuid', events)})
          AS p (account_id, id, lease, if_time_up, event_id)`,
      locked: Prisma.sql`
        SELECT c.account_id, c.id FROM charges c JOIN closings p USING (account_id, id)
        WHERE ${closableCondition}
        ORDER BY c.account_id, c.id FOR UPDATE OF c ${locking}`,
      closed: Prisma.sql`
        UPDATE charges c SET status = ${outcome}, updated_at = now(), due_at = ${dueAt}, lease = NULL${cancelled}
        FROM locked k JOIN closings p USING (account_id, id)
        WHERE c.account_id = k.account_id AND c.id = k.id AND ${closableCondition}
        RETURNING c.*, p.event_id, ${currentCause()}::text AS trace`,
      noted: cancellation ? recordAction(cancellation, 'closed') : null,
    },
    source: { from: Prisma.sql`closed c`, columns: eventColumns },
    event: `transaction.${outcome}`,
    returning,
  })
  return retryOnConflict(() => queryRows<Row>(statement))
}

/** Closes one charge. Returns null if it was no longer pending. */
export async function closeCharge(
  accountId: string,
  chargeId: string,
  outcome: 'expired' | 'failed',
): Promise<ChargeRow | null> {
  const [row] = await close<ChargeRow>([{ accountId, chargeId }], outcome, chargeAsJson)
  if (row) wake('deliveries')
  return row ?? null
}
