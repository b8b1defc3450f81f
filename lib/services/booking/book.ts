import { type MemberAction, recordAction } from '#lib/base/audit/record.ts'
import type { Prisma } from '#lib/base/db/client.ts'
import { type Once, storeKey } from '#lib/base/db/once.ts'
import { buildStatement, type Ctes, listCtes, type Source } from '#lib/base/db/statement.ts'
import type { Movement } from '#lib/services/ledger/movements.ts'
import { type TransferColumn, transferCtes } from '#lib/services/ledger/transfer.ts'
import { type EventColumn, eventCtes } from '#lib/services/webhooks/events.ts'
import type { EventType } from '#lib/services/webhooks/states.ts'

interface Booking<Column extends string> {
  /** The key of the request, stored together with what it makes. */
  idempotency?: Once
  /** Write the rows that `source` selects from. */
  ctes: Ctes
  /** One row per subject: a charge, a withdrawal or a refund. No row, nothing moves. */
  source: Source<Column>
  movement: Movement
  /** The member's action that moves the money; its `by` is null for a program. */
  audit?: MemberAction
  /** One JSON value per row that `source` selects from. */
  returning: Prisma.Sql
}

type BookingWithEvent = Booking<TransferColumn | EventColumn> & { event: EventType }
type BookingWithoutEvent = Booking<TransferColumn> & { event?: undefined }

/**
 * Builds the one statement in which money moves: it writes the rows, the key of the request, the
 * audit record, the transfers and the events. A crash leaves all of it or nothing. Ledger rows are
 * locked before event sequences, in every statement, so that two of them cannot deadlock.
 */
export function bookMovement(booking: BookingWithEvent | BookingWithoutEvent): Prisma.Sql {
  const { idempotency, ctes, source, movement, event, audit, returning } = booking
  const noted = audit ? recordAction(audit, 'source') : null
  return buildStatement({
    ctes: { kept: storeKey(idempotency), ...ctes },
    source,
    parts: [
      noted && listCtes({ noted }),
      transferCtes(movement, 'source'),
      event ? eventCtes(event, 'source', { after: 'ledger_moved' }) : null,
    ],
    returning,
  })
}

/** The same for what happens without money: the rows and their events. */
export function recordEvent(event: {
  ctes: Ctes
  source: Source<EventColumn>
  event: EventType
  returning: Prisma.Sql
}): Prisma.Sql {
  return buildStatement({ ...event, parts: [eventCtes(event.event, 'source')] })
}
