import { parseDatabaseError, refuse } from '#lib/core/errors.ts'
import type { Mode } from '#lib/core/mode.ts'
import { cents } from '#lib/core/money.ts'
import { Prisma, type Tx } from '#lib/db/client.ts'
import { createSharedRead } from '#lib/db/sql.ts'

/** Creates the ledgers and event sequences of a new account: prisma/functions/troco_open_books.sql. */
export async function openBooks(tx: Tx, accountId: string): Promise<void> {
  await tx.$executeRaw`SELECT troco_open_books(${accountId}::uuid)`
}

export interface Balances {
  available: number
  outbound: number
}

const findBalances = createSharedRead<{ account: string; mode: string }, Balances>(
  { account: 'uuid', mode: 'text' },
  Prisma.sql`
    SELECT json_object_agg(l.ledger, l.balance) AS json FROM ledger_accounts l
    WHERE l.account_id = k.account AND l.mode = k.mode AND l.ledger <> 'external'`,
)

export async function readBalances(accountId: string, mode: Mode): Promise<Balances> {
  const balances = await findBalances({ account: accountId, mode })
  return { available: cents(balances?.available ?? 0), outbound: cents(balances?.outbound ?? 0) }
}

/** Returns whether the CHECK on the available balance failed. */
export function isOverdraft(error: unknown): boolean {
  return parseDatabaseError(error).constraint === 'ledger_accounts_available_not_negative'
}

/** Throws `insufficient_balance` if the CHECK on the available balance failed, else the error. */
export function refuseOverdraft(error: unknown): never {
  throw isOverdraft(error) ? refuse('insufficient_balance') : error
}
