import { expect, test } from 'vitest'
import { activateAccount, suspendAccount } from '#lib/accounts/settings.ts'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { makeMerchant, makeToken } from '#lib/testing/fixtures.ts'
import { authenticateToken } from '#lib/tokens/authenticate.ts'

const ACTOR = { type: 'command_line' } as const

async function listStatusChanges(accountId: string) {
  const records = await db().auditRecord.findMany({
    where: { accountId, action: { in: ['account.activated', 'account.suspended'] } },
    orderBy: { id: 'asc' },
  })
  return records.map(record => `${record.action}: ${record.reason} (${record.actorType})`)
}

async function statusOf(accountId: string) {
  const account = await db().account.findUniqueOrThrow({ where: { id: accountId } })
  return `${account.status}: ${account.statusReason}`
}

test('suspending and activating take effect once each, with reason and audit record', async () => {
  const { id } = await makeMerchant()
  expect(await activateAccount(id, 'already so', ACTOR)).toBeNull()
  expect(await suspendAccount(id, 'chargebacks', ACTOR)).toEqual({ id })
  expect(await statusOf(id)).toBe('suspended: chargebacks')
  expect(await suspendAccount(id, 'once more', ACTOR)).toBeNull()
  expect(await statusOf(id)).toBe('suspended: chargebacks')
  expect(await activateAccount(id, 'cleared', ACTOR)).toEqual({ id })
  expect(await activateAccount(id, 'once more', ACTOR)).toBeNull()
  expect(await statusOf(id)).toBe('active: cleared')
  expect(await listStatusChanges(id)).toEqual([
    'account.suspended: chargebacks (command_line)',
    'account.activated: cleared (command_line)',
  ])
})

test('20 concurrent suspensions take effect once, with one audit record', async () => {
  const { id } = await makeMerchant()
  const outcomes = await Promise.all(
    Array.from({ length: 20 }, (_, index) => suspendAccount(id, `reason ${index}`, ACTOR)),
  )
  expect(outcomes.filter(outcome => outcome !== null)).toEqual([{ id }])
  expect(await listStatusChanges(id)).toHaveLength(1)
})

test('a pending account can be activated or suspended', async () => {
  const [first, second] = await Promise.all([makeMerchant(), makeMerchant()])
  const ids = [first.id, second.id]
  await db().account.updateMany({ where: { id: { in: ids } }, data: { status: 'pending' } })
  expect(await activateAccount(first.id, 'known', ACTOR)).toEqual({ id: first.id })
  expect(await suspendAccount(second.id, 'unknown', ACTOR)).toEqual({ id: second.id })
  expect(await statusOf(first.id)).toBe('active: known')
  expect(await statusOf(second.id)).toBe('suspended: unknown')
})

test("a suspension applies from the next call with the account's tokens, and only to them", async () => {
  const [merchant, otherMerchant] = await Promise.all([makeMerchant(), makeMerchant()])
  const [token, otherToken] = await Promise.all([
    makeToken(merchant.id),
    makeToken(otherMerchant.id),
  ])
  expect((await authenticateToken(token))?.account.isActive).toBe(true)
  await suspendAccount(merchant.id, 'chargebacks', ACTOR)
  expect((await authenticateToken(token))?.account.isActive).toBe(false)
  expect((await authenticateToken(otherToken))?.account.isActive).toBe(true)
  await activateAccount(merchant.id, 'cleared', ACTOR)
  expect((await authenticateToken(token))?.account.isActive).toBe(true)
})

test('suspending an unknown account changes nothing and records nothing', async () => {
  const id = newId()
  expect(await suspendAccount(id, 'x', ACTOR)).toBeNull()
  expect(await listStatusChanges(id)).toEqual([])
})
