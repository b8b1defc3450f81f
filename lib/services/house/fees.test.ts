import { expect, test } from 'vitest'
import { db } from '#lib/base/db/client.ts'
import { HOUSE_ACCOUNT_ID, newId } from '#lib/base/ids.ts'
import { SIMULATOR_CONNECTION_ID } from '#lib/services/gateway/choose.ts'
import { payFee } from '#lib/services/house/fees.ts'
import { expectBalancedLedger, inOwnDatabase, makeMerchant } from '#lib/testing/fixtures.ts'

inOwnDatabase()

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
