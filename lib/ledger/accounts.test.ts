import { expect, test } from 'vitest'
import { db } from '#lib/db/client.ts'
import { readBalances } from '#lib/ledger/accounts.ts'
import { expectBalancedLedger, fundMerchant, makeMerchant } from '#lib/testing/fixtures.ts'

test('a new merchant has three empty ledgers in each mode', async () => {
  const merchant = await makeMerchant()
  const rows = await db().ledgerAccount.findMany({
    where: { accountId: merchant.id },
    orderBy: [{ mode: 'asc' }, { ledger: 'asc' }],
  })
  expect(rows.map(row => `${row.mode} ${row.ledger} ${row.balance} ${row.version}`)).toEqual([
    'live available 0 0',
    'live external 0 0',
    'live outbound 0 0',
    'test available 0 0',
    'test external 0 0',
    'test outbound 0 0',
  ])
  await expectBalancedLedger(merchant.id)
})

test("money received in test mode changes no live balance and no other merchant's", async () => {
  const [merchant, other] = await Promise.all([makeMerchant(), makeMerchant()])
  await fundMerchant(merchant, 5_000)
  expect(await readBalances(merchant.id, 'test')).toEqual({ available: 5_000, outbound: 0 })
  expect(await readBalances(merchant.id, 'live')).toEqual({ available: 0, outbound: 0 })
  expect(await readBalances(other.id, 'test')).toEqual({ available: 0, outbound: 0 })
  await expectBalancedLedger(merchant.id)
  await expectBalancedLedger(other.id)
})
