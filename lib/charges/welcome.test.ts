import { expect, test } from 'vitest'
import { createCharge } from '#lib/charges/create.ts'
import { payWelcomeCharge } from '#lib/charges/welcome.ts'
import { db } from '#lib/db/client.ts'
import { readBalances } from '#lib/ledger/accounts.ts'
import { expectBalancedLedger, makeMerchant } from '#lib/testing/fixtures.ts'

test('a new account gets R$ 1.000,00 in test mode, once', async () => {
  const merchant = await makeMerchant()
  await payWelcomeCharge(merchant)
  await payWelcomeCharge(merchant)
  expect(await readBalances(merchant.id, 'test')).toEqual({ available: 100_000, outbound: 0 })
  expect(await readBalances(merchant.id, 'live')).toEqual({ available: 0, outbound: 0 })
  expect(await db().charge.count({ where: { accountId: merchant.id } })).toBe(1)
  await expectBalancedLedger(merchant.id)
})

test('after a crash between opening and paying, the next call pays the charge', async () => {
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
  await expectBalancedLedger(merchant.id)
})
