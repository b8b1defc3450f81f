import { connect, type Database } from '#lib/base/db/client.ts'
import { verifyLedger } from '#lib/services/ledger/verify.ts'
import type { Results } from './measure.ts'
import type { Verdict } from './targets.ts'
import { WITHDRAWALS_BEFORE, type World } from './world.ts'

/** Verifies that every 200 response has a row, for all servers together, and then the ledger. */
export async function examineBooks(world: World, results: Results): Promise<Verdict[]> {
  const database = connect({ poolMax: 2 })
  try {
    const made = results.answered('create')
    const sent = results.answered('withdraw')
    const [rows] = await database.$queryRaw<{ charges: bigint; withdrawals: bigint }[]>`
      SELECT (SELECT count(*) FROM charges WHERE account_id = ${world.merchant.id}::uuid) AS charges,
        (SELECT count(*) FROM withdrawals WHERE account_id = ${world.hot.id}::uuid) AS withdrawals`
    // Rows created before the load: one paid charge, the charges to read and the withdrawals.
    const charges = Number(rows?.charges) - world.chargeIds.length - 1
    const withdrawals = Number(rows?.withdrawals) - WITHDRAWALS_BEFORE
    return [
      {
        promise: 'every charge and withdrawal created with a 200 is a row, and there are no others',
        figure: `${formatCount(charges)} and ${formatCount(withdrawals)}`,
        holds: charges === made && withdrawals === sent,
      },
      await judgeLedger(database),
    ]
  } finally {
    await database.$disconnect()
  }
}

export async function examineLedger(): Promise<Verdict> {
  const database = connect({ poolMax: 2 })
  try {
    return await judgeLedger(database)
  } finally {
    await database.$disconnect()
  }
}

async function judgeLedger(database: Database): Promise<Verdict> {
  const { findings, transfers, entries } = await verifyLedger(database)
  const broken = findings.find(({ wrong }) => wrong !== null)
  return {
    promise: 'ledger verify finds no error after the writes of all processes',
    figure: broken?.wrong ?? `${formatCount(transfers)} transfers, ${formatCount(entries)} entries`,
    holds: !broken,
  }
}

export function formatCount(value: number): string {
  return value.toLocaleString('en')
}
