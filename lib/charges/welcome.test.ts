import { expect, test } from 'vitest'
import { expectBalancedBooks, makeMerchant } from '#e2e/stage.ts'
import { createCharge } from '#lib/charges/create.ts'
import { payWelcomeCharge } from '#lib/charges/welcome.ts'
import { db } from '#lib/db/client.ts'
import { readBalances } from '#lib/ledger/accounts.ts'

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
