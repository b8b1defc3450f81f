import { randomUUID } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { Troco } from './troco.js'

const { TROCO_URL: url = 'http://localhost:3000' } = process.env
export const troco = new Troco({ url, token: () => process.env.TROCO_TOKEN ?? '' })

const database = new DatabaseSync('orders.sqlite')
database.exec(
  'CREATE TABLE IF NOT EXISTS orders (id TEXT PRIMARY KEY, amount INTEGER NOT NULL, paid_at TEXT)',
)

export function createOrder() {
  // In cents, from your prices: a browser would send any amount.
  const order = { id: `order-${randomUUID()}`, amount: 4990 }
  database.prepare('INSERT INTO orders (id, amount) VALUES (:id, :amount)').run(order)
  return order
}

export function findOrder(id) {
  return database.prepare('SELECT id, amount, paid_at FROM orders WHERE id = ?').get(id)
}

/** A webhook can arrive twice: only the first changes the row. */
export function markPaid(id) {
  const pay = 'UPDATE orders SET paid_at = datetime() WHERE id = ? AND paid_at IS NULL'
  if (database.prepare(pay).run(id).changes === 1) console.log(`pack order ${id}`)
}
