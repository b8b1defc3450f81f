import { type MemberAction, recordAction } from '#lib/audit/record.ts'
import { parseDatabaseError, refuse } from '#lib/core/errors.ts'
import type { Mode } from '#lib/core/mode.ts'
import { cents } from '#lib/core/money.ts'
import { Prisma, type Tx } from '#lib/db/client.ts'
import { type IdempotentRequest, storeKeySql } from '#lib/db/idempotency.ts'
import {
  accountRow,
  type Ctes,
  joinCtes,
  queryRows,
  type Source,
  selectSource,
} from '#lib/db/sql.ts'
import { type EventType, goesToResource } from '#lib/webhooks/states.ts'

type Sides<Ledger> = Record<string, { debit: Ledger; credit: Ledger }>

/**
 * Movements in the books of a merchant, each once per subject. `external`: received through the bank,
 * negative. `available`: can be withdrawn or refunded. `outbound`: held until the bank reports a
 * result. `disputed`: what payers dispute. `owed`: what the account lacks for it, negative.
 */
export const MERCHANT_MOVEMENTS = {
  charge_paid: { debit: 'external', credit: 'available' },
  /** Booked with the request, so that the amount cannot be spent twice. */
  withdrawal_held: { debit: 'available', credit: 'outbound' },
  withdrawal_sent: { debit: 'outbound', credit: 'external' },
  withdrawal_returned: { debit: 'outbound', credit: 'available' },
  refund_held: { debit: 'available', credit: 'outbound' },
  refund_sent: { debit: 'outbound', credit: 'external' },
  refund_returned: { debit: 'outbound', credit: 'available' },
  /** The receiver's bank has sent the money of a withdrawal back, or a part of it. */
  payout_returned: { debit: 'external', credit: 'available' },
  /** A payment that no charge expected, given to the account by a person of the operator. */
  unmatched_credited: { debit: 'external', credit: 'available' },
  /** The bank has given the money of a payment back by itself. */
  payment_returned: { debit: 'available', credit: 'external' },
  payment_return_owed: { debit: 'owed', credit: 'external' },
  dispute_held: { debit: 'available', credit: 'disputed' },
  dispute_owed: { debit: 'owed', credit: 'disputed' },
  dispute_won: { debit: 'disputed', credit: 'available' },
  dispute_lost: { debit: 'disputed', credit: 'external' },
  owed_repaid: { debit: 'available', credit: 'owed' },
  owed_written_off: { debit: 'external', credit: 'owed' },
  /** What the account lacks for a correcting entry. */
  correction_owed: { debit: 'owed', credit: 'external' },
} as const satisfies Sides<'available' | 'outbound' | 'disputed' | 'owed' | 'external'>

/**
 * Movements in the books of the operator. `external`: as above, of any sign. `unmatched`: payments that
 * belong to no charge. `own`: the operator's money; negative if the operator has paid more than it has.
 */
export const OPERATOR_MOVEMENTS = {
  unmatched_received: { debit: 'external', credit: 'unmatched' },
  /** Given to a merchant or back to the payer. */
  unmatched_released: { debit: 'unmatched', credit: 'external' },
  unmatched_kept: { debit: 'unmatched', credit: 'own' },
  /** The bank has given it back by itself. */
  unmatched_payment_returned: { debit: 'unmatched', credit: 'external' },
  own_payment_returned: { debit: 'own', credit: 'external' },
  fee_paid: { debit: 'own', credit: 'external' },
  fee_returned: { debit: 'external', credit: 'own' },
  /** The operator pays what it no longer demands of an account, in the statement of owed_written_off. */
  write_off_paid: { debit: 'own', credit: 'external' },
} as const satisfies Sides<'own' | 'unmatched' | 'external'>

/** Sides of `corrected`, a correcting entry of two admins: from the bank or to it, of a merchant or the operator. */
export const CORRECTION_SIDES = {
  merchant: [
    { debit: 'external', credit: 'available' },
    { debit: 'available', credit: 'external' },
  ],
  operator: [
    { debit: 'external', credit: 'own' },
    { debit: 'own', credit: 'external' },
  ],
} as const
type CorrectionSides = (typeof CORRECTION_SIDES)['merchant' | 'operator'][number]

/** The balances of an account always sum to zero. The sides of `corrected` come with each booking. */
export const MOVEMENTS = {
  ...MERCHANT_MOVEMENTS,
  ...OPERATOR_MOVEMENTS,
  corrected: CORRECTION_SIDES.operator[0],
}
export type Movement = keyof typeof MOVEMENTS

/**
 * Columns of `source`: `id` is the subject. A null `booked_at`, or none, means now. A movement on `external` names
 * the connection to the bank through which the money moves.
 */
type TransferColumn<Booked extends Movement> =
  | ('account_id' | 'mode' | 'id' | 'amount')
  | ('external' extends (typeof MOVEMENTS)[Booked]['debit' | 'credit'] ? 'connection_id' : never)

/** Columns of `source`; `resource` is the subject's current row as JSON, `trace` a `currentCause()`. */
type EventColumn =
  | ('account_id' | 'mode' | 'event_id' | 'subject_id' | 'resource' | 'trace')
  | ('webhook_url' | 'webhook_host')

interface Booking<Booked extends Movement, Column extends string> {
  /** Idempotency key, stored in the same statement. */
  idempotency?: IdempotentRequest
  /** CTEs that write the rows that `source` selects from. */
  ctes: Ctes
  /** One row per charge, withdrawal or refund. Without rows nothing is booked. */
  source: Source<TransferColumn<Booked> | Column> & { columns: { booked_at?: Prisma.Sql } }
  movement: Booked
  /** Direction of a correcting entry. Default: that of the movement. */
  sides?: Booked extends 'corrected' ? CorrectionSides : never
  /** Audited action. Its `by` is null if an API token requested it. */
  audit?: MemberAction
}

type BookingWithEvent<Booked extends Movement> = Booking<Booked, EventColumn> & {
  event: EventType
  /** Defaults to the resource of the event. */
  returning?: Prisma.Sql
}
type BookingWithoutEvent<Booked extends Movement> = Booking<Booked, never> & {
  event?: undefined
  returning: Prisma.Sql
}

/**
 * Builds the statement of every movement of money but a request for a withdrawal (lib/withdrawals/create.ts): rows, idempotency key, audit record and one call of
 * prisma/functions/troco_book.sql, which books transfers and events. A crash leaves all or nothing. The rows
 * are locked before the books and those before the event sequences, so that two statements cannot deadlock.
 */
export function bookMovement<Booked extends Movement>(
  booking: BookingWithEvent<Booked> | BookingWithoutEvent<Booked>,
): Prisma.Sql {
  const { idempotency, ctes, source, movement, sides, event, audit, returning } = booking
  const columns: Record<string, Prisma.Sql> = {
    booked_at: Prisma.sql`NULL::timestamptz`,
    ...source.columns,
  }
  return bookingStatement(
    {
      kept: storeKeySql(idempotency),
      ...ctes,
      source: selectSource({ ...source, columns }),
      audited: audit ? recordAction(audit, 'source') : null,
      booked: bookSql(movement, event, sides),
    },
    source.from,
    returning,
  )
}

/** Books one movement of an amount that the caller knows, in its transaction. */
export async function bookOne<Booked extends Movement>(
  tx: Tx,
  movement: Booked,
  row: {
    accountId: string
    mode: string
    id: string
    amount: bigint | number
    connectionId: string
  },
  sides?: Booking<Booked, never>['sides'],
): Promise<void> {
  const columns = {
    account_id: Prisma.sql`${row.accountId}::uuid`,
    mode: Prisma.sql`${row.mode}::text`,
    id: Prisma.sql`${row.id}::uuid`,
    amount: Prisma.sql`${row.amount}::bigint`,
    connection_id: Prisma.sql`${row.connectionId}::uuid`,
  }
  const statement = bookMovement<Booked>({
    ctes: {},
    source: { from: Prisma.sql`(SELECT) one`, columns },
    movement,
    ...(sides && { sides }),
    returning: Prisma.sql`json_build_object('id', ${row.id}::uuid)`,
  })
  await queryRows(statement, tx)
}

/** Builds the statement of an event without a movement. */
export function recordEvent({
  ctes,
  source,
  event,
  returning,
}: {
  ctes: Ctes
  source: Source<EventColumn>
  event: EventType
  returning: Prisma.Sql
}): Prisma.Sql {
  const booked = bookSql(null, event)
  return bookingStatement({ ...ctes, source: selectSource(source), booked }, source.from, returning)
}

/** PostgreSQL evaluates a CTE that only calls a function because the statement reads its result. */
function bookingStatement(
  ctes: Ctes & { booked: Prisma.Sql },
  from: Prisma.Sql,
  returning?: Prisma.Sql,
): Prisma.Sql {
  const result = returning
    ? Prisma.sql`${returning}::text AS json FROM ${from}`
    : Prisma.sql`s.resource::text AS json FROM source s`
  return Prisma.sql`WITH ${joinCtes(ctes)} SELECT ${result} CROSS JOIN booked`
}

/** Calls prisma/functions/troco_book.sql with the rows of the CTE `source`. */
export function bookSql(
  movement: Movement | null,
  event?: EventType,
  { debit, credit }: { debit?: string; credit?: string } = movement ? MOVEMENTS[movement] : {},
): Prisma.Sql {
  const names = [movement, debit, credit, event]
  const literals = names.map(name => (name ? `'${name}'` : 'NULL')).join(', ')
  const fields = [transferFields(movement), eventFields(event)].join(', ')
  return Prisma.sql`
    SELECT troco_book(${Prisma.raw(literals)},
      array_agg(ROW(s.account_id, s.mode, ${Prisma.raw(fields)})::troco_booking)) FROM source s`
}

/** The fields of `troco_booking` about the transfer. Only one on `external` has a connection. */
function transferFields(movement: Movement | null): string {
  if (!movement) return 'NULL, NULL, NULL, NULL'
  const { debit, credit }: { debit: string; credit: string } = MOVEMENTS[movement]
  const isExternal = debit === 'external' || credit === 'external'
  return `s.id, s.amount, ${isExternal ? 's.connection_id' : 'NULL'}, s.booked_at`
}

/** The fields of `troco_booking` about the event. An event may go to endpoints only. */
function eventFields(event: EventType | undefined): string {
  if (!event) return 'NULL, NULL, NULL, NULL, NULL, NULL'
  const target = goesToResource(event) ? 's.webhook_url, s.webhook_host' : 'NULL, NULL'
  return `s.event_id, s.subject_id, s.resource, s.trace, ${target}`
}

/** Creates the ledgers and event sequences of a new account: prisma/functions/troco_open_books.sql. */
export async function openBooks(tx: Tx, accountId: string): Promise<void> {
  await tx.$executeRaw`SELECT troco_open_books(${accountId}::uuid)`
}

/** The balance that can be withdrawn or refunded. */
export const availableRow = accountRow<number>(
  (account, mode) => Prisma.sql`
    SELECT l.balance AS json FROM ledger_accounts l
    WHERE l.account_id = ${account} AND l.mode = ${mode} AND l.ledger = 'available'`,
)

export async function readAvailable(
  accountId: string,
  mode: Mode,
  find = availableRow.find,
): Promise<number> {
  return cents((await find(accountId, mode, null)) ?? 0)
}

/** Throws `insufficient_balance` if the CHECK on the available balance failed, else the error. */
export function refuseOverdraft(error: unknown): never {
  const { constraint } = parseDatabaseError(error)
  const isOverdraft = constraint === 'ledger_accounts_available_not_negative'
  throw isOverdraft ? refuse('insufficient_balance') : error
}
