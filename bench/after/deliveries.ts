import { settleCharges } from '#lib/rooms/charges/settle.ts'
import { newEndToEndId } from '#lib/services/gateway/simulator.ts'
import { count, examineLedger } from '../books.ts'
import { type Receiver, startReceiver } from '../load/receive.ts'
import { adopt, endChild, startWorker } from '../servers.ts'
import { makeMerchant } from '../world.ts'
import { type WrittenCharge, writeCharges } from './charges.ts'
import { untilNothingDue } from './house.ts'
import type { Ground, Section } from './section.ts'

const PER_SECOND_MIN = 500
const URLS = 16
const SETTLED_AT_ONCE = 200

interface Told {
  accountId: string
  perSecond: number
  events: number
}

export async function measureDeliveries(ground: Ground): Promise<Section> {
  const receiver = await startReceiver(adopt)
  const one = await deliverTo(ground, receiver, 1)
  const several = await deliverTo(ground, receiver, URLS)
  await endChild(receiver.child)
  const { deliveries } = ground.options
  const { rows } = await ground.pool.query(
    `SELECT count(*) FILTER (WHERE status = 'delivered')::int AS delivered FROM deliveries
      WHERE account_id = ANY ($1)`,
    [[one.accountId, several.accountId]],
  )
  const due = 2 * deliveries
  return {
    title: `${count(deliveries)} due deliveries, one worker`,
    lines: [
      `to one URL (at most 4 concurrent calls): ${rate(one)}`,
      `to ${URLS} URLs of one host (at most 16 concurrent calls): ${rate(several)}`,
    ],
    verdicts: [
      {
        promise: `deliveries: one worker makes at least ${PER_SECOND_MIN} per second to one URL`,
        figure: rate(one),
        holds: one.perSecond >= PER_SECOND_MIN,
      },
      {
        promise: 'deliveries: the receiver got every event, and each is stored as delivered',
        figure: `${count(one.events + several.events)} and ${count(rows[0].delivered)} of ${count(due)}`,
        holds: one.events + several.events === due && rows[0].delivered === due,
      },
      await examineLedger(),
    ],
  }
}

async function deliverTo(ground: Ground, receiver: Receiver, urls: number): Promise<Told> {
  const { pool, settings, options } = ground
  const merchant = await makeMerchant(`Loja de ${urls}`)
  const charges = await writeCharges(pool, {
    accountIds: [merchant.id],
    total: options.deliveries,
    urls: Array.from({ length: urls }, (_, nth) => `${receiver.url}/${nth}`),
  })
  await pay(charges)
  await pool.query('VACUUM ANALYZE')
  const worker = await startWorker({ ...settings, WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' })
  const calls = await receiver.take(charges.length)
  await untilNothingDue(pool)
  await endChild(worker)
  const times = calls.map(({ at }) => at).toSorted((a, b) => a - b)
  const seconds = ((times.at(-1) ?? 0) - (times[0] ?? 0)) / 1_000
  const events = new Set(calls.map(({ eventId }) => eventId)).size
  return { accountId: merchant.id, perSecond: (events - 1) / seconds, events }
}

/** Pays charges while no worker runs, so that their deliveries stay due. */
async function pay(charges: WrittenCharge[]): Promise<void> {
  for (let from = 0; from < charges.length; from += SETTLED_AT_ONCE) {
    const some = charges.slice(from, from + SETTLED_AT_ONCE)
    const terms = () => ({ endToEndId: newEndToEndId(), paidAt: new Date() })
    await settleCharges(some.map(({ accountId, id }) => ({ accountId, chargeId: id, ...terms() })))
  }
}

function rate({ perSecond }: Told): string {
  return `${count(Math.round(perSecond))} per second`
}
