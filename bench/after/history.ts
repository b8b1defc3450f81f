import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { simulateCharge } from '#lib/charges/simulate.ts'
import { runConcurrently } from '#lib/db/batch.ts'
import type { SecondDatabase } from '../database.ts'
import { startReceiver } from '../load/receive.ts'
import { endChild, startWorker, trackChild } from '../servers.ts'
import { makeMerchant } from '../world.ts'
import { writeCharges } from './charges.ts'

const PAID_COUNT = 500
const EXPIRED_COUNT = 500
const URL_COUNT = 16
const CONCURRENCY = 16
const TIMEOUT_MS = 30_000

/**
 * Creates paid and expired charges with their events and deliveries. Without rows, PostgreSQL would
 * keep the plans of empty tables and scan them sequentially as they grow.
 */
export async function seedHistory({ settings, pool }: SecondDatabase): Promise<void> {
  const receiver = await startReceiver(trackChild)
  const { id } = await makeMerchant('Loja de Ontem')
  const urls = Array.from({ length: URL_COUNT }, (_, index) => `${receiver.url}/${index}`)
  const target = { accountIds: [id], urls }
  const paid = await writeCharges(pool, { ...target, total: PAID_COUNT })
  await runConcurrently(paid, CONCURRENCY, charge => simulateCharge(id, charge.id, 'paid'))
  await writeCharges(pool, { ...target, total: EXPIRED_COUNT, isDue: true })
  const worker = await startWorker({ ...settings, WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' })
  await receiver.collect(PAID_COUNT + EXPIRED_COUNT)
  await waitUntilNothingDue(pool)
  await endChild(worker)
  await endChild(receiver.child)
  await pool.query('VACUUM ANALYZE')
}

/** Waits until no delivery is due: results are stored shortly after the receiver responds. */
export async function waitUntilNothingDue(pool: pg.Pool): Promise<void> {
  for (const began = Date.now(); Date.now() - began < TIMEOUT_MS; await sleep(50)) {
    const { rowCount } = await pool.query('SELECT FROM deliveries WHERE due_at IS NOT NULL LIMIT 1')
    if (rowCount === 0) return
  }
}
