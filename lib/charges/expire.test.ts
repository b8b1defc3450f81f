import { afterEach, expect, test, vi } from 'vitest'
import { expectBalancedBooks, inOwnDatabase, makeMerchant, openCharge } from '#e2e/stage.ts'
import type { Account } from '#lib/accounts/schema.ts'
import { expireDueCharges } from '#lib/charges/expire.ts'
import { findCharge } from '#lib/charges/queries.ts'
import { simulateCharge } from '#lib/charges/simulate.ts'
import { db } from '#lib/db/client.ts'
import { decideCharge, simulator } from '#lib/gateway/simulator.ts'
import { readBalances } from '#lib/ledger/accounts.ts'

inOwnDatabase()

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

async function openDueCharge(merchant: Account, amount = 1_000): Promise<string> {
  const { id } = await openCharge(merchant, amount)
  await db().$executeRaw`
    UPDATE charges SET expires_at = now() - interval '1 second', due_at = now() - interval '1 second'
    WHERE account_id = ${merchant.id}::uuid AND id = ${id}::uuid`
  return id
}

async function statusOf(merchant: Account, id: string): Promise<string | undefined> {
  return (await findCharge(merchant.id, 'test', id))?.status
}

test('a charge whose time is up expires, and is told of once', async () => {
  const merchant = await makeMerchant()
  const id = await openDueCharge(merchant)
  expect(await expireDueCharges()).toBe(1)
  expect(await statusOf(merchant, id)).toBe('expired')
  expect(await expireDueCharges()).toBe(0)
  const events = await db().event.findMany({ where: { accountId: merchant.id } })
  expect(events.map(event => event.type)).toEqual(['transaction.expired'])
  await expectBalancedBooks(merchant.id)
})

test('one that the bank knows as paid is credited instead', async () => {
  const merchant = await makeMerchant()
  const id = await openDueCharge(merchant, 4_200)
  const state = await decideCharge(id.replaceAll('-', ''), 4_200, 'paid')
  const endToEndId = state.state === 'paid' ? state.endToEndId : ''
  await expireDueCharges()
  expect(await findCharge(merchant.id, 'test', id)).toMatchObject({
    status: 'paid',
    end_to_end_id: endToEndId,
  })
  expect(await readBalances(merchant.id, 'test')).toEqual({ available: 4_200, outbound: 0 })
  await expectBalancedBooks(merchant.id)
})

test('one that the bank knows as failed fails', async () => {
  const merchant = await makeMerchant()
  const id = await openDueCharge(merchant)
  await decideCharge(id.replaceAll('-', ''), 1_000, 'failed')
  await expireDueCharges()
  expect(await statusOf(merchant, id)).toBe('failed')
  await expectBalancedBooks(merchant.id)
})

test('many due at once all end, each once, however many workers there are', async () => {
  const merchant = await makeMerchant()
  const ids = await Promise.all(Array.from({ length: 30 }, () => openDueCharge(merchant)))
  const taken = await Promise.all(Array.from({ length: 6 }, () => expireDueCharges()))
  expect(taken.reduce((sum, count) => sum + count)).toBe(30)
  for (const id of ids) expect(await statusOf(merchant, id)).toBe('expired')
  expect(await db().event.count({ where: { accountId: merchant.id } })).toBe(30)
  await expectBalancedBooks(merchant.id)
})

test.each([3_600_000, -3_600_000, 365 * 86_400_000])(
  "the process's clock, wrong by %i ms, expires nothing early and keeps nothing alive",
  async skewMs => {
    const merchant = await makeMerchant()
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + skewMs })
    const open = await openCharge(merchant)
    const due = await openDueCharge(merchant)
    expect(await expireDueCharges()).toBe(1)
    expect(await statusOf(merchant, due)).toBe('expired')
    expect(await statusOf(merchant, open.id)).toBe('pending')
    const [left] = await db().$queryRaw<{ seconds: number }[]>`
      SELECT extract(epoch FROM expires_at - now())::float8 AS seconds FROM charges
      WHERE account_id = ${merchant.id}::uuid AND id = ${open.id}::uuid`
    expect(left?.seconds).toBeGreaterThan(86_300)
    expect(left?.seconds).toBeLessThanOrEqual(86_400)
    await expectBalancedBooks(merchant.id)
  },
)

test('a bank that cannot answer keeps the charge open; it is asked again later', async () => {
  const merchant = await makeMerchant()
  const silent = { outcome: 'unknown', reason: 'no answer' } as const
  vi.spyOn(simulator, 'getCharges').mockResolvedValue(silent)
  const id = await openDueCharge(merchant)
  await expireDueCharges()
  const [row] = await db().$queryRaw<{ status: string; lease: string | null; seconds: number }[]>`
    SELECT status, lease, extract(epoch FROM due_at - now())::float8 AS seconds FROM charges
    WHERE account_id = ${merchant.id}::uuid AND id = ${id}::uuid`
  expect(row).toMatchObject({ status: 'pending', lease: null })
  expect(row?.seconds).toBeGreaterThan(0)
  expect(row?.seconds).toBeLessThanOrEqual(15)
  await expectBalancedBooks(merchant.id)
})

test('a charge that was paid in time is no longer due', async () => {
  const merchant = await makeMerchant()
  const { id } = await openCharge(merchant)
  await simulateCharge(merchant.id, id, 'paid')
  const row = await db().charge.findFirstOrThrow({ where: { accountId: merchant.id, id } })
  expect(row).toMatchObject({ status: 'paid', dueAt: null, lease: null })
  await expectBalancedBooks(merchant.id)
})

test('one that cannot be ended keeps nobody else waiting, and stays due', async () => {
  const merchant = await makeMerchant()
  const [paid, twin, third] = [
    await openDueCharge(merchant),
    await openDueCharge(merchant),
    await openDueCharge(merchant),
  ]
  const state = await decideCharge(paid.replaceAll('-', ''), 1_000, 'paid')
  await simulateCharge(merchant.id, paid, 'paid')
  // The same payment reported for a second charge: the database refuses to credit it twice.
  const endToEndId = state.state === 'paid' ? state.endToEndId : ''
  await decideCharge(twin.replaceAll('-', ''), 1_000, 'paid')
  await db().simulatorOrder.update({
    where: { id: twin.replaceAll('-', '') },
    data: { endToEndId },
  })
  expect(await expireDueCharges()).toBe(2)
  expect(await statusOf(merchant, third)).toBe('expired')
  expect(await statusOf(merchant, twin)).toBe('pending')
  const { dueAt } = await db().charge.findFirstOrThrow({ where: { id: twin } })
  expect(dueAt).not.toBeNull()
  expect(await readBalances(merchant.id, 'test')).toEqual({ available: 1_000, outbound: 0 })
  await db().charge.updateMany({ where: { id: twin }, data: { dueAt: null } })
  await expectBalancedBooks(merchant.id)
})
