import { expect, test } from 'vitest'
import { db } from '#lib/base/db/client.ts'
import { HOUSE_ACCOUNT_ID, newId } from '#lib/base/ids.ts'
import { SIMULATOR_CONNECTION_ID } from '#lib/services/gateway/choose.ts'
import { payFee } from '#lib/services/house/fees.ts'
import { Faults } from '#lib/testing/faults.ts'
import { expectBalancedLedger, inOwnDatabase, makeMerchant } from '#lib/testing/fixtures.ts'
import fc from '#lib/testing/property.ts'

inOwnDatabase()
const TABLES = ['bank_fees', 'ledger_accounts', 'ledger_transfers', 'ledger_entries'] as const
const faults = new Faults(TABLES)
const RUN_COUNT = Number(process.env.MODEL_RUNS || 5)

const makeFee = (amount: number) => ({
  ...{ connectionId: SIMULATOR_CONNECTION_ID, mode: 'test' as const },
  ...{ bankId: newId(), amount, at: new Date() },
})

async function ownBalance(): Promise<number> {
  const { balance } = await db().ledgerAccount.findFirstOrThrow({
    where: { accountId: HOUSE_ACCOUNT_ID, mode: 'test', ledger: 'own' },
  })
  return Number(balance)
}

test('a fee is paid by the house, once per id of the bank, and by no merchant', async () => {
  const merchant = await makeMerchant()
  const before = await ownBalance()
  const fee = makeFee(119)
  const paid = await Promise.all([fee, fee, { ...fee, amount: 500 }, fee].map(payFee))
  expect(paid.filter(Boolean)).toHaveLength(1)
  const [row] = await db().bankFee.findMany({ where: { bankId: fee.bankId } })
  expect(await ownBalance()).toBe(before - Number(row?.amount))
  expect(await db().ledgerTransfer.count({ where: { accountId: merchant.id } })).toBe(0)
  await expectBalancedLedger(HOUSE_ACCOUNT_ID)
})

test('each fee is paid once, whenever a worker dies', async () => {
  const report = fc.record({
    which: fc.nat(3),
    fault: fc.option(fc.constantFrom(...TABLES)),
  })
  const checkReports = async (reports: { which: number; fault: string | null }[]) => {
    const fees = [100, 200, 300, 400].map(makeFee)
    const before = await ownBalance()
    const payOne = (which: number) => payFee(fees[which] ?? makeFee(1))
    for (const { which, fault } of reports) {
      if (fault) await faults.during(fault, () => payOne(which))
      else await Promise.all([payOne(which), payOne(which)])
    }
    await Promise.all(fees.map(payFee))
    expect(await ownBalance()).toBe(before - 1_000)
  }
  const reports = fc.array(report, { maxLength: 6 })
  await fc.assert(fc.asyncProperty(reports, checkReports), {
    numRuns: RUN_COUNT,
  })
  await expectBalancedLedger(HOUSE_ACCOUNT_ID)
})
