import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeScratchFolder } from '#lib/testing/scratch.ts'
import { findFreePort } from '#lib/testing/server.ts'
import { Troco } from '../../packages/client/troco.ts'
import type { TestAccount, TrocoServer } from '../../packages/testing/index.d.ts'
import { installShop } from './shop-packages.ts'

const PRICE = 4_990
const PRODUCTS = `name,slug,description,assets,facets,optionGroups,optionValues,sku,price,taxCategory,stockOnHand,trackInventory,variantAssets,variantFacets
Café especial 1 kg,cafe,Torra média,,,,,CAFE1,49.90,standard,100,false,,
`
const ORDER =
  '__typename ... on Order { code state payments { state amount transactionId metadata } } ... on ErrorResult { message }'

const { startTroco } = createRequire(import.meta.url)('../../packages/testing/index.cjs') as {
  startTroco: () => Promise<TrocoServer>
}

let troco: TrocoServer
let account: TestAccount
let address: string
let stop: () => void
let admin: string
beforeAll(async () => {
  const packages = await installShop('e2e/shops/vendure')
  troco = await startTroco()
  account = await troco.account()
  const folder = makeScratchFolder('troco-vendure-')
  // The plugin lies in the shop's project, beside the client from the server.
  symlinkSync(packages, join(folder, 'node_modules'))
  const client = await fetch(`${troco.url}/docs/clients/troco.js`)
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  writeFileSync(join(folder, 'troco.js'), await client.text())
  writeFileSync(join(folder, 'products.csv'), PRODUCTS)
  copyFileSync('packages/shops/vendure.mjs', join(folder, 'vendure.mjs'))
  copyFileSync('e2e/shops/vendure/shop.mjs', join(folder, 'shop.mjs'))
  const port = await findFreePort()
  const settings = JSON.stringify({
    port,
    products: join(folder, 'products.csv'),
    url: account.url,
    token: account.token,
    webhookSecret: account.webhookSecret,
  })
  const shop = spawn(process.execPath, ['shop.mjs', settings], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, VENDURE_DISABLE_TELEMETRY: 'true' },
  })
  stop = () => void shop.kill()
  let output = ''
  while (!output.includes('serving')) output += String(await once(shop.stdout, 'data'))
  shop.stdout.resume()
  address = `http://127.0.0.1:${port}`
  await account.webhooks.forwardTo(`${address}/hooks/troco`)
  const login = 'mutation { login(username: "superadmin", password: "superadmin") { __typename } }'
  admin = (await query('admin-api', login)).token
  await ask(
    'mutation { updateChannel(input: { id: "1", defaultCurrencyCode: BRL, availableCurrencyCodes: [BRL] }) { __typename } }',
  )
  await ask(
    `mutation { updateProductVariants(input: [{ id: "1", prices: [{ currencyCode: BRL, price: ${PRICE} }] }]) { id } }`,
  )
})
afterAll(async () => {
  stop?.()
  await troco?.close()
})

async function query(api: string, text: string, token = '') {
  const response = await fetch(`${address}/${api}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: token && `Bearer ${token}` },
    body: JSON.stringify({ query: text }),
  })
  const { data, errors } = await response.json()
  expect(errors).toBeUndefined()
  return { data, token: response.headers.get('vendure-auth-token') ?? token }
}

/** Asks the shop's administration. */
async function ask(text: string) {
  return (await query('admin-api', text, admin)).data
}

/** A buyer with one product in the cart, ready to pay. */
async function openCheckout({ quantity = 1, email = 'ana@example.com' } = {}) {
  let token = ''
  const send = async (text: string) => {
    const answer = await query('shop-api', text, token)
    token = answer.token
    return answer.data
  }
  await send(
    `mutation { addItemToOrder(productVariantId: "1", quantity: ${quantity}) { __typename } }`,
  )
  await send(
    `mutation { setCustomerForOrder(input: { firstName: "Ana", lastName: "Rocha", emailAddress: "${email}" }) { __typename } }`,
  )
  await send(
    'mutation { setOrderShippingAddress(input: { streetLine1: "Rua A, 1", countryCode: "BR" }) { __typename } }',
  )
  const [method] = (await send('{ eligibleShippingMethods { id } }')).eligibleShippingMethods
  await send(
    `mutation { setOrderShippingMethod(shippingMethodId: ["${method.id}"]) { __typename } }`,
  )
  const goTo = (state: string) =>
    send(`mutation { transitionOrderToState(state: "${state}") { __typename } }`)
  await goTo('ArrangingPayment')
  const pay = async () => {
    const input = '{ method: "pix", metadata: { client_doc: "529.982.247-25" } }'
    return (await send(`mutation { addPaymentToOrder(input: ${input}) { ${ORDER} } }`))
      .addPaymentToOrder
  }
  return { send, goTo, pay }
}

async function readOrder(code: string) {
  const fields =
    'id state lines { id } payments { id state amount transactionId refunds { state total } }'
  const filter = `{ filter: { code: { eq: "${code}" } } }`
  return (await ask(`{ orders(options: ${filter}) { items { ${fields} } } }`)).orders.items[0]
}

async function readCharge(id: string) {
  const headers = { authorization: `Bearer ${account.token}` }
  return (await (await fetch(`${account.api}/transactions/${id}`, { headers })).json()).data
}

test('an order is paid by Pix before the buyer is back, and refunded in part', async () => {
  const { pay, send } = await openCheckout()
  const order = await pay()
  expect(order.payments).toMatchObject([{ state: 'AwaitingPix', amount: PRICE }])
  expect(order.payments[0].metadata.public.br_code).toMatch(/^00020101/)
  await account.webhooks.duplicate()
  await account.pay(order.payments[0].transactionId)
  await expect.poll(async () => (await readOrder(order.code)).state).toBe('PaymentSettled')
  const back = await send(`{ orderByCode(code: "${order.code}") { state } }`)
  expect(back.orderByCode).toEqual({ state: 'PaymentSettled' })
  const { lines, payments } = await readOrder(order.code)
  const input = `{ lines: [{ orderLineId: "${lines[0].id}", quantity: 1 }], shipping: 0, adjustment: 0, amount: 990, paymentId: "${payments[0].id}", reason: "sem estoque" }`
  const refund = await ask(
    `mutation { refundOrder(input: ${input}) { __typename ... on Refund { total } ... on ErrorResult { message } } }`,
  )
  expect(refund.refundOrder).toEqual({ __typename: 'Refund', total: 990 })
  await expect
    .poll(async () => {
      // A webhook that was faster than the shop comes again after 5 s.
      await account.clock.advance('10s')
      return (await readOrder(order.code)).payments[0].refunds
    })
    .toEqual([{ state: 'Settled', total: 990 }])
  expect(await readCharge(payments[0].transactionId)).toMatchObject({ refunded_amount: 990 })
})

test('another total ends the first charge, and asks for all of it', async () => {
  const { pay, goTo, send } = await openCheckout()
  const first = await pay()
  expect(await pay()).toMatchObject({ __typename: 'PaymentFailedError' })
  await goTo('AddingItems')
  const { activeOrder } = await send('{ activeOrder { lines { id } } }')
  await send(
    `mutation { adjustOrderLine(orderLineId: "${activeOrder.lines[0].id}", quantity: 2) { __typename } }`,
  )
  await goTo('ArrangingPayment')
  const second = await pay()
  const open = second.payments.filter(({ state }: { state: string }) => state === 'AwaitingPix')
  expect(open).toMatchObject([{ amount: 2 * PRICE }])
  const [{ transactionId }] = first.payments
  expect(await readCharge(transactionId)).toMatchObject({ status: 'expired', amount: PRICE })
  await account.pay(open[0].transactionId)
  await expect.poll(async () => (await readOrder(second.code)).state).toBe('PaymentSettled')
})

test('a total that comes back is asked for by a new charge', async () => {
  const { pay, goTo, send } = await openCheckout()
  await pay()
  let last = {
    code: '',
    payments: [] as { state: string; amount: number; transactionId: string }[],
  }
  for (const quantity of [2, 1]) {
    await goTo('AddingItems')
    const { activeOrder } = await send('{ activeOrder { lines { id } } }')
    const line = activeOrder.lines[0].id
    await send(
      `mutation { adjustOrderLine(orderLineId: "${line}", quantity: ${quantity}) { __typename } }`,
    )
    await goTo('ArrangingPayment')
    last = await pay()
  }
  const [open, ...others] = last.payments.filter(({ state }) => state === 'AwaitingPix')
  expect([open?.amount, others]).toEqual([PRICE, []])
  expect(await readCharge(open?.transactionId ?? '')).toMatchObject({ status: 'pending' })
  await account.pay(open?.transactionId ?? '')
  await expect.poll(async () => (await readOrder(last.code)).state).toBe('PaymentSettled')
})

test('an expired charge is replaced at once, and a late payment of it goes back', async () => {
  const { pay } = await openCheckout()
  const [first] = (await pay()).payments
  expect(await pay()).toMatchObject({ __typename: 'PaymentFailedError' })
  await account.expire(first.transactionId)
  const order = await pay()
  const open = order.payments.filter(({ state }: { state: string }) => state === 'AwaitingPix')
  expect(open).toMatchObject([{ amount: PRICE }])
  await account.pay(first.transactionId)
  await expect.poll(async () => (await readCharge(first.transactionId)).refunded_amount).toBe(PRICE)
  await account.pay(open[0].transactionId)
  await expect.poll(async () => (await readOrder(order.code)).state).toBe('PaymentSettled')
})

test('a charge that was paid while the buyer changed the order is not asked for again', async () => {
  const { pay, goTo, send } = await openCheckout()
  const order = await pay()
  await account.webhooks.drop()
  await goTo('AddingItems')
  const { activeOrder } = await send('{ activeOrder { lines { id } } }')
  await account.pay(order.payments[0].transactionId)
  await account.webhooks.next('transaction.paid')
  await send(
    `mutation { adjustOrderLine(orderLineId: "${activeOrder.lines[0].id}", quantity: 2) { __typename } }`,
  )
  await goTo('ArrangingPayment')
  expect(await pay()).toMatchObject({ __typename: 'PaymentFailedError' })
  const { payments } = await readOrder(order.code)
  expect(payments[0]).toMatchObject({ state: 'AwaitingPix' })
})

test('a refund that the bank refused can be asked for again', async () => {
  const { pay } = await openCheckout()
  const order = await pay()
  await account.pay(order.payments[0].transactionId)
  await expect.poll(async () => (await readOrder(order.code)).state).toBe('PaymentSettled')
  const { lines, payments } = await readOrder(order.code)
  const [{ id, transactionId }] = payments
  const input = `{ lines: [{ orderLineId: "${lines[0].id}", quantity: 1 }], shipping: 0, adjustment: 0, amount: 990, paymentId: "${id}" }`
  const refund = async () => {
    const text = `mutation { refundOrder(input: ${input}) { ... on Refund { state transactionId } } }`
    return (await ask(text)).refundOrder
  }
  const first = await refund()
  await account.refuse(first.transactionId)
  await expect
    .poll(async () => {
      await account.clock.advance('10s')
      return (await readOrder(order.code)).payments[0].refunds
    })
    .toEqual([{ state: 'Failed', total: 990 }])
  const second = await refund()
  expect(second.transactionId).not.toBe(first.transactionId)
  await account.complete(second.transactionId)
  await expect.poll(async () => (await readCharge(transactionId)).refunded_amount).toBe(990)
})

test('a payment of an order that was cancelled goes back to the buyer', async () => {
  const { pay } = await openCheckout()
  const order = await pay()
  const { id } = await readOrder(order.code)
  await ask(`mutation { cancelOrder(input: { orderId: "${id}" }) { __typename } }`)
  const [{ transactionId }] = order.payments
  await account.pay(transactionId)
  await expect.poll(async () => (await readCharge(transactionId)).refunded_amount).toBe(PRICE)
  expect(await readOrder(order.code)).toMatchObject({ state: 'Cancelled' })
  await account.assertLedger()
})

test('a late payment that the bank refused to give back is given back again', async () => {
  const { pay } = await openCheckout({ email: 'hold@example.com' })
  const order = await pay()
  const { id } = await readOrder(order.code)
  await ask(`mutation { cancelOrder(input: { orderId: "${id}" }) { __typename } }`)
  const [{ transactionId }] = order.payments
  await account.pay(transactionId)
  const client = new Troco(account)
  const readRefunds = async () => (await client.refunds.ofCharge(transactionId).page()).data
  await expect.poll(async () => (await readRefunds()).length).toBe(1)
  const [first] = await readRefunds()
  await account.refuse(first?.id ?? '')
  const { deliveries } = client.webhooks
  for await (const { id, type } of deliveries.list({ subject_id: transactionId }))
    if (type === 'transaction.paid') await deliveries.resend(id)
  await expect
    .poll(async () => (await readRefunds()).map(({ status }) => status).sort())
    .toEqual(['pending', 'rejected'])
})

test('a payment that Vendure did not settle at first is settled later', async () => {
  const { pay } = await openCheckout({ quantity: 3 })
  const order = await pay()
  const [{ transactionId }] = order.payments
  await account.pay(transactionId)
  await expect
    .poll(async () => {
      await account.clock.advance('10s')
      return (await readOrder(order.code)).state
    })
    .toBe('PaymentSettled')
})

test('a payment that staff settled too early can still be paid', async () => {
  const { pay } = await openCheckout()
  const order = await pay()
  const { payments } = await readOrder(order.code)
  const settle = `mutation { settlePayment(id: "${payments[0].id}") { __typename } }`
  expect(await ask(settle)).toEqual({ settlePayment: { __typename: 'SettlePaymentError' } })
  await account.pay(order.payments[0].transactionId)
  await expect.poll(async () => (await readOrder(order.code)).state).toBe('PaymentSettled')
})

test('a forged webhook changes nothing', async () => {
  const { pay } = await openCheckout()
  const order = await pay()
  const transaction = { id: order.payments[0].transactionId, status: 'paid', amount: PRICE }
  const body = JSON.stringify({ id: 'x', type: 'transaction.paid', transaction })
  const response = await fetch(`${address}/hooks/troco`, { method: 'POST', body })
  expect(response.status).toBe(400)
  expect(await readOrder(order.code)).toMatchObject({ state: 'ArrangingPayment' })
})
