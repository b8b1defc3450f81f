import { Prisma } from '#lib/base/db/client.ts'
import { parseDatabaseError, refuse } from '#lib/base/errors.ts'
import { MOVEMENTS, type Movement } from '#lib/services/ledger/movements.ts'
import { movesCtes, repayingCtes } from '#lib/services/ledger/repay.ts'

/**
 * Columns of `source`: `id` is the subject. A null `booked_at`, or none, means now. A movement on `external` names
 * the connection to the bank through which the money moves.
 */
export type TransferColumn<Booked extends Movement> =
  | ('account_id' | 'mode' | 'id' | 'amount')
  | ('external' extends LedgerOf<Booked> ? 'connection_id' : never)

type LedgerOf<Booked extends Movement> = (typeof MOVEMENTS)[Booked]['debit' | 'credit']

/**
 * Builds the CTEs that write balances, transfers and entries; only they and those of repay.ts write
 * them. Locks ledger rows in a fixed order. A CHECK rejects a negative balance and rolls back the
 * statement: a WHERE condition would skip only one of its two balances. Another one rejects a credit
 * to an account that owes, unless the movement repays it.
 */
export function transferCtes(
  movement: Movement,
  source: string,
  options: { isRepaying?: boolean } = {},
): Prisma.Sql {
  const { debit, credit }: { debit: string; credit: string } = MOVEMENTS[movement]
  const touchesOwed = debit === 'owed' || credit === 'owed'
  if (touchesOwed || (options.isRepaying && credit === 'available'))
    return repayingCtes(movement, source)
  return Prisma.sql`
    ${movesCtes(movement, source)}, ledger_locked AS (
      SELECT l.account_id, l.mode, l.ledger, t.moves,
        CASE WHEN l.ledger = ${credit} THEN t.total ELSE -t.total END AS change
      FROM ledger_accounts l JOIN ledger_totals t USING (account_id, mode)
      WHERE l.ledger IN (${debit}, ${credit})
      ORDER BY l.account_id, l.mode, l.ledger
      FOR UPDATE OF l
    ), ledger_moved AS (
      UPDATE ledger_accounts l
      SET balance = l.balance + k.change, version = l.version + k.moves
      FROM ledger_locked k
      WHERE l.account_id = k.account_id AND l.mode = k.mode AND l.ledger = k.ledger
      RETURNING l.account_id, l.mode, l.ledger,
        sign(k.change)::bigint AS side,
        l.balance - k.change AS balance_before,
        l.version - k.moves AS version_before
    ), ledger_transferred AS (
      INSERT INTO ledger_transfers
        (account_id, kind, subject_id, mode, debit, credit, amount, connection_id, created_at)
      SELECT account_id, ${movement}, id, mode, ${debit}, ${credit}, amount, connection_id,
        COALESCE(booked_at, clock_timestamp())
      FROM ledger_moves
    ), ledger_entered AS (
      INSERT INTO ledger_entries (account_id, mode, ledger, version, kind, subject_id,
        amount, balance_after, created_at)
      SELECT b.account_id, b.mode, b.ledger, b.version_before + m.nth, ${movement}, m.id,
        b.side * m.amount, b.balance_before + b.side * m.running,
        COALESCE(m.booked_at, clock_timestamp())
      FROM ledger_moved b JOIN ledger_moves m USING (account_id, mode)
    )`
}

/** Returns whether the CHECK on the available balance failed. */
export function isOverdraft(error: unknown): boolean {
  return parseDatabaseError(error).constraint === 'ledger_accounts_available_not_negative'
}

/** Throws `insufficient_balance` if the CHECK on the available balance failed, else the error. */
export function refuseOverdraft(error: unknown): never {
  throw isOverdraft(error) ? refuse('insufficient_balance') : error
}
