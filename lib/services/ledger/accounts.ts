import { Prisma, type Tx } from '#lib/base/db/client.ts'
import { type AccountRef, accountCondition } from '#lib/base/db/columns.ts'
import { queryRows } from '#lib/base/db/rows.ts'
import { MODES, type Mode } from '#lib/base/mode.ts'
import { cents } from '#lib/base/money.ts'

const LEDGERS = ['available', 'outbound', 'external']

export async function openLedger(tx: Tx, accountId: string): Promise<void> {
  const data = MODES.flatMap(mode => LEDGERS.map(ledger => ({ accountId, mode, ledger })))
  await tx.ledgerAccount.createMany({ data })
}

export interface Balances {
  available: number
  outbound: number
}

export async function readBalances(account: AccountRef, mode: Mode): Promise<Balances> {
  const [balances] = await queryRows<Balances>(Prisma.sql`
    SELECT json_object_agg(l.ledger, l.balance)::text AS json FROM ledger_accounts l
    WHERE ${accountCondition('l', account)} AND l.mode = ${mode} AND l.ledger <> 'external'`)
  return { available: cents(balances?.available ?? 0), outbound: cents(balances?.outbound ?? 0) }
}
