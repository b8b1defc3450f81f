import { db, Prisma, type Tx } from '#lib/db/client.ts'
import { type AccountRef, ofAccount } from '#lib/db/columns.ts'
import { MODES, type Mode } from '#lib/mode.ts'
import { cents } from '#lib/money.ts'

const LEDGERS = ['available', 'outbound', 'external']

/** Opens a merchant's books, empty, in both worlds. */
export async function openLedger(tx: Tx, accountId: string): Promise<void> {
  const data = MODES.flatMap(mode => LEDGERS.map(ledger => ({ accountId, mode, ledger })))
  await tx.ledgerAccount.createMany({ data })
}

export interface Balances {
  available: number
  outbound: number
}

export async function readBalances(account: AccountRef, mode: Mode): Promise<Balances> {
  const rows = await db().$queryRaw<{ ledger: keyof Balances; balance: bigint }[]>(Prisma.sql`
    SELECT l.ledger, l.balance FROM ledger_accounts l
    WHERE ${ofAccount('l', account)} AND l.mode = ${mode} AND l.ledger <> 'external'`)
  const balances: Balances = { available: 0, outbound: 0 }
  for (const row of rows) balances[row.ledger] = cents(row.balance)
  return balances
}
