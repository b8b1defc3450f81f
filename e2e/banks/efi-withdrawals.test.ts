import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { EfiAccount, PAYEE } from '#e2e/banks/efi-account.ts'
import type { Fault } from '#e2e/psp/faults.ts'
import type { Payee } from '#e2e/psp/settings.ts'
import type { Account } from '#lib/accounts/schema.ts'
import { checkConnection } from '#lib/banks/connections.ts'
import { storeNotices } from '#lib/banks/notices.ts'
import { OPERATOR_ACCOUNT_ID, removeHyphens } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { askAboutEnded } from '#lib/orders/send.ts'
import { readBalances } from '#lib/testing/balances.ts'
import { readReturns } from '#lib/testing/bank-lists.ts'
import { assignConnection, endPause, endSlots, fundLive } from '#lib/testing/connection.ts'
import { expectBalancedLedger, inOwnDatabase, makeMerchant } from '#lib/testing/fixtures.ts'
import { dropOrders, makeOrdersDue, sendDueWithdrawals } from '#lib/testing/orders.ts'
import { createWithdrawal } from '#lib/withdrawals/create.ts'
import { askAboutNotices, ORDER_RULES } from '#lib/worker/worker.ts'

inOwnDatabase()

const BALANCE = 10_000
const AMOUNT = 4_000
let account: EfiAccount
let merchant: Account
let paidBefore: number
beforeAll(async () => {
  account = await EfiAccount.open()
  await checkConnection(account.id, { type: 'system' })
})
afterAll(() => account.close())
beforeEach(async () => {
  merchant = await makeMerchant()
  await assignConnection(account.id, merchant)
  await fundLive(merchant, BALANCE)
  paidBefore = await account.readPaidOut()
})
afterEach(async () => {
  await account.bank.run('clearFaults')
  await account.setPayee({})
  await dropOrders()
  await expectBalancedLedger(merchant.id)
  await expectBalancedLedger(OPERATOR_ACCOUNT_ID)
})

async function withdraw({ ownerDoc = '', at = account } = {}): Promise<string> {
  const { dictKey } = PAYEE
  const key = { pixKeyType: 'email', pixKey: dictKey, dictKey } as const
  const order = { amount: AMOUNT, ...key, ...(ownerDoc && { ownerDoc }) }
  return (await createWithdrawal(merchant.id, 'live', { ...order, connectionId: at.id })).id
}

const find = (id: string) => db().withdrawal.findFirstOrThrow({ where: { id } })

/** Sends or asks once, whatever pause there is, after the bank has ended what it has taken. */
async function work(id: string, at = account): Promise<string> {
  await at.settle()
  await endPause(at.id)
  await endSlots(at.id)
  await makeOrdersDue({ id })
  await sendDueWithdrawals()
  return (await find(id)).status
}

const readPaid = async () => (await account.readPaidOut()) - paidBefore

describe('a withdrawal is paid once and approved, also after', () => {
  test.each<[string, Fault | null]>([
    ['no fault', null],
    ['a response that was lost', { kind: 'reset', hasActed: true }],
    ['a connection that was reset', { kind: 'reset' }],
    ['half a body', { kind: 'half-body' }],
    ['a 503 in HTML', { kind: 'respond' }],
    ['two rate limits', { kind: 'respond', status: 429, body: '{}', times: 2 }],
    ['a missing scope', { kind: 'respond', status: 403, body: '{}' }],
  ])('%s', async (_, fault) => {
    const id = await withdraw(PAYEE)
    if (fault) await account.fail(fault)
    await sendDueWithdrawals()
    await expect.poll(() => work(id), { timeout: 60_000 }).toBe('approved')
    expect(await readPaid()).toBe(AMOUNT)
    const { endToEndId } = await find(id)
    expect(endToEndId).toMatch(/^E\w{31}$/)
    expect(await readBalances(merchant.id, 'live')).toEqual({
      available: BALANCE - AMOUNT,
      outbound: 0,
    })
  })
})

test.each<[string, Payee, string]>([
  ['the key belongs to another', { document: '11144477735' }, 'owner_differs'],
  ['the key is refused', { refusal: 'payeeKeyInvalid' }, 'key_refused'],
  ['the payment is denied', { refusal: 'payoutDenied' }, 'denied'],
  ['the payee rejects it', { failure: { codigo: 'AC07', motivo: 'x' } }, 'unspecified'],
])('a withdrawal is rejected and the money is back: %s', async (_, payee, rejectionCode) => {
  await account.setPayee(payee)
  const id = await withdraw(PAYEE)
  await sendDueWithdrawals()
  await expect.poll(() => work(id), { timeout: 60_000 }).toBe('rejected')
  expect(await find(id)).toMatchObject({ rejectionCode })
  expect(await readPaid()).toBe(0)
  expect(await readBalances(merchant.id, 'live')).toEqual({ available: BALANCE, outbound: 0 })
})

test('what was returned before the bank was asked is credited with the approval', async () => {
  await account.setPayee({ returns: [1_500] })
  const id = await withdraw()
  await sendDueWithdrawals()
  await expect.poll(() => work(id), { timeout: 60_000 }).toBe('approved')
  expect(await find(id)).toMatchObject({ returnedAmount: 1_500n })
  expect(await readPaid()).toBe(AMOUNT - 1_500)
  expect(await readBalances(merchant.id, 'live')).toEqual({
    available: BALANCE - AMOUNT + 1_500,
    outbound: 0,
  })
})

test('what is returned later is credited once, however often the list is read', async () => {
  const [id, untouched] = [await withdraw(), await withdraw()]
  for (const each of [id, untouched])
    await expect.poll(() => work(each), { timeout: 60_000 }).toBe('approved')
  for (const amount of [1_500, 500]) {
    await account.bank.run('returnPayout', { idEnvio: removeHyphens(id), amount })
    await readReturns()
    await readReturns()
  }
  expect(await find(id)).toMatchObject({ status: 'approved', returnedAmount: 2_000n })
  expect(await find(untouched)).toMatchObject({ returnedAmount: 0n })
  expect(await readBalances(merchant.id, 'live')).toEqual({
    available: BALANCE - 2 * AMOUNT + 2_000,
    outbound: 0,
  })
})

test('a return of a payout that Troco did not order, or of a list that breaks off, moves nothing', async () => {
  const id = await withdraw()
  await expect.poll(() => work(id), { timeout: 60_000 }).toBe('approved')
  await account.payAlone('Folha2', 700)
  await account.settle()
  await account.bank.run('returnPayout', { idEnvio: 'Folha2', amount: 700 })
  await account.bank.run('returnPayout', { idEnvio: removeHyphens(id), amount: 100 })
  await account.fail({ kind: 'half-body', path: '/v2/gn/pix/enviados', times: 1_000 })
  await readReturns()
  expect(await find(id)).toMatchObject({ returnedAmount: 0n })
  await account.bank.run('clearFaults')
  await readReturns()
  expect(await find(id)).toMatchObject({ returnedAmount: 100n })
  expect(await readBalances(merchant.id, 'live')).toMatchObject({
    available: BALANCE - AMOUNT + 100,
  })
})

test('a payout of another amount under its id never ends a withdrawal', async () => {
  const id = await withdraw()
  await account.payAlone(removeHyphens(id), AMOUNT - 1)
  await sendDueWithdrawals()
  for (let times = 0; times < 3; times++) expect(await work(id)).toBe('pending')
  expect(await readPaid()).toBe(AMOUNT - 1)
  expect(await readBalances(merchant.id, 'live')).toMatchObject({ outbound: AMOUNT })
})

test('while the balance at the bank is short, a withdrawal waits; then it is paid', async () => {
  const poor = await EfiAccount.open({ openingBalance: AMOUNT - 1 })
  await checkConnection(poor.id, { type: 'system' })
  const { length: after } = await poor.bank.run('readTraffic', {})
  await assignConnection(poor.id, merchant)
  const id = await withdraw({ at: poor })
  for (let times = 0; times < 3; times++) expect(await work(id, poor)).toBe('pending')
  expect(await poor.countSends(after)).toBe(0)
  await poor.bank.run('pay', { key: poor.bank.keys[0], amount: 100 })
  await expect.poll(() => work(id, poor), { timeout: 60_000 }).toBe('approved')
  expect(await poor.readPaidOut()).toBe(AMOUNT)
  await poor.close()
})

test('a notice that money came back is kept until the withdrawal has ended here', async () => {
  const id = await withdraw()
  await sendDueWithdrawals()
  const ask = async () => {
    await db().$executeRaw`UPDATE bank_notices SET due_at = now() WHERE kind = 'return'`
    await askAboutNotices()
    return askAboutEnded(ORDER_RULES)
  }
  await storeNotices(account.id, [{ kind: 'return', id: removeHyphens(id) }])
  expect(await ask()).toBe(0)
  expect(await work(id)).toBe('approved')
  await account.bank.run('returnPayout', { idEnvio: removeHyphens(id), amount: 1_500 })
  expect(await ask()).toBe(1)
  expect((await find(id)).returnedAmount).toBe(1_500n)
  expect(await ask()).toBe(0)
})

test('a notice that money of a withdrawal came back has it credited at once; one of its end asks nothing', async () => {
  const id = await withdraw()
  await sendDueWithdrawals()
  expect(await work(id)).toBe('approved')
  const { gateway, bank, receiver } = account
  const deliver = async () => {
    await bank.run('waitForNotices')
    const notices = receiver.notices.flatMap(
      ({ body }) => gateway.parseWebhook?.(JSON.stringify(body)) ?? [],
    )
    await storeNotices(
      account.id,
      notices.filter(notice => notice.id === removeHyphens(id)),
    )
    await askAboutNotices()
    return askAboutEnded(ORDER_RULES)
  }
  expect(await deliver()).toBe(0)
  await bank.run('returnPayout', { idEnvio: removeHyphens(id), amount: 1_500 })
  expect(await deliver()).toBe(1)
  expect((await find(id)).returnedAmount).toBe(1_500n)
  await deliver()
  expect((await readBalances(merchant.id, 'live')).available).toBe(BALANCE - AMOUNT + 1_500)
})
