import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { EfiAccount, PAYEE, signal } from '#e2e/banks/efi-account.ts'
import type { Account } from '#lib/accounts/schema.ts'
import { isMoneyOutClosed } from '#lib/banks/closures.ts'
import { checkConnection } from '#lib/banks/connections.ts'
import { createRefund } from '#lib/charges/refunds/refund.ts'
import { removeHyphens } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { readBalances } from '#lib/testing/balances.ts'
import {
  assignConnection,
  endPause,
  endSlots,
  fundLive,
  openLiveCharge,
} from '#lib/testing/connection.ts'
import { expectBalancedLedger, inOwnDatabase, makeMerchant } from '#lib/testing/fixtures.ts'
import { makeOrdersDue, sendDueRefunds, sendDueWithdrawals } from '#lib/testing/orders.ts'
import { copyNow, readRestored, restore } from '#lib/testing/restore.ts'
import { createWithdrawal } from '#lib/withdrawals/create.ts'

inOwnDatabase()

const FUNDS = 10_000
const AMOUNT = 4_000

let account: EfiAccount
let merchant: Account
beforeAll(async () => {
  account = await EfiAccount.open()
  await checkConnection(account.id, { type: 'system' })
})
afterAll(() => account.close())
beforeEach(async () => {
  merchant = await makeMerchant()
  await assignConnection(account.id, merchant)
  await fundLive(merchant, FUNDS)
})

const readAvailable = async () => (await readBalances(merchant.id, 'live')).available

async function withdraw(): Promise<string> {
  const { dictKey } = PAYEE
  const key = { pixKeyType: 'email', pixKey: dictKey, dictKey } as const
  const order = { amount: AMOUNT, ...key, connectionId: account.id }
  return (await createWithdrawal(merchant.id, 'live', order)).id
}

/** Sends what is due, whatever pause there is. */
async function send(): Promise<void> {
  await endPause(account.id)
  await endSlots(account.id)
  await makeOrdersDue()
  await sendDueWithdrawals()
  await sendDueRefunds()
}

/** A charge that the bank has seen paid. */
async function payCharge(): Promise<string> {
  const { id } = await openLiveCharge(merchant, 3_000)
  await account.bank.run('pay', { txid: removeHyphens(id), amount: 3_000 })
  return id
}

test('what the bank has received, paid out and given back since is in the books once, and sent once', async () => {
  const [before, since] = [await payCharge(), await openLiveCharge(merchant, 2_000)]
  await restore(await copyNow())
  await readRestored()
  expect(await readAvailable()).toBe(FUNDS + 3_000)
  const paidOut = await account.readPaidOut()
  const withdrawal = await withdraw()
  const { id: refund } = await createRefund(merchant.id, 'live', before, { amount: 500 })
  const point = await copyNow()
  await send()
  await account.settle()
  await account.bank.run('pay', { txid: removeHyphens(since.id), amount: 2_000 })
  await restore(point)
  await send()
  for (let times = 0; times < 2; times++) await readRestored()
  expect(await isMoneyOutClosed(account.id)).toBe(false)
  expect(await readAvailable()).toBe(FUNDS + 3_000 + 2_000 - 500 - AMOUNT)
  expect(await db().refund.findFirst({ where: { id: refund } })).toMatchObject({
    status: 'completed',
  })
  expect(await db().withdrawal.findFirst({ where: { id: withdrawal } })).toMatchObject({
    status: 'approved',
  })
  await send()
  await account.settle()
  expect((await account.readPaidOut()) - paidOut).toBe(AMOUNT)
  await expectBalancedLedger(merchant.id)
})

test('a payout that the bank has not ended is listed, and one of another program is not', async () => {
  const since = new Date(Date.now() - 1_000)
  await account.payAlone('anotherProgram', 200)
  const id = await withdraw()
  await send()
  const order = { id: removeHyphens(id), amount: AMOUNT, dictKey: PAYEE.dictKey }
  const list = async () => {
    const page = await account.gateway.listTakenPayouts?.(since, null, signal())
    const items = page?.outcome === 'ok' ? page.value.items : expect.unreachable()
    expect(items.every(item => /^[0-9a-f]{32}$/.test(item.id))).toBe(true)
    return items.filter(item => item.id === order.id)
  }
  expect(await list()).toMatchObject([{ ...order, isDone: false }])
  await account.settle()
  const endToEndId = expect.stringMatching(/^E/)
  expect(await list()).toMatchObject([{ ...order, isDone: true, endToEndId }])
})
