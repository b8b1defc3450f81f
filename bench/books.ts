import { connect, type Database } from '#lib/db/client.ts'
import { verifyLedger } from '#lib/ledger/check.ts'
import type { Results } from './measure.ts'
import type { Verdict } from './targets.ts'
import { EXISTING_WITHDRAWAL_COUNT, type World } from './world.ts'

/** Verifies that every 200 response has a row, for all servers together, and then the ledger. */
export async function examineRowsAndLedger(world: World, results: Results): Promise<Verdict[]> {
  const database = connect({ poolMax: 2 })
  try {
    const createdCount = results.responseCount('create')
    const withdrawnCount = results.responseCount('withdraw')
    const [rows] = await database.$queryRaw<{ charges: bigint; withdrawals: bigint }[]>`
      SELECT (SELECT count(*) FROM charges WHERE account_id = ${world.merchant.id}::uuid) AS charges,
        (SELECT count(*) FROM withdrawals WHERE account_id = ${world.hot.id}::uuid) AS withdrawals`
    // Rows created before the load: one paid charge, the charges to read and the withdrawals.
    const charges = Number(rows?.charges) - world.chargeIds.length - 1
    const withdrawals = Number(rows?.withdrawals) - EXISTING_WITHDRAWAL_COUNT
    return [
      {
        requirement:
          'every charge and withdrawal created with a 200 is a row, and there are no others',
        measured: `${formatCount(charges)} and ${formatCount(withdrawals)}`,
        isMet: charges === createdCount && withdrawals === withdrawnCount,
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
  const broken = findings.find(({ violation }) => violation !== null)
  return {
    requirement: 'ledger verify finds no error after the writes of all processes',
    measured:
      broken?.violation ?? `${formatCount(transfers)} transfers, ${formatCount(entries)} entries`,
    isMet: !broken,
  }
}

export function formatCount(value: number): string {
  return value.toLocaleString('en')
}
