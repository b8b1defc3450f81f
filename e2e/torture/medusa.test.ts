import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { cleanUp, makeFolder, openForTest, query, readSuperuserUrl } from '#lib/testing/embedded.ts'
import { makeScratchFolder } from '#lib/testing/scratch.ts'
import { findFreePort } from '#lib/testing/server.ts'
import type { TestAccount, TrocoServer } from '../../packages/testing/index.d.ts'
import { installShop } from './shop-packages.ts'

const PROJECT = 'e2e/shops/medusa'
const ADMIN = { email: 'admin@example.com', password: 'a long password' }
const PRICE = 49.9

const { startTroco } = createRequire(import.meta.url)('../../packages/testing/index.cjs') as {
  startTroco: () => Promise<TrocoServer>
}

let troco: TrocoServer
let account: TestAccount
let shop: Shop
beforeAll(async () => {
  troco = await startTroco()
  account = await troco.account()
  shop = await startShop()
  await account.webhooks.forwardTo(`${shop.url}/hooks/payment/troco_pix`)
}, 900_000)
afterAll(async () => {
  shop?.stop()
  await troco?.close()
  await cleanUp()
})

interface Shop {
  url: string
  stop: () => void
  /** Lines of its log. */
  output: () => string
  admin: Call
  store: Call
  region: string
  variant: string
  /** A variant that must be sent, in a shop that has no way to send it. */
  unsent: string
}

// biome-ignore lint/suspicious/noExplicitAny: responses of Medusa, whose types are not installed here
type Call = (path: string, body?: object) => Promise<any>

/** Builds a shop with Medusa's own compiler, so that the provider fits its types, and starts it with one product. */
async function startShop(): Promise<Shop> {
  const packages = await installShop(PROJECT)
  const folder = makeScratchFolder('troco-medusa-')
  symlinkSync(packages, join(folder, 'node_modules'))
  for (const file of ['package.json', 'tsconfig.json', 'medusa-config.ts'])
    copyFileSync(join(PROJECT, file), join(folder, file))
  const module = join(folder, 'src/modules/troco')
  mkdirSync(module, { recursive: true })
  for (const file of ['troco.ts', 'medusa.ts']) {
    const response = await fetch(`${troco.url}/docs/clients/${file}`)
    writeFileSync(join(module, file), await response.text())
  }
  const cli = join(packages, '@medusajs/cli/cli.js')
  const env = {
    PATH: process.env.PATH,
    HOME: folder,
    NODE_ENV: 'production' as const,
    MEDUSA_DISABLE_TELEMETRY: '1',
    DATABASE_URL: await createDatabase(),
    TROCO_URL: account.url,
    TROCO_TOKEN: account.token,
    TROCO_WEBHOOK_SECRET: account.webhookSecret,
  }
  const run = (cwd: string, ...args: string[]) =>
    promisify(execFile)(process.execPath, [cli, ...args], { cwd, env, maxBuffer: 1 << 26 }).catch(
      ({ message, stdout }) => expect.unreachable(`${message}\n${stdout}`),
    )
  await run(folder, 'build')
  const built = join(folder, '.medusa/server')
  await run(built, 'db:migrate')
  await run(built, 'user', '-e', ADMIN.email, '-p', ADMIN.password)
  const port = await findFreePort()
  const child = spawn(process.execPath, [cli, 'start', '-H', '127.0.0.1', '-p', String(port)], {
    cwd: built,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  child.stdout.on('data', text => {
    output += text
  })
  while (!output.includes('Server is ready')) await once(child.stdout, 'data')
  const url = `http://127.0.0.1:${port}`
  const products = await fillShop(url)
  return { url, stop: () => void child.kill(), output: () => output, ...products }
}

async function createDatabase(): Promise<string> {
  const folder = makeFolder()
  const { url } = await openForTest(folder)
  const database = new URL(readSuperuserUrl(folder, url))
  database.pathname = '/postgres'
  await query(database.href, 'CREATE DATABASE medusa')
  database.pathname = '/medusa'
  return database.href
}

async function fillShop(
  url: string,
): Promise<Pick<Shop, 'admin' | 'store' | 'region' | 'variant' | 'unsent'>> {
  const callWith =
    (headers: Record<string, string>): Call =>
    async (path, body) => {
      const response = await fetch(url + path, {
        method: body ? 'POST' : 'GET',
        headers: { 'content-type': 'application/json', ...headers },
        ...(body && { body: JSON.stringify(body) }),
      })
      const text = await response.text()
      if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`)
      return JSON.parse(text)
    }
  const { token } = await callWith({})('/auth/user/emailpass', ADMIN)
  const admin = callWith({ authorization: `Bearer ${token}` })
  const { stores } = await admin('/admin/stores')
  const channel = stores[0].default_sales_channel_id
  const currencies = [{ currency_code: 'brl', is_default: true }]
  await admin(`/admin/stores/${stores[0].id}`, { supported_currencies: currencies })
  const { region } = await admin('/admin/regions', {
    name: 'Brasil',
    currency_code: 'brl',
    countries: ['br'],
    payment_providers: ['pp_troco_pix'],
  })
  const { api_key } = await admin('/admin/api-keys', { title: 'Loja', type: 'publishable' })
  await admin(`/admin/api-keys/${api_key.id}/sales-channels`, { add: [channel] })
  const createVariant = async (title: string, more = {}) => {
    const { product } = await admin('/admin/products', {
      title,
      status: 'published',
      sales_channels: [{ id: channel }],
      options: [{ title: 'Peso', values: ['1 kg'] }],
      variants: [
        {
          title: '1 kg',
          options: { Peso: '1 kg' },
          manage_inventory: false,
          prices: [{ currency_code: 'brl', amount: PRICE }],
        },
      ],
      ...more,
    })
    return product.variants[0].id
  }
  const { shipping_profiles } = await admin('/admin/shipping-profiles')
  const variant = await createVariant('Café especial')
  const unsent = await createVariant('Moedor', { shipping_profile_id: shipping_profiles[0].id })
  const store = callWith({ 'x-publishable-api-key': api_key.token })
  return { admin, store, region: region.id, variant, unsent }
}

/** A guest with one product in the cart. */
async function openCheckout(variant = shop.variant) {
  const { store, region } = shop
  const { cart } = await store('/store/carts', {
    region_id: region,
    email: 'ana@example.com',
    items: [{ variant_id: variant, quantity: 1 }],
  })
  const { payment_collection } = await store('/store/payment-collections', { cart_id: cart.id })
  return {
    /** Opens a session, which replaces an earlier one, and returns its charge. */
    async pay(document = '529.982.247-25') {
      const buyer = { client_name: 'Ana Rocha', client_email: 'ana@example.com' }
      const answer = await store(
        `/store/payment-collections/${payment_collection.id}/payment-sessions`,
        { provider_id: 'pp_troco_pix', data: { ...buyer, client_doc: document } },
      )
      const [session, ...others] = answer.payment_collection.payment_sessions
      expect(others).toEqual([])
      return session.data
    },
    async setQuantity(quantity: number) {
      return store(`/store/carts/${cart.id}/line-items/${cart.items[0].id}`, { quantity })
    },
    complete: () => store(`/store/carts/${cart.id}/complete`, {}),
    isCompleted: async () =>
      Boolean((await store(`/store/carts/${cart.id}?fields=completed_at`)).cart.completed_at),
  }
}

async function readOrder(id: string) {
  const fields = 'status,payment_status,*summary,*payment_collections.payments'
  return (await shop.admin(`/admin/orders/${id}?fields=${fields}`)).order
}

/** Cents that the buyer of a session has got back. */
async function readRefunded(session: { transaction_id: string }) {
  return (await readCharge(session.transaction_id)).refunded_amount
}

async function readCharge(id: string) {
  const headers = { authorization: `Bearer ${account.token}` }
  return (await (await fetch(`${account.api}/transactions/${id}`, { headers })).json()).data
}

test('an order is placed by Pix before the buyer is back, and refunded in part', async () => {
  const { pay, complete, isCompleted } = await openCheckout()
  const { transaction_id, br_code, payment_url } = await pay()
  expect(br_code).toMatch(/^00020101/)
  expect((await fetch(payment_url)).status).toBe(200)
  await account.webhooks.duplicate()
  await account.pay(transaction_id)
  await expect.poll(isCompleted).toBe(true)
  const back = await complete()
  expect(back).toMatchObject({ type: 'order' })
  const order = await readOrder(back.order.id)
  expect(order).toMatchObject({ payment_status: 'captured', summary: { paid_total: PRICE } })
  const [payment] = order.payment_collections[0].payments
  await shop.admin(`/admin/payments/${payment.id}/refund`, { amount: 9.9, note: 'sem estoque' })
  await expect.poll(() => readRefunded({ transaction_id })).toBe(990)
  expect(await readOrder(back.order.id)).toMatchObject({
    payment_status: 'partially_refunded',
    summary: { paid_total: PRICE, refunded_total: 9.9 },
  })
})

test('of two equal refunds at once, Medusa counts those that the buyer gets', async () => {
  const { pay, complete } = await openCheckout()
  const { transaction_id } = await pay()
  await account.pay(transaction_id)
  const { order } = await complete()
  const [payment] = (await readOrder(order.id)).payment_collections[0].payments
  const refund = () => shop.admin(`/admin/payments/${payment.id}/refund`, { amount: 9.9 })
  const results = await Promise.allSettled([refund(), refund()])
  const count = results.filter(({ status }) => status === 'fulfilled').length
  expect(count).toBeGreaterThan(0)
  await refund()
  await expect.poll(() => readRefunded({ transaction_id })).toBe(990 * (count + 1))
  const { refunds } = (await shop.admin(`/admin/payments/${payment.id}`)).payment
  expect(refunds).toHaveLength(count + 1)
})

test('another total ends the first charge, and asks for all of it', async () => {
  const { pay, setQuantity, complete, isCompleted } = await openCheckout()
  const first = await pay()
  await setQuantity(2)
  expect(await readCharge(first.transaction_id)).toMatchObject({
    status: 'expired',
    cancelled_at: expect.any(String),
  })
  const second = await pay()
  expect(await readCharge(second.transaction_id)).toMatchObject({
    status: 'pending',
    amount: 2 * PRICE * 100,
  })
  await account.pay(second.transaction_id)
  await expect.poll(isCompleted).toBe(true)
  const { order } = await complete()
  expect(await readOrder(order.id)).toMatchObject({ payment_status: 'captured' })
})

test('an order that is placed before its payment waits for it', async () => {
  const { pay, complete } = await openCheckout()
  const { transaction_id } = await pay()
  const { type, order } = await complete()
  expect(type).toBe('order')
  expect(await readOrder(order.id)).toMatchObject({ payment_status: 'awaiting' })
  await account.pay(transaction_id)
  await expect.poll(async () => (await readOrder(order.id)).payment_status).toBe('captured')
})

test('a payment of an order that was cancelled goes back to the buyer', async () => {
  const { pay, complete } = await openCheckout()
  const { transaction_id } = await pay()
  const { order } = await complete()
  await shop.admin(`/admin/orders/${order.id}/cancel`, {})
  await account.pay(transaction_id)
  await expect.poll(() => readRefunded({ transaction_id })).toBe(4_990)
  expect(await readOrder(order.id)).toMatchObject({ status: 'canceled' })
})

test('a cancelled order gives back what was paid for it', async () => {
  const { pay, complete } = await openCheckout()
  const { transaction_id } = await pay()
  await account.pay(transaction_id)
  const { order } = await complete()
  await shop.admin(`/admin/orders/${order.id}/cancel`, {})
  await expect.poll(() => readRefunded({ transaction_id })).toBe(4_990)
})

test('an expired charge is replaced, and a late payment of it goes back', async () => {
  const { pay, complete, isCompleted } = await openCheckout()
  const first = await pay()
  await account.expire(first.transaction_id)
  await expect(complete()).rejects.toThrow('not authorized')
  const second = await pay()
  await account.pay(first.transaction_id)
  await expect.poll(() => readRefunded(first)).toBe(4_990)
  expect(await isCompleted()).toBe(false)
  await account.pay(second.transaction_id)
  await expect.poll(isCompleted).toBe(true)
})

test('what was paid while the buyer changed the cart goes back', async () => {
  const { pay, setQuantity, complete, isCompleted } = await openCheckout()
  const first = await pay()
  await account.webhooks.drop()
  await account.pay(first.transaction_id)
  await account.webhooks.next('transaction.paid')
  await setQuantity(2)
  await expect.poll(() => readRefunded(first)).toBe(4_990)
  await expect(complete()).rejects.toThrow('Payment sessions are required')
  const second = await pay()
  await account.pay(second.transaction_id)
  await expect.poll(isCompleted).toBe(true)
  const { order } = await complete()
  expect(await readOrder(order.id)).toMatchObject({
    payment_status: 'captured',
    summary: { paid_total: 2 * PRICE },
  })
})

test('the buyer of a paid order gets nothing back by another session of it', async () => {
  const { pay, complete } = await openCheckout()
  const { transaction_id } = await pay()
  await account.pay(transaction_id)
  const { order } = await complete()
  await expect(pay()).rejects.toThrow()
  expect(await readOrder(order.id)).toMatchObject({
    payment_status: 'captured',
    summary: { paid_total: PRICE },
  })
  expect(await readCharge(transaction_id)).toMatchObject({ status: 'paid', refunded_amount: 0 })
})

test('what was paid for a cart that cannot become an order goes back', async () => {
  const { pay, isCompleted } = await openCheckout(shop.unsent)
  const first = await pay()
  await account.pay(first.transaction_id)
  await expect.poll(() => readRefunded(first)).toBe(4_990)
  expect(await isCompleted()).toBe(false)
  const second = await pay()
  expect(await readCharge(second.transaction_id)).toMatchObject({ status: 'pending' })
})

test('the buyer reads what is wrong with a CPF', async () => {
  const { pay } = await openCheckout()
  await expect(pay('1')).rejects.toThrow('client_doc')
})

test('a forged webhook changes nothing', async () => {
  const { pay, complete } = await openCheckout()
  const { transaction_id } = await pay()
  const { order } = await complete()
  const transaction = { id: transaction_id, status: 'paid', amount: 4_990 }
  const body = JSON.stringify({ id: 'x', type: 'transaction.paid', transaction })
  const headers = { 'content-type': 'application/json' }
  const hook = `${shop.url}/hooks/payment/troco_pix`
  await fetch(hook, { method: 'POST', body, headers })
  await expect.poll(shop.output).toContain('Webhook of Troco refused')
  expect(await readOrder(order.id)).toMatchObject({ payment_status: 'awaiting' })
  await account.assertLedger()
})
