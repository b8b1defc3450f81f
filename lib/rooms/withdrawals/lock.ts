import type { Tx } from '#lib/base/db/client.ts'
import type { Mode } from '#lib/base/mode.ts'
import { lockBooks } from '#lib/services/ledger/owed.ts'

/** Locks a withdrawal, then the available balance of its account, before a transaction moves its money. */
export async function lockWithdrawal(
  tx: Tx,
  { accountId, withdrawalId }: { accountId: string; withdrawalId: string },
): Promise<void> {
  const [row] = await tx.$queryRaw<{ mode: Mode }[]>`
    SELECT mode FROM withdrawals
    WHERE account_id = ${accountId}::uuid AND id = ${withdrawalId}::uuid FOR UPDATE`
  if (row) await lockBooks(tx, accountId, row.mode)
}
