import { settleCharges } from '#lib/rooms/charges/settle.ts'
import { newEndToEndId } from '#lib/services/gateway/simulator.ts'
import { examineLedger, formatCount } from '../books.ts'
import { type Receiver, startReceiver } from '../load/receive.ts'
import { endChild, startWorker, trackChild } from '../servers.ts'
import { makeMerchant } from '../world.ts'
import { type WrittenCharge, writeCharges } from './charges.ts'
import { waitUntilNothingDue } from './history.ts'
import type { BenchEnvironment, Section } from './section.ts'

const PER_SECOND_MIN = 500
const URLS = 16
const SETTLED_AT_ONCE = 200

interface DeliveryRate {
  accountId: string
  perSecond: number
  events: number
}

export async function measureDeliveries(environment: BenchEnvironment): Promise<Section> {
  const receiver = await startReceiver(trackChild)
  const one = await measureDelivery(environment, receiver, 1)
  const several = await measureDelivery(environment, receiver, URLS)
  await endChild(receiver.child)
  const { deliveries } = environment.options
  const { rows } = await environment.pool.query(
    `SELECT count(*) FILTER (WHERE status = 'delivered')::int AS delivered FROM deliveries
      WHERE account_id = ANY ($1)`,
    [[one.accountId, several.accountId]],
  )
  const due = 2 * deliveries
  return {
    title: `${formatCount(deliveries)} due deliveries, one worker`,
    lines: [
      `to one URL (at most 4 concurrent calls): ${formatRate(one)}`,
      `to ${URLS} URLs of one host (at most 16 concurrent calls): ${formatRate(several)}`,
    ],
    verdicts: [
      {
        promise: `deliveries: one worker makes at least ${PER_SECOND_MIN} per second to one URL`,
        figure: formatRate(one),
        holds: one.perSecond >= PER_SECOND_MIN,
      },
      {
        promise: 'deliveries: the receiver got every event, and each is stored as delivered',
        figure: `${formatCount(one.events + several.events)} and ${formatCount(rows[0].delivered)} of ${formatCount(due)}`,
        holds: one.events + several.events === due && rows[0].delivered === due,
      },
      await examineLedger(),
    ],
  }
}

async function measureDelivery(
  environment: BenchEnvironment,
  receiver: Receiver,
  urls: number,
): Promise<DeliveryRate> {
  const { pool, settings, options } = environment
  const merchant = await makeMerchant(`Loja de ${urls}`)
  const charges = await writeCharges(pool, {
    accountIds: [merchant.id],
    total: options.deliveries,
    urls: Array.from({ length: urls }, (_, nth) => `${receiver.url}/${nth}`),
  })
  await payCharges(charges)
  await pool.query('VACUUM ANALYZE')
  const worker = await startWorker({ ...settings, WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' })
  const calls = await receiver.collect(charges.length)
  await waitUntilNothingDue(pool)
  await endChild(worker)
  const times = calls.map(({ at }) => at).toSorted((a, b) => a - b)
  const seconds = ((times.at(-1) ?? 0) - (times[0] ?? 0)) / 1_000
  const events = new Set(calls.map(({ eventId }) => eventId)).size
  return { accountId: merchant.id, perSecond: (events - 1) / seconds, events }
}

/** Pays charges while no worker runs, so that their deliveries stay due. */
async function payCharges(charges: WrittenCharge[]): Promise<void> {
  for (let from = 0; from < charges.length; from += SETTLED_AT_ONCE) {
    const some = charges.slice(from, from + SETTLED_AT_ONCE)
    const terms = () => ({ endToEndId: newEndToEndId(), paidAt: new Date() })
    await settleCharges(some.map(({ accountId, id }) => ({ accountId, chargeId: id, ...terms() })))
  }
}

function formatRate({ perSecond }: DeliveryRate): string {
  return `${formatCount(Math.round(perSecond))} per second`
}
