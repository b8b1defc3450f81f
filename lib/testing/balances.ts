import type { Mode } from '#lib/core/mode.ts'
import { cents } from '#lib/core/money.ts'
import { db } from '#lib/db/client.ts'

/** Reads what the account may spend, and what is held for its orders. */
export async function readBalances(
  accountId: string,
  mode: Mode,
): Promise<{ available: number; outbound: number }> {
  const rows = await db().$queryRaw<{ ledger: string; balance: bigint }[]>`
    SELECT ledger, balance FROM ledger_accounts
    WHERE account_id = ${accountId}::uuid AND mode = ${mode}`
  const balanceOf = (name: string) =>
    cents(rows.find(({ ledger }) => ledger === name)?.balance ?? 0n)
  return { available: balanceOf('available'), outbound: balanceOf('outbound') }
}
