import { connect, type Database } from '#lib/base/db/client.ts'
import { verifyLedger } from '#lib/services/ledger/verify.ts'
import type { Results } from './measure.ts'
import type { Verdict } from './musts.ts'
import { WITHDRAWALS_BEFORE, type World } from './world.ts'

/** What was answered must be in the database, whoever wrote it, and the books must hold. */
export async function examineBooks(world: World, results: Results): Promise<Verdict[]> {
  const database = connect({ poolMax: 2 })
  try {
    const made = results.answered('create')
    const sent = results.answered('withdraw')
    const [rows] = await database.$queryRaw<{ charges: bigint; withdrawals: bigint }[]>`
      SELECT (SELECT count(*) FROM charges WHERE account_id = ${world.merchant.id}::uuid) AS charges,
        (SELECT count(*) FROM withdrawals WHERE account_id = ${world.hot.id}::uuid) AS withdrawals`
    // Before any server wrote there were one paid charge, those to be read, and some withdrawals.
    const charges = Number(rows?.charges) - world.chargeIds.length - 1
    const withdrawals = Number(rows?.withdrawals) - WITHDRAWALS_BEFORE
    return [
      {
        promise: 'every created charge and withdrawal that was answered is a row, and no other',
        figure: `${count(charges)} and ${count(withdrawals)}`,
        holds: charges === made && withdrawals === sent,
      },
      await judgeLedger(database),
    ]
  } finally {
    await database.$disconnect()
  }
}

/** The books of the database that we are connected to. */
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
    promise: 'ledger verify: the books of all processes together hold',
    figure: broken?.wrong ?? `${count(transfers)} transfers, ${count(entries)} entries`,
    holds: !broken,
  }
}

export function count(many: number): string {
  return many.toLocaleString('en')
}
