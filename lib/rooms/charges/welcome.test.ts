import { expect, test } from 'vitest'
import { db } from '#lib/base/db/client.ts'
import { createCharge } from '#lib/rooms/charges/create.ts'
import { payWelcomeCharge } from '#lib/rooms/charges/welcome.ts'
import { readBalances } from '#lib/services/ledger/accounts.ts'
import { expectBalancedBooks, makeMerchant } from '#lib/testing/stage.ts'

test('a new account begins with R$ 1.000,00 in test mode, however often it is asked for', async () => {
  const merchant = await makeMerchant()
  await payWelcomeCharge(merchant)
  await payWelcomeCharge(merchant)
  expect(await readBalances(merchant.id, 'test')).toEqual({ available: 100_000, outbound: 0 })
  expect(await readBalances(merchant.id, 'live')).toEqual({ available: 0, outbound: 0 })
  expect(await db().charge.count({ where: { accountId: merchant.id } })).toBe(1)
  await expectBalancedBooks(merchant.id)
})

test('a crash between opening and paying it is made good by the next call', async () => {
  const merchant = await makeMerchant()
  const request = {
    amount: 100_000,
    client_name: 'Troco',
    client_email: 'welcome@example.com',
    client_doc: '00000000000191',
    external_id: 'welcome',
  }
  await createCharge(merchant, 'test', request, null)
  await payWelcomeCharge(merchant)
  expect(await readBalances(merchant.id, 'test')).toEqual({ available: 100_000, outbound: 0 })
  await expectBalancedBooks(merchant.id)
})
