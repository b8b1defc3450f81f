import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { openAt } from '#e2e/banks/open.ts'
import type { PaymentOrder } from '#e2e/psp/commands.ts'
import { type RunningBank, startBank } from '#e2e/psp/start.ts'
import { assignConnections } from '#lib/accounts/connections.ts'
import type { Account } from '#lib/accounts/schema.ts'
import { checkConnection } from '#lib/banks/connections.ts'
import { createPaymentReader } from '#lib/charges/read-payments.ts'
import { OPERATOR_ACCOUNT_ID, removeHyphens } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { call } from '#lib/testing/call.ts'
import {
  type Api,
  CHARGE,
  expectBalancedLedger,
  inOwnDatabase,
  makeMerchant,
  makeToken,
  startApi,
} from '#lib/testing/fixtures.ts'
import { expireDueCharges, makeOrdersDue, sendDueRefunds } from '#lib/testing/orders.ts'
import { startWorker } from '#lib/worker/worker.ts'

// The worker serves the connections of all accounts.
inOwnDatabase()

const SYSTEM = { type: 'system' } as const
/** So long ago that the bank's list, which ends with a whole second, contains it. */
const LISTED = { secondsAgo: 5 }

let bank: RunningBank
let api: Api
let merchant: Account
let token: string
let connectionId: string
/** The clock of the reader of payments. */
let clock: number
const now = () => new Date(clock)
beforeAll(async () => {
  bank = await startBank({ openingBalance: 100_000 })
  api = await startApi()
})
afterAll(async () => {
  await api.close()
  await bank.stop()
})
beforeEach(async () => {
  merchant = await makeMerchant()
  token = await makeToken(merchant.id, { mode: 'live' })
  connectionId = (await openAt(bank)).id
  expect(await checkConnection(connectionId, SYSTEM)).toMatchObject({ code: 'ok' })
  const assigned = { receiving_id: connectionId, paying_id: null }
  await assignConnections(merchant.id, assigned, SYSTEM)
  clock = Date.now()
  return async () => {
    await expectBalancedLedger(merchant.id)
    await expectBalancedLedger(OPERATOR_ACCOUNT_ID)
    // No later test reads it.
    await db().paymentReading.updateMany({ data: { dueAt: new Date('2100-01-01') } })
  }
})

async function post(path: string, body: object) {
  const response = await call(api.url, 'POST', path, { token, body })
  expect(response.status, response.text).toBeLessThan(300)
  return response.body.data
}
async function charge(): Promise<string> {
  return (await post('/transactions', CHARGE)).transaction_id
}
async function pay(id: string, order: Partial<PaymentOrder> = LISTED) {
  await bank.run('pay', { txid: removeHyphens(id), ...LISTED, ...order })
}
/** Reads the due list of payments, `seconds` later or now. Only this way, nothing else asks the bank. */
async function read(seconds = 0): Promise<void> {
  clock = Math.max(clock + seconds * 1_000, Date.now())
  const reader = createPaymentReader(now)
  await reader.run()
  await reader.idle()
}
const statusOf = async (id: string) =>
  (await call(api.url, 'GET', `/transactions/${id}`, { token })).body.data.status
const transfers = () => db().ledgerTransfer.count({ where: { accountId: merchant.id } })
const listDifferences = async () =>
  (await db().difference.findMany({ where: { connectionId }, orderBy: { kind: 'asc' } })).map(
    ({ kind, facts }) => [kind, (facts as { amount: number }).amount],
  )

test('a charge that was paid is credited once, without any notice', async () => {
  const id = await charge()
  await pay(id)
  expect(await statusOf(id)).toBe('pending')
  await read()
  expect(await statusOf(id)).toBe('paid')
  const events = await db().event.findMany({ where: { subjectId: id }, select: { type: true } })
  expect(events.map(({ type }) => type)).toContain('transaction.paid')
  for (const seconds of [15, 15, 60]) await read(seconds)
  expect(await transfers()).toBe(1)
  expect(await listDifferences()).toEqual([])
  const asked = (await bank.run('readTraffic', {})).filter(
    ({ method, target }) => method === 'GET' && target.endsWith(removeHyphens(id)),
  )
  expect(asked).toEqual([])
})

test('who paid is named if the bank names the payer, who may be another than the charge names', async () => {
  const [unnamed, named] = [await charge(), await charge()]
  await pay(unnamed)
  await read()
  await bank.run('change', { quirks: { hasPayerIdentity: true } })
  await pay(named, {
    payer: { nome: 'LOJA 12ABC34501DE35', cnpj: '12ABC34501DE35', codigoBanco: '99999998' },
  })
  await read(15)
  await bank.run('change', { quirks: { hasPayerIdentity: false } })
  const detailOf = async (id: string) =>
    (await call(api.url, 'GET', `/transactions/${id}`, { token })).body.data
  expect(await detailOf(unnamed)).not.toHaveProperty('payer')
  const { payer, client_name } = await detailOf(named)
  expect(client_name).toBe(CHARGE.client_name)
  const document = '**.ABC.345/****-**'
  expect(payer).toEqual({ name: `LOJA ${document}`, document, bank: '99999998' })
  expect(JSON.stringify(await db().gatewayCall.findMany({}))).not.toContain('LOJA')
})

test('another amount, a second payment and one without txid are among the differences', async () => {
  const [wrong, twice, lost] = [await charge(), await charge(), await charge()]
  await pay(wrong, { amount: CHARGE.amount - 1 })
  await pay(twice, { copies: 2, isForced: true })
  await pay(lost, { dropsTxid: true })
  await read()
  await read(15)
  expect(await Promise.all([wrong, twice, lost].map(statusOf))).toEqual([
    'pending',
    'paid',
    'pending',
  ])
  expect(await transfers()).toBe(1)
  expect(await listDifferences()).toEqual([
    ['payment_amount', CHARGE.amount - 1],
    ['payment_repeated', CHARGE.amount],
    ['payment_unmatched', CHARGE.amount],
  ])
})

test('a payment that the list contains a minute late is found by a later reading', async () => {
  const id = await charge()
  await bank.run('change', { listsBehindMs: 60_000 })
  await pay(id)
  await read()
  expect(await statusOf(id)).toBe('pending')
  await bank.run('change', { listsBehindMs: 0 })
  await read(15)
  expect(await statusOf(id)).toBe('paid')
  await read(15)
  expect(await transfers()).toBe(1)
})

test('a payment is found although the clock of the bank is 90 s behind', async () => {
  await bank.run('change', { clockOffsetMs: -90_000 })
  const id = await charge()
  await read()
  await pay(id, { secondsAgo: 0 })
  await read(15)
  await bank.run('change', { clockOffsetMs: 0 })
  expect(await statusOf(id)).toBe('paid')
})

test('payments on pages that shift are each found once', async () => {
  await charge()
  const payment = { key: bank.keys[0], amount: 70, ...LISTED }
  await Promise.all(Array.from({ length: 130 }, () => bank.run('pay', payment)))
  await bank.run('addFault', { kind: 'shift-pages', path: '/v2/pix', times: 3 })
  await read()
  await bank.run('clearFaults')
  await read(15)
  expect(await listDifferences()).toEqual(Array(130).fill(['payment_unmatched', 70]))
})

test('while the list fails nothing is lost', async () => {
  const id = await charge()
  await pay(id)
  await bank.run('addFault', { kind: 'respond', path: '/v2/pix', times: 2 })
  // The list of payments that were given back is read, too.
  await bank.run('addFault', { kind: 'half-body', path: '/v2/pix', times: 8 })
  await read()
  expect(await statusOf(id)).toBe('pending')
  await bank.run('clearFaults')
  await read(15)
  expect(await statusOf(id)).toBe('paid')
})

test('a payment after the charge expired is credited', async () => {
  const id = await charge()
  await db().$executeRaw`
    UPDATE charges SET expires_at = now() - interval '1 second', due_at = now() WHERE id = ${id}::uuid`
  await expect
    .poll(async () => {
      await expireDueCharges()
      return statusOf(id)
    })
    .toBe('expired')
  await read()
  await pay(id, { isForced: true })
  await read(5 * 60)
  expect(await statusOf(id)).toBe('paid')
})

test.each([
  ['was lost before the bank acted', false],
  ['was lost after the bank acted', true],
])('a refund whose response %s is made once', async (_, hasActed) => {
  const id = await charge()
  await pay(id)
  await read()
  const { balance } = await bank.run('readBook')
  const { id: refundId } = await post(`/transactions/${id}/refunds`, { amount: 500 })
  await bank.run('addFault', { kind: 'reset', method: 'PUT', path: '/v2/pix', hasActed })
  const refund = () => db().refund.findFirstOrThrow({ where: { id: refundId } })
  await sendDueRefunds()
  expect((await refund()).status).toBe('pending')
  await expect
    .poll(async () => {
      await makeOrdersDue({ id: refundId, slots: true })
      await sendDueRefunds()
      return (await refund()).status
    })
    .toBe('completed')
  expect((await bank.run('readBook')).balance).toBe(balance - 500)
  const { payments } = await bank.run('readRecords')
  const refunds = payments.flatMap(payment => payment.refunds)
  expect(refunds.filter(({ id }) => id === removeHyphens(refundId))).toHaveLength(1)
})

test('the worker of the product does all of it', async () => {
  const id = await charge()
  await pay(id)
  const worker = startWorker()
  await expect.poll(() => statusOf(id)).toBe('paid')
  await worker.stop()
  expect(await transfers()).toBe(1)
})
