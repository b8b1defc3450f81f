import { afterAll, beforeAll, expect, test } from 'vitest'
import { BankDays } from '#e2e/banks/bank-days.ts'
import { TrialStage } from '#e2e/banks/trial-stage.ts'
import { newId, TRIAL_ACCOUNT_ID } from '#lib/core/ids.ts'
import { dayOf } from '#lib/core/locale.ts'
import { readConnectionBalance } from '#lib/operator/reconciliation/balance.ts'
import { shiftDay, startOf } from '#lib/operator/reconciliation/claim-day.ts'
import { expectBalancedLedger, inOwnDatabase } from '#lib/testing/fixtures.ts'

inOwnDatabase()

const DAY = shiftDay(dayOf(new Date()), -2)
const NOON = new Date(startOf(DAY).getTime() + 12 * 3_600_000)

let days: BankDays
beforeAll(async () => {
  days = await BankDays.open(DAY)
})
afterAll(() => days.close())

test('a day with a trial is green by the bank’s statement, and its balance is explained', async () => {
  const stage = new TrialStage(days.account)
  stage.connectionId = days.account.id
  const ended = await days.at(NOON, () => stage.run({ pixKey: newId() }))
  expect(ended.status).toBe('passed')
  await days.repeat(DAY, shiftDay(DAY, 1))
  expect(await days.judge(DAY)).toMatchObject({ state: 'green', items: [] })
  const { rest } = await readConnectionBalance(days.account.id)
  expect(rest).toBe(0)
  await expectBalancedLedger(TRIAL_ACCOUNT_ID)
})
