// A shop on Express: an order, its Pix, and the webhook that says it was paid. Beside this file lies the client of your
// server, /docs/clients/troco.js. Needs Node.js 22.13. Run: npm install express && node express.mjs
import { randomUUID } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import express from 'express'
import { Troco, TrocoError, verifyWebhook } from './troco.js'

const { TROCO_URL: url = 'http://localhost:3000', PORT: port = '4000' } = process.env
const troco = new Troco({ url, token: () => process.env.TROCO_TOKEN ?? '' })
const database = new DatabaseSync('orders.sqlite')
database.exec(
  'CREATE TABLE IF NOT EXISTS orders (id TEXT PRIMARY KEY, amount INTEGER NOT NULL, paid_at TEXT)',
)
const app = express()

app.post('/orders', express.json(), async (request, response) => {
  const { name, email, document } = request.body
  // In cents, from your prices: a browser would send any amount.
  const order = { id: `order-${randomUUID()}`, amount: 4990 }
  database.prepare('INSERT INTO orders (id, amount) VALUES (:id, :amount)').run(order)
  const { id, amount } = order
  const buyer = { client_name: name, client_email: email, client_doc: document }
  // With the order as key, it has one charge, however often the request is repeated.
  await troco.charges.create({ ...buyer, amount, external_id: id }, { key: id })
  // The text of the QR code, and the address of a page that shows it.
  const { br_code, payment_url } = await troco.charges.get(id)
  response.status(201).json({ id, br_code, payment_url })
})

app.get('/orders', ({ query }, response) => {
  const find = 'SELECT id, amount, paid_at FROM orders WHERE id = ?'
  const order = database.prepare(find).get(query.id ?? '')
  if (order) response.json(order)
  else response.sendStatus(404)
})

// The signature covers the bytes as they arrive: express.raw, not express.json.
app.post('/hooks/troco', express.raw({ type: 'application/json' }), async (request, response) => {
  const secret = process.env.TROCO_WEBHOOK_SECRET ?? ''
  const event = await verifyWebhook(request, secret).catch(() => null)
  if (!event) return response.sendStatus(400)
  if (event.type === 'transaction.paid') markPaid(event.transaction.external_id)
  response.sendStatus(204)
})

/** A webhook can arrive twice: only the first changes the row. */
function markPaid(id) {
  const pay = 'UPDATE orders SET paid_at = datetime() WHERE id = ? AND paid_at IS NULL'
  if (database.prepare(pay).run(id).changes === 1) console.log(`pack order ${id}`)
}

app.use((error, _request, response, next) => {
  // What the buyer can correct, such as a digit of the CPF.
  if (!(error instanceof TrocoError) || error.status !== 422) return next(error)
  response.status(422).json({ errors: error.fields })
})

app.listen(Number(port), '127.0.0.1')
