import { randomUUID } from 'node:crypto'
import { copyFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeScratchFolder } from '#lib/testing/scratch.ts'
import { Troco } from '../client/troco.ts'
import type { TestAccount, TrocoServer } from '../testing/index.d.ts'

/** What Medusa hands to a provider and stores of it, as `e2e/torture/medusa.test.ts` shows with Medusa itself. */
type Data = Record<string, unknown> & { transaction_id: string }
type Answer = { id?: string; status: string; data: Data }
interface Provider {
  initiatePayment(input: object): Promise<Answer>
  updatePayment(input: object): Promise<Answer>
  deletePayment(input: object): Promise<Answer>
  cancelPayment(input: object): Promise<Answer>
  authorizePayment(input: object): Promise<Answer>
  capturePayment(input: object): Promise<Answer>
  retrievePayment(input: object): Promise<Answer>
  refundPayment(input: object): Promise<Answer>
  getWebhookActionAndData(payload: object): Promise<{ action: string; data?: object }>
}

const { startTroco } = createRequire(import.meta.url)('../testing/index.cjs') as {
  startTroco: () => Promise<TrocoServer>
}

let troco: TrocoServer
let TrocoPaymentProvider: {
  new (container: object, settings: object): Provider
  validateOptions(options: object): void
}
beforeAll(async () => {
  troco = await startTroco()
  // The provider lies in the shop's project, beside the client from the server.
  const folder = makeScratchFolder('troco-medusa-')
  const client = await fetch(`${troco.url}/docs/clients/troco.ts`)
  writeFileSync(join(folder, 'troco.ts'), await client.text())
  copyFileSync('packages/shops/medusa.ts', join(folder, 'medusa.ts'))
  TrocoPaymentProvider = (await import(join(folder, 'medusa.ts'))).TrocoPaymentProvider
})
afterAll(() => troco?.close())

async function openShop(settings: object = {}) {
  const account = await troco.account()
  const sessions = new Map<string, object>()
  const log: string[] = []
  const container = {
    logger: { warn: (line: string) => log.push(line), error: (line: string) => log.push(line) },
    paymentSessionService: {
      list: async ({ id }: { id: string }) => [sessions.get(id) ?? []].flat(),
    },
  }
  const options = { url: account.url, token: account.token, webhookSecret: account.webhookSecret }
  const provider = new TrocoPaymentProvider(container, { ...options, ...settings })
  return { account, provider, sessions, log }
}

type TestShop = Awaited<ReturnType<typeof openShop>>

const BUYER = { client_name: 'Ana', client_email: 'ana@example.com', client_doc: '529.982.247-25' }

/** Opens a session as Medusa does, which stores what the provider returns. */
async function openSession({ provider, sessions }: TestShop, id = 'payses_1', more: object = {}) {
  const data = { ...BUYER, ...more, session_id: id }
  const amount = 49.9
  const answer = await provider.initiatePayment({ amount, currency_code: 'brl', data })
  store(sessions, id, answer.data)
  return answer.data
}

function store(sessions: TestShop['sessions'], id: string, data: object, changed: object = {}) {
  const payment_collection = { status: 'awaiting', amount: 49.9 }
  const payment = { refunds: [] }
  sessions.set(id, { data, authorized_at: null, payment_collection, payment, ...changed })
}

interface Payment {
  refunds: { id: string; amount: number }[]
}

/** Refunds as Medusa does, which stores its refund before it calls the provider, and deletes it after an error. */
async function refund({ provider, sessions }: TestShop, data: Data, amount: number) {
  const { payment } = sessions.get('payses_1') as { payment: Payment }
  const id = `ref_${randomUUID()}`
  payment.refunds.push({ id, amount })
  try {
    return await provider.refundPayment({ amount, data, context: { idempotency_key: id } })
  } catch (error) {
    payment.refunds = payment.refunds.filter(one => one.id !== id)
    throw error
  }
}

async function readCharge(account: TestAccount, id: string) {
  const headers = { authorization: `Bearer ${account.token}` }
  return (await (await fetch(`${account.api}/transactions/${id}`, { headers })).json()).data
}

/** What the buyer has got back, with the refunds that the bank has not confirmed. */
async function readRefunds(account: TestAccount, id: string): Promise<number[]> {
  return (await readRefundsOf(account, id)).map(({ amount }) => amount)
}

async function readRefundsOf(account: TestAccount, id: string) {
  return (await new Troco(account).refunds.ofCharge(id).page()).data
}

/** What Medusa hands over of the next webhook of a payment. */
async function receivePaid({ webhooks }: TestAccount) {
  const { body, headers } = await webhooks.next('transaction.paid')
  return { headers, rawData: Buffer.from(body) }
}

test('a session has one charge, however often it is opened', async () => {
  const shop = await openShop()
  const first = await openSession(shop)
  expect(await openSession(shop)).toEqual(first)
  expect(await readCharge(shop.account, first.transaction_id)).toMatchObject({
    amount: 4_990,
    external_id: 'payses_1',
    payment_url: first.payment_url,
    br_code: first.br_code,
  })
  const { status } = await shop.provider.authorizePayment({ data: first })
  expect(status).toBe('pending_authorization')
})

test.each([
  [10.1 + 0.2, 1_030],
  [{ value: '1234.56', precision: 20 }, 123_456],
  ['19.9', 1_990],
  [19.99, 1_999],
])('the amount %j of Medusa is charged as %i cents', async (amount, cents) => {
  const { provider, account } = await openShop()
  const data = { ...BUYER, session_id: 'payses_1' }
  const { id } = await provider.initiatePayment({ amount, currency_code: 'BRL', data })
  expect(await readCharge(account, id ?? '')).toMatchObject({ amount: cents })
})

test('another amount, or the end of a charge, brings another one', async () => {
  const { provider, account, ...shop } = await openShop()
  const first = await openSession({ provider, account, ...shop })
  const update = (amount: number, data: Data) =>
    provider.updatePayment({ amount, currency_code: 'brl', data })
  expect((await update(49.9, first)).data).toEqual(first)
  const { data: second } = await update(99.8, first)
  expect(await readCharge(account, first.transaction_id)).toMatchObject({ status: 'expired' })
  expect(await readCharge(account, second.transaction_id)).toMatchObject({ amount: 9_980 })
  await account.expire(second.transaction_id)
  expect((await provider.authorizePayment({ data: second })).status).toBe('canceled')
  const { data: third } = await update(99.8, second)
  expect(await readCharge(account, third.transaction_id)).toMatchObject({ status: 'pending' })
})

test('a payment that Medusa has taken ends only by a refund', async () => {
  const shop = await openShop()
  const data = await openSession(shop)
  const { provider, account, sessions } = shop
  await expect(provider.capturePayment({ data })).rejects.toThrow('The charge is pending')
  await account.pay(data.transaction_id)
  expect((await provider.authorizePayment({ data })).status).toBe('captured')
  expect(await provider.capturePayment({ data })).toEqual({ data })
  store(sessions, 'payses_1', data, { authorized_at: new Date() })
  const input = { amount: 99.8, currency_code: 'brl', data }
  for (const end of ['deletePayment', 'cancelPayment', 'updatePayment'] as const)
    await expect(provider[end](input)).rejects.toThrow('The charge was paid')
  await refund(shop, data, 49.9)
  await provider.deletePayment({ data })
  expect(await readRefunds(account, data.transaction_id)).toEqual([4_990])
})

test('a payment that came before its session was deleted goes back', async () => {
  const shop = await openShop()
  const data = await openSession(shop)
  await shop.account.pay(data.transaction_id)
  await shop.provider.deletePayment({ data })
  await shop.provider.deletePayment({ data })
  expect(await readRefunds(shop.account, data.transaction_id)).toEqual([4_990])
  expect((await shop.provider.authorizePayment({ data })).status).toBe('canceled')
})

test('a payment that the bank refused to give back can be given back again', async () => {
  const shop = await openShop()
  const data = await openSession(shop, 'payses_1', { client_email: 'hold@example.com' })
  await shop.account.pay(data.transaction_id)
  await shop.provider.deletePayment({ data })
  const [first] = await readRefundsOf(shop.account, data.transaction_id)
  await shop.account.refuse(first?.id ?? '')
  const { headers, body } = await shop.account.webhooks.next('transaction.refund_failed')
  await shop.provider.getWebhookActionAndData({ headers, rawData: Buffer.from(body) })
  expect(shop.log.at(-1)).toContain(`refused refund ${first?.id}`)
  await shop.provider.deletePayment({ data })
  expect(await readRefundsOf(shop.account, data.transaction_id)).toMatchObject([
    { status: 'pending', amount: 4_990 },
    { status: 'rejected', amount: 4_990 },
  ])
  expect(shop.log.filter(line => line.includes(data.transaction_id))).toHaveLength(3)
})

test('a session that was paid stays paid when it is updated with the same amount', async () => {
  const shop = await openShop()
  const data = await openSession(shop)
  await shop.account.pay(data.transaction_id)
  const input = { amount: 49.9, currency_code: 'brl', data }
  expect(await shop.provider.updatePayment(input)).toEqual({ data, status: 'captured' })
  expect(await readRefunds(shop.account, data.transaction_id)).toEqual([])
})

test('a refund whose response was lost is not sent again', async () => {
  // The second attempt is Medusa's, with another id of its own.
  const shop = await openShop({ attempts: 1 })
  const data = await openSession(shop)
  const { account } = shop
  await account.pay(data.transaction_id)
  await account.fault({
    path: '/transactions/{id}/refunds',
    once: 'timeoutAfterCommit',
    method: 'POST',
  })
  await expect(refund(shop, data, 9.9)).rejects.toThrow()
  await expect(refund(shop, data, 5)).rejects.toThrow('refund that amount first')
  await refund(shop, data, 9.9)
  expect(await readRefunds(account, data.transaction_id)).toEqual([990])
  await refund(shop, data, 9.9)
  expect(await readRefunds(account, data.transaction_id)).toEqual([990, 990])
})

test('what Troco refunds without Medusa, or the bank refuses, is no refund of Medusa', async () => {
  const shop = await openShop()
  const { account } = shop
  const data = await openSession(shop, 'payses_1', { client_email: 'hold@example.com' })
  const id = data.transaction_id
  await account.pay(id)
  await refund(shop, data, 9.9)
  const [first] = await readRefundsOf(account, id)
  await account.refuse(first?.id ?? '')
  await new Troco(account).refunds.create(id, { amount: 990 }, { key: 'dashboard' })
  await refund(shop, data, 5)
  expect(await readRefunds(account, id)).toEqual([500, 990, 990])
})

test('two equal refunds at once are two, or the second is refused', async () => {
  const shop = await openShop()
  const data = await openSession(shop)
  await shop.account.pay(data.transaction_id)
  // Both begin with the data of the payment as it was before them.
  const results = await Promise.allSettled([refund(shop, data, 9.9), refund(shop, data, 9.9)])
  const done = results.filter(({ status }) => status === 'fulfilled').map(() => 990)
  expect(done).not.toEqual([])
  expect(await readRefunds(shop.account, data.transaction_id)).toEqual(done)
  await refund(shop, data, 9.9)
  expect(await readRefunds(shop.account, data.transaction_id)).toEqual([...done, 990])
})

test('a webhook names the session that was paid, however late, and a forged one nothing', async () => {
  const shop = await openShop()
  const data = await openSession(shop)
  await shop.account.pay(data.transaction_id)
  const { headers, rawData } = await receivePaid(shop.account)
  const forged = Buffer.from(rawData.toString().replaceAll('payses_1', 'payses_2'))
  const read = (body: Buffer) => shop.provider.getWebhookActionAndData({ headers, rawData: body })
  expect(await read(rawData)).toEqual({
    action: 'captured',
    data: { session_id: 'payses_1', amount: 49.9 },
  })
  expect(await read(forged)).toEqual({ action: 'not_supported' })
  const hourAgo = new Date(Date.now() - 3_600_000)
  const signature = new Webhook(shop.account.webhookSecret).sign('old', hourAgo, `${rawData}`)
  const old = {
    'webhook-id': 'old',
    'webhook-timestamp': String(Math.floor(hourAgo.getTime() / 1000)),
    'webhook-signature': signature,
  }
  expect(await shop.provider.getWebhookActionAndData({ headers: old, rawData })).toMatchObject({
    action: 'captured',
  })
  expect(shop.log).toEqual([expect.stringContaining('signature')])
})

test.each<[string, (shop: TestShop, data: Data) => void]>([
  ['whose session is gone', ({ sessions }) => sessions.clear()],
  [
    'whose session has another charge',
    ({ sessions }, data) => store(sessions, 'payses_1', { ...data, transaction_id: 'other' }),
  ],
  [
    'whose order was cancelled',
    ({ sessions }, data) =>
      store(sessions, 'payses_1', data, {
        payment_collection: { status: 'canceled', amount: 49.9 },
      }),
  ],
  [
    'of a cart whose total changed',
    ({ sessions }, data) =>
      store(sessions, 'payses_1', data, {
        payment_collection: { status: 'awaiting', amount: 99.8 },
      }),
  ],
])('a payment %s goes back once', async (_, change) => {
  const shop = await openShop()
  const data = await openSession(shop)
  change(shop, data)
  await shop.account.pay(data.transaction_id)
  expect((await shop.provider.authorizePayment({ data })).status).toBe('canceled')
  const payload = await receivePaid(shop.account)
  for (const _ of ['first', 'again'])
    expect(await shop.provider.getWebhookActionAndData(payload)).toEqual({
      action: 'not_supported',
    })
  expect(await readRefunds(shop.account, data.transaction_id)).toEqual([4_990])
  await shop.account.assertLedger()
})

test('a charge of another shop is left alone', async () => {
  const shop = await openShop()
  const { transaction_id } = await openSession(shop)
  const options = { url: shop.account.url, token: shop.account.token, shop: 'other' }
  const other = new TrocoPaymentProvider(
    { logger: {}, paymentSessionService: { list: async () => [] } },
    { ...options, webhookSecret: shop.account.webhookSecret },
  )
  await shop.account.pay(transaction_id)
  const payload = await receivePaid(shop.account)
  expect(await other.getWebhookActionAndData(payload)).toEqual({ action: 'not_supported' })
  expect(await readRefunds(shop.account, transaction_id)).toEqual([])
})

test('the buyer reads what is wrong, and the operator what is missing', async () => {
  const { provider } = await openShop()
  const open = (currency_code: string, client_doc: string) =>
    provider.initiatePayment({
      amount: 10,
      currency_code,
      data: { ...BUYER, client_doc, session_id: 'payses_1' },
    })
  const shown = { type: 'invalid_data' }
  await expect(open('brl', '1')).rejects.toMatchObject(shown)
  await expect(open('eur', BUYER.client_doc)).rejects.toMatchObject(shown)
  expect(() => TrocoPaymentProvider.validateOptions({ url: 'https://pay.example' })).toThrow(
    'option token',
  )
})
