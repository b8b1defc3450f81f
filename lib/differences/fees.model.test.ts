import { expect, test } from 'vitest'
import { SIMULATOR_CONNECTION_ID } from '#lib/banks/served.ts'
import { newId, OPERATOR_ACCOUNT_ID } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { payFees } from '#lib/differences/differences.ts'
import { Faults } from '#lib/testing/faults.ts'
import { expectBalancedLedger, inOwnDatabase } from '#lib/testing/fixtures.ts'
import fc from '#lib/testing/property.ts'

const RUN_COUNT = Number(process.env.MODEL_RUNS || 5)
const AMOUNTS = [100, 200, 300, 400]
/** The bank gave this one back. */
const RETURNED = 300

inOwnDatabase()
/** Each table that a fee writes, so that a crash is tried at every step. */
const TABLES = ['bank_fees', 'ledger_accounts', 'ledger_transfers', 'ledger_entries'] as const
const faults = new Faults(TABLES)

async function ownBalance(): Promise<number> {
  const { balance } = await db().ledgerAccount.findFirstOrThrow({
    where: { accountId: OPERATOR_ACCOUNT_ID, mode: 'test', ledger: 'own' },
  })
  return Number(balance)
}

/** Reports a fee; with a fault, the worker dies while it writes this table. */
const report = fc.record({
  which: fc.nat(AMOUNTS.length - 1),
  fault: fc.option(fc.constantFrom(...TABLES)),
})

test(
  'each fee is paid once, in any order of reports and whenever a worker dies',
  async () => {
    let crashes = 0

    async function checkReports(reports: { which: number; fault: string | null }[]): Promise<void> {
      const fees = AMOUNTS.map(amount => ({
        connectionId: SIMULATOR_CONNECTION_ID,
        mode: 'test' as const,
        bankId: newId(),
        amount,
        at: new Date(),
        isReturn: amount === RETURNED,
      }))
      const changeOf = (fee: (typeof fees)[number]) => (fee.isReturn ? 0 - fee.amount : fee.amount)
      const before = await ownBalance()
      let paid = 0
      for (const { which, fault } of reports) {
        const fee = fees[which] as (typeof fees)[number]
        if (!fault) {
          const [one = 0, other = 0] = await Promise.all([payFees([fee]), payFees([fee])])
          paid += (one + other) * changeOf(fee)
        } else if (await faults.during(fault, () => payFees([fee]))) crashes += 1
        expect(await ownBalance()).toBe(before - paid)
      }
      await payFees(fees)
      expect(await ownBalance()).toBe(before - fees.reduce((sum, fee) => sum + changeOf(fee), 0))
    }
    const reports = fc.array(report, { minLength: 1, maxLength: 6, size: 'max' })
    await fc.assert(fc.asyncProperty(reports, checkReports), { numRuns: RUN_COUNT })
    await expectBalancedLedger(OPERATOR_ACCOUNT_ID)
    if (RUN_COUNT >= 50) expect(crashes).toBeGreaterThan(0)
  },
  RUN_COUNT * 5_000 + 60_000,
)
