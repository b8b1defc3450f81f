import { afterAll, beforeAll, expect, test } from 'vitest'
import { BankDays } from '#e2e/banks/bank-days.ts'
import { newId } from '#lib/core/ids.ts'
import { dayOf } from '#lib/core/locale.ts'
import { db } from '#lib/db/client.ts'
import { approveCorrection, proposeCorrection } from '#lib/differences/corrections.ts'
import { readConnectionBalance } from '#lib/operator/reconciliation/balance.ts'
import { shiftDay, startOf } from '#lib/operator/reconciliation/claim-day.ts'
import { readBalances } from '#lib/testing/balances.ts'
import { expectBalancedLedger, inOwnDatabase } from '#lib/testing/fixtures.ts'
import { SINCE_LONG, VERIFIED } from '#lib/testing/verified.ts'

inOwnDatabase()

const AMOUNT = 5_000
const PART = 1_200
const DAY = shiftDay(dayOf(new Date()), -2)
const NOON = new Date(startOf(DAY).getTime() + 12 * 3_600_000)

let days: BankDays
beforeAll(async () => {
  days = await BankDays.open(DAY)
})
afterAll(async () => days.close())

async function makeAdmin(): Promise<string> {
  const email = `admin-${newId()}@troco.example`
  const data = { id: newId(), email, name: email, isAdmin: true, ...SINCE_LONG, ...VERIFIED }
  return (await db().user.create({ data })).id
}

test('an entry of two admins leaves no rest at the bank, and the next readings of the day none', async () => {
  const { account, merchant } = days
  await days.at(NOON, async () => {
    const { payments } = await days.receive(AMOUNT)
    await days.refundAlone(payments[0]?.endToEndId ?? '', PART)
  })
  await days.reconcileAfter(DAY)
  expect(await days.judge(DAY)).toMatchObject({ items: ['day_missing_here refund'] })
  const readBalance = () => readConnectionBalance(account.id)
  expect(await readBalance()).toMatchObject({ terms: { others: 0 - PART }, rest: 0 })

  const where = { connectionId: account.id, kind: 'day_missing_here' }
  const { id: itemId } = await db().difference.findFirstOrThrow({ where })
  const entry = { itemId, from: merchant.id, to: 'bank', amount: PART, reason: 'By the statement' }
  const attachment = Buffer.from('%PDF-1.7 statement')
  const id = await proposeCorrection({ ...entry, attachment }, await makeAdmin())
  await approveCorrection(id, itemId, await makeAdmin())
  for (const night of [1, 2]) {
    if (night > 1) await days.repeat(DAY, shiftDay(DAY, night))
    expect(await readBalance()).toMatchObject({ terms: { others: 0, acknowledged: 0 }, rest: 0 })
    expect(await days.judge(DAY)).toMatchObject({ state: 'green', items: [] })
  }
  expect(await readBalances(merchant.id, 'live')).toMatchObject({ available: AMOUNT - PART })
  await expectBalancedLedger(merchant.id)
})
