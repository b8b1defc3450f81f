import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { SIMULATOR_CONNECTION_ID } from '#lib/banks/served.ts'
import { newId, OPERATOR_ACCOUNT_ID } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { DIFFERENCE_KINDS, payFees } from '#lib/differences/differences.ts'
import { expectBalancedLedger, inOwnDatabase, makeMerchant } from '#lib/testing/fixtures.ts'

test('docs/operate/banks.md says what to do about each kind of difference', () => {
  const [, rows = ''] = readFileSync('docs/operate/banks.md', 'utf8').split(
    '| Kind | What happened | What to do |\n|---|---|---|\n',
  )
  const [table = ''] = rows.split('\n\n')
  const kinds = [...table.matchAll(/^\| `(\w+)` \| [^|]+ \| [^|]+ \|$/gm)].map(([, kind]) => kind)
  expect(kinds.toSorted()).toEqual([...DIFFERENCE_KINDS].toSorted())
})

inOwnDatabase()

const makeFee = (amount: number) => ({
  connectionId: SIMULATOR_CONNECTION_ID,
  mode: 'test' as const,
  bankId: newId(),
  amount,
  at: new Date(),
  isReturn: false,
})

async function ownBalance(): Promise<number> {
  const { balance } = await db().ledgerAccount.findFirstOrThrow({
    where: { accountId: OPERATOR_ACCOUNT_ID, mode: 'test', ledger: 'own' },
  })
  return Number(balance)
}

test('a fee is paid by the operator, once per id of the bank, and by no merchant', async () => {
  const merchant = await makeMerchant()
  const before = await ownBalance()
  const fee = makeFee(119)
  const reports = [fee, fee, { ...fee, amount: 500 }, fee]
  const paid = await Promise.all(reports.map(report => payFees([report])))
  expect(paid.toSorted()).toEqual([0, 0, 0, 1])
  const [row] = await db().bankFee.findMany({ where: { bankId: fee.bankId } })
  expect(await ownBalance()).toBe(before - Number(row?.amount))
  expect(await db().ledgerTransfer.count({ where: { accountId: merchant.id } })).toBe(0)
  await expectBalancedLedger(OPERATOR_ACCOUNT_ID)
})

test('a fee that the bank gives back returns to the operator, once', async () => {
  const before = await ownBalance()
  const [fee, returned] = [makeFee(119), { ...makeFee(119), isReturn: true }]
  expect(await payFees([fee, returned, makeFee(1)])).toBe(3)
  expect(await payFees([returned, fee])).toBe(0)
  expect(await ownBalance()).toBe(before - 1)
  await expectBalancedLedger(OPERATOR_ACCOUNT_ID)
})
