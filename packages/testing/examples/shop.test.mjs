/** A small shop's own tests, on node:test. In Vitest and Jest, only its line of imports differs. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { after, before, test } from 'node:test'

const { startTroco } = createRequire(import.meta.url)('../index.cjs')

let troco
const servers = []
before(async () => {
  troco = await startTroco()
})
after(async () => {
  for (const server of servers) {
    server.closeAllConnections()
    server.close()
  }
  await troco.close()
})

/** The program under test: creates charges, and marks orders as paid when a webhook says so. */
async function openShop({ api, token }) {
  const paid = []
  const seen = new Set()
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const event = JSON.parse(body)
    if (event.type === 'transaction.paid' && !seen.has(event.id))
      paid.push(event.transaction.external_id)
    seen.add(event.id)
    response.writeHead(204).end()
  })
  server.listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  servers.push(server)
  return {
    paid,
    hook: `http://127.0.0.1:${server.address().port}`,
    /** Repeats with the same key until there is a response. */
    async checkout(order, amount = 4990) {
      for (;;) {
        const response = await fetch(`${api}/transactions`, {
          method: 'POST',
          headers: {
            authorization: `Bearer ${token}`,
            'content-type': 'application/json',
            'idempotency-key': order,
          },
          body: JSON.stringify({
            amount,
            client_name: 'Ana Beatriz Rocha',
            client_email: 'ana@example.com',
            client_doc: '529.982.247-25',
            external_id: order,
          }),
        }).catch(() => null)
        if (response?.ok) return (await response.json()).data
        if (response && response.status < 500) throw new Error(await response.text())
      }
    },
    async count() {
      const headers = { authorization: `Bearer ${token}` }
      const response = await fetch(`${api}/transactions`, { headers })
      return (await response.json()).data.length
    },
  }
}

async function until(condition) {
  while (!condition()) await new Promise(resolve => setTimeout(resolve, 20))
}

test('a paid order is marked as paid once, though its webhook comes twice', async () => {
  const account = await troco.account()
  const shop = await openShop(account)
  await account.webhooks.forwardTo(shop.hook)
  await account.webhooks.duplicate()
  await shop.checkout('order-1')
  await account.pay('order-1')
  const { event } = await account.webhooks.next('transaction.paid')
  assert.equal(event.transaction.amount, 4990)
  await until(() => shop.paid.length > 0)
  assert.deepEqual(shop.paid, ['order-1'])
  await account.assertLedger()
})

test('a lost response and a bank that is down lead to one charge', async () => {
  const account = await troco.account()
  const shop = await openShop(account)
  await account.fault({ path: '/transactions', once: 'timeoutAfterCommit' })
  await shop.checkout('order-1')
  await account.fault({ path: '/transactions', once: 503 })
  await shop.checkout('order-2')
  assert.equal(await shop.count(), 2)
})

test('an order that nobody pays for a day expires', async () => {
  const account = await troco.account()
  const shop = await openShop(account)
  await shop.checkout('order-1')
  await account.clock.advance('25h')
  const { event } = await account.webhooks.next('transaction.expired')
  assert.equal(event.transaction.external_id, 'order-1')
})
