import { beforeAll, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { newEndToEndId } from '#lib/banks/simulator.ts'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { confirmEnd, proposeEnd } from '#lib/orders/end.ts'
import { StubBank } from '#lib/testing/bank.ts'
import { expectBalancedLedger, inOwnDatabase } from '#lib/testing/fixtures.ts'
import { makeSilentMerchant, withdrawInSilence } from '#lib/testing/silent-bank.ts'
import { VERIFIED } from '#lib/testing/verified.ts'
import { approveWithdrawal } from '#lib/withdrawals/outcome.ts'
import { createWithdrawalReceiptUrl, findWithdrawal } from '#lib/withdrawals/queries.ts'
import { ORDER_RULES } from '#lib/worker/worker.ts'

inOwnDatabase()

let merchant: Account
beforeAll(async () => {
  merchant = await makeSilentMerchant(new StubBank())
})

async function makeAdmin(): Promise<string> {
  const email = `admin-${newId()}@troco.example`
  const adminSince = new Date(Date.now() - 8 * 86_400_000)
  const data = { id: newId(), email, name: email, isAdmin: true, adminSince, ...VERIFIED }
  return (await db().user.create({ data })).id
}

async function readReceiptUrl(id: string): Promise<string | null> {
  const withdrawal = await findWithdrawal(merchant.id, 'live', id)
  return withdrawal && createWithdrawalReceiptUrl(merchant.id, withdrawal)
}

test('a withdrawal that the bank approved has a receipt', async () => {
  const { id } = await withdrawInSilence(merchant, 4_000)
  expect(await readReceiptUrl(id)).toBeNull()
  await approveWithdrawal({ accountId: merchant.id, withdrawalId: id, endToEndId: newEndToEndId() })
  expect(await readReceiptUrl(id)).toContain('.live.withdrawal.')
  await expectBalancedLedger(merchant.id)
})

test('a withdrawal of which the bank reported two payments has none', async () => {
  const { id } = await withdrawInSilence(merchant, 4_000)
  await approveWithdrawal({ accountId: merchant.id, withdrawalId: id, endToEndId: newEndToEndId() })
  const where = { accountId_id: { accountId: merchant.id, id } }
  await db().withdrawal.update({ where, data: { otherEndToEndId: newEndToEndId() } })
  expect(await readReceiptUrl(id)).toBeNull()
})

test('a withdrawal that admins ended as sent has none, even if the bank once named a payment', async () => {
  const { id } = await withdrawInSilence(merchant, 4_000)
  const where = { accountId_id: { accountId: merchant.id, id } }
  await db().withdrawal.update({ where, data: { endToEndId: newEndToEndId() } })
  const proposal = { id, outcome: 'sent' as const, reason: 'by phone' }
  await proposeEnd(proposal, await makeAdmin())
  const { endId } = await db().bankOrder.findUniqueOrThrow({ where })
  const by = await makeAdmin()
  await confirmEnd({ id, proposalId: endId ?? '', by }, ORDER_RULES)
  const { status, endToEndId } = await db().withdrawal.findUniqueOrThrow({ where })
  expect(status).toBe('approved')
  expect(endToEndId).not.toBeNull()
  expect(await readReceiptUrl(id)).toBeNull()
  await expectBalancedLedger(merchant.id)
})
