import { type MemberAction, recordAction } from '#lib/base/audit/record.ts'
import { Prisma } from '#lib/base/db/client.ts'
import { type IdempotentRequest, storeKeySql } from '#lib/base/db/idempotency.ts'
import { buildStatement, type Ctes, joinCtes, type Source } from '#lib/base/db/statement.ts'
import type { Movement } from '#lib/services/ledger/movements.ts'
import { type TransferColumn, transferCtes } from '#lib/services/ledger/transfer.ts'
import { type EventColumn, eventCtes } from '#lib/services/webhooks/events.ts'
import type { EventType } from '#lib/services/webhooks/states.ts'

interface Booking<Booked extends Movement, Column extends string> {
  /** Idempotency key, stored in the same statement. */
  idempotency?: IdempotentRequest
  /** CTEs that write the rows that `source` selects from. */
  ctes: Ctes
  /** One row per charge, withdrawal or refund. Without rows nothing is booked. */
  source: Source<TransferColumn<Booked> | Column> & { columns: { booked_at?: Prisma.Sql } }
  movement: Booked
  /** Whether a credit to `available` repays what the account owes first: see repayIfOwed. */
  isRepaying?: boolean
  /** Audited action. Its `by` is null if an API token requested it. */
  audit?: MemberAction
  returning: Prisma.Sql
}

type BookingWithEvent<Booked extends Movement> = Booking<Booked, EventColumn> & { event: EventType }
type BookingWithoutEvent<Booked extends Movement> = Booking<Booked, never> & { event?: undefined }

/**
 * Builds the statement of every movement of money: rows, idempotency key, audit record, transfers
 * and events. A crash leaves all or nothing. Ledger rows are always locked before event sequences,
 * so that two statements cannot deadlock.
 */
export function bookMovement<Booked extends Movement>(
  booking: BookingWithEvent<Booked> | BookingWithoutEvent<Booked>,
): Prisma.Sql {
  const { idempotency, ctes, source, movement, isRepaying, event, audit, returning } = booking
  const columns: Record<string, Prisma.Sql> = {
    booked_at: Prisma.sql`NULL::timestamptz`,
    ...source.columns,
  }
  const auditInsert = audit ? recordAction(audit, 'source') : null
  return buildStatement({
    ctes: { kept: storeKeySql(idempotency), ...ctes },
    source: { ...source, columns },
    parts: [
      auditInsert && joinCtes({ noted: auditInsert }),
      transferCtes(movement, 'source', { isRepaying }),
      event ? eventCtes(event, 'source', { after: 'ledger_moved' }) : null,
    ],
    returning,
  })
}

export function recordEvent(event: {
  ctes: Ctes
  source: Source<EventColumn>
  event: EventType
  returning: Prisma.Sql
}): Prisma.Sql {
  return buildStatement({ ...event, parts: [eventCtes(event.event, 'source')] })
}
