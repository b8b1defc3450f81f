import { beforeEach, expect, test } from 'vitest'
import { expectBalancedBooks, inOwnDatabase, makeMerchant, receive } from '#e2e/stage.ts'
import { activateAccount, suspendAccount } from '#lib/accounts/activate.ts'
import type { Account } from '#lib/accounts/schema.ts'
import { db } from '#lib/db/client.ts'
import { bareId } from '#lib/ids.ts'
import { readBalances } from '#lib/ledger/accounts.ts'
import { createWithdrawal } from '#lib/withdrawals/create.ts'
import { findWithdrawal } from '#lib/withdrawals/queries.ts'
import { sendDueWithdrawals } from '#lib/withdrawals/send.ts'

const ACTOR = { type: 'system' } as const

inOwnDatabase()

let merchant: Account
beforeEach(async () => {
  merchant = await makeMerchant()
  await receive(merchant, 10_000)
})

async function withdraw(key: string): Promise<string> {
  const order = { amount: 4_000, pixKeyType: 'email', pixKey: key, dictKey: key } as const
  return (await createWithdrawal(merchant.id, 'test', order)).id
}

const find = (id: string) => findWithdrawal(merchant.id, 'test', id)
const ordersOf = (id: string) => db().simulatorOrder.findMany({ where: { id: bareId(id) } })
const settles = async (id: string) => {
  await fallDue(id)
  await sendDueWithdrawals()
  return (await find(id))?.status
}
const fallDue = (id: string) =>
  db()
    .$executeRaw`UPDATE withdrawals SET due_at = now() WHERE id = ${id}::uuid AND due_at IS NOT NULL`

test('a withdrawal is sent once, and approved when the bank has settled it', async () => {
  const id = await withdraw('ana@example.com')
  await sendDueWithdrawals()
  expect(await ordersOf(id)).toMatchObject([{ kind: 'payout', amount: 4_000n }])
  await expect.poll(() => settles(id), { timeout: 20_000 }).toBe('approved')
  expect(await find(id)).toMatchObject({ end_to_end_id: expect.stringMatching(/^E\w{31}$/) })
  expect(await readBalances(merchant.id, 'test')).toEqual({ available: 6_000, outbound: 0 })
  expect(await ordersOf(id)).toHaveLength(1)
  await expectBalancedBooks(merchant.id)
})

test('a key that the bank refuses gives the money back, with the reason', async () => {
  const id = await withdraw('reject@example.com')
  await expect.poll(() => settles(id), { timeout: 20_000 }).toBe('rejected')
  expect((await find(id))?.rejection_reason).toBe('The receiving bank refused the key')
  expect(await readBalances(merchant.id, 'test')).toEqual({ available: 10_000, outbound: 0 })
  await expectBalancedBooks(merchant.id)
})

test('one that the bank never answers stays pending and held, however often it is asked', async () => {
  const id = await withdraw('hold@example.com')
  for (let times = 0; times < 3; times++) expect(await settles(id)).toBe('pending')
  expect(await readBalances(merchant.id, 'test')).toEqual({ available: 6_000, outbound: 4_000 })
  expect(await ordersOf(id)).toHaveLength(1)
})

test('a suspended account’s waits, and is sent when the account is active again', async () => {
  const id = await withdraw('ana@example.com')
  await suspendAccount(merchant.id, 'test', ACTOR)
  expect(await settles(id)).toBe('pending')
  expect(await ordersOf(id)).toEqual([])
  await activateAccount(merchant.id, 'test', ACTOR)
  await expect.poll(() => settles(id), { timeout: 20_000 }).toBe('approved')
})
