import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { runConcurrently } from '#lib/base/db/batch.ts'
import { simulateCharge } from '#lib/rooms/charges/simulate.ts'
import type { SecondDatabase } from '../database.ts'
import { startReceiver } from '../load/receive.ts'
import { endChild, startWorker, trackChild } from '../servers.ts'
import { makeMerchant } from '../world.ts'
import { writeCharges } from './charges.ts'

const PAID = 500
const EXPIRED = 500
const URLS = 16
const AT_ONCE = 16
const DONE_WITHIN_MS = 30_000

/**
 * Creates paid and expired charges with their events and deliveries. Without rows, PostgreSQL would
 * keep the plans of empty tables and scan them sequentially as they grow.
 */
export async function seedHistory({ settings, pool }: SecondDatabase): Promise<void> {
  const receiver = await startReceiver(trackChild)
  const { id } = await makeMerchant('Loja de Ontem')
  const urls = Array.from({ length: URLS }, (_, nth) => `${receiver.url}/${nth}`)
  const target = { accountIds: [id], urls }
  const paid = await writeCharges(pool, { ...target, total: PAID })
  await runConcurrently(paid, AT_ONCE, charge => simulateCharge(id, charge.id, 'paid'))
  await writeCharges(pool, { ...target, total: EXPIRED, isDue: true })
  const worker = await startWorker({ ...settings, WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' })
  await receiver.collect(PAID + EXPIRED)
  await waitUntilNothingDue(pool)
  await endChild(worker)
  await endChild(receiver.child)
  await pool.query('VACUUM ANALYZE')
}

/** Waits until no delivery is due: results are stored shortly after the receiver responds. */
export async function waitUntilNothingDue(pool: pg.Pool): Promise<void> {
  for (const began = Date.now(); Date.now() - began < DONE_WITHIN_MS; await sleep(50)) {
    const { rowCount } = await pool.query('SELECT FROM deliveries WHERE due_at IS NOT NULL LIMIT 1')
    if (rowCount === 0) return
  }
}
