import { refuse } from '#lib/core/errors.ts'
import type { Mode } from '#lib/core/mode.ts'
import { cents } from '#lib/core/money.ts'
import { db, type Tx } from '#lib/db/client.ts'

/** Creates the ledgers of disputes, on an account's first one: prisma/functions/troco_open_disputes.sql. */
export async function openDisputeLedgers(
  accountId: string,
  mode: Mode,
  tx: Tx = db(),
): Promise<void> {
  await tx.$executeRaw`SELECT troco_open_disputes(${accountId}::uuid, ${mode})`
}

export interface DisputedAmounts {
  available: number
  /** Sum of the open disputes. */
  disputed: number
  /** Part of `disputed` that is held; what comes in is held next. */
  held: number
  /** What the account owes for lost disputes; what comes in repays it first. */
  claim: number
}

/** Returns zeros for an account that never had a dispute. Money that is held is not assigned to single disputes. */
export function assessDisputes(balances: {
  available?: number | bigint | null
  disputed?: number | bigint | null
  owed?: number | bigint | null
}): DisputedAmounts {
  const disputed = cents(balances.disputed ?? 0)
  const lacking = -cents(balances.owed ?? 0)
  return {
    available: cents(balances.available ?? 0),
    disputed,
    held: Math.max(0, disputed - lacking),
    claim: Math.max(0, lacking - disputed),
  }
}

/**
 * Locks the books of an account until the end of the transaction, as prisma/functions/troco_book.sql does, under
 * the key of prisma/functions/troco_books_key.sql: the statements that follow see what it has and owes by now.
 */
export async function lockBooks(tx: Tx, accountId: string, mode: Mode): Promise<void> {
  await tx.$executeRaw`
    SELECT pg_advisory_xact_lock(troco_books_key(${accountId}::uuid, ${mode}))`
}

/** Locks the books and returns what is disputed. */
export async function lockDisputes(
  tx: Tx,
  accountId: string,
  mode: Mode,
): Promise<DisputedAmounts> {
  await lockBooks(tx, accountId, mode)
  return readDisputes(tx, accountId, mode)
}

/** Other transactions can change the amounts unless the caller has locked the books. */
export async function readDisputes(
  tx: Tx,
  accountId: string,
  mode: Mode,
): Promise<DisputedAmounts> {
  const rows = await tx.ledgerAccount.findMany({ where: { accountId, mode } })
  return assessDisputes(Object.fromEntries(rows.map(({ ledger, balance }) => [ledger, balance])))
}

/** Throws the refusal of a withdrawal above the balance. */
export async function refuseWithdrawal(accountId: string, mode: Mode): Promise<never> {
  const { disputed, held } = await readDisputes(db(), accountId, mode)
  throw refuse(held < disputed ? 'dispute_not_covered' : 'insufficient_balance')
}
