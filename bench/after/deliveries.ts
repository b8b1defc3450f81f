import { newEndToEndId } from '#lib/banks/simulator.ts'
import { settleCharges } from '#lib/charges/receive.ts'
import { examineLedger, formatCount } from '../books.ts'
import { type Receiver, startReceiver } from '../load/receive.ts'
import { endChild, startWorker, trackChild } from '../servers.ts'
import { CHARGE, makeMerchant } from '../world.ts'
import { type WrittenCharge, writeCharges } from './charges.ts'
import { waitUntilNothingDue } from './history.ts'
import type { BenchEnvironment, Section } from './section.ts'

/** To one URL and to several, per second: twice what one worker sent when each delivery had its own lease. */
const ONE_URL_MIN = 592
const SEVERAL_URLS_MIN = 1_144
const URL_COUNT = 16
const SETTLE_BATCH_SIZE = 200

interface DeliveryRate {
  accountId: string
  perSecond: number
  eventCount: number
}

export async function measureDeliveries(environment: BenchEnvironment): Promise<Section> {
  const receiver = await startReceiver(trackChild)
  const oneUrl = await measureDelivery(environment, receiver, 1)
  const severalUrls = await measureDelivery(environment, receiver, URL_COUNT)
  await endChild(receiver.child)
  const { deliveries } = environment.options
  const { rows } = await environment.pool.query(
    `SELECT count(*) FILTER (WHERE status = 'delivered')::int AS delivered FROM deliveries
      WHERE account_id = ANY ($1)`,
    [[oneUrl.accountId, severalUrls.accountId]],
  )
  const dueCount = 2 * deliveries
  return {
    title: `${formatCount(deliveries)} due deliveries, one worker`,
    lines: [
      `to one URL (at most 4 concurrent calls): ${formatRate(oneUrl)}`,
      `to ${URL_COUNT} URLs of one host (at most 16 concurrent calls): ${formatRate(severalUrls)}`,
    ],
    verdicts: [
      {
        requirement: `deliveries: one worker makes at least ${formatCount(ONE_URL_MIN)} per second to one URL`,
        measured: formatRate(oneUrl),
        isMet: oneUrl.perSecond >= ONE_URL_MIN,
      },
      {
        requirement: `deliveries: one worker makes at least ${formatCount(SEVERAL_URLS_MIN)} per second to ${URL_COUNT} URLs`,
        measured: formatRate(severalUrls),
        isMet: severalUrls.perSecond >= SEVERAL_URLS_MIN,
      },
      {
        requirement: 'deliveries: the receiver got every event, and each is stored as delivered',
        measured: `${formatCount(oneUrl.eventCount + severalUrls.eventCount)} and ${formatCount(rows[0].delivered)} of ${formatCount(dueCount)}`,
        isMet:
          oneUrl.eventCount + severalUrls.eventCount === dueCount && rows[0].delivered === dueCount,
      },
      await examineLedger(),
    ],
  }
}

async function measureDelivery(
  environment: BenchEnvironment,
  receiver: Receiver,
  urlCount: number,
): Promise<DeliveryRate> {
  const { pool, settings, options } = environment
  const merchant = await makeMerchant(`Loja de ${urlCount}`)
  const charges = await writeCharges(pool, {
    accountIds: [merchant.id],
    total: options.deliveries,
    urls: Array.from({ length: urlCount }, (_, index) => `${receiver.url}/${index}`),
  })
  await payCharges(charges)
  await pool.query('VACUUM ANALYZE')
  const worker = await startWorker({ ...settings, WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' })
  const calls = await receiver.collect(charges.length)
  await waitUntilNothingDue(pool)
  await endChild(worker)
  const times = calls.map(({ at }) => at).toSorted((a, b) => a - b)
  const seconds = ((times.at(-1) ?? 0) - (times[0] ?? 0)) / 1_000
  const eventCount = new Set(calls.map(({ eventId }) => eventId)).size
  return { accountId: merchant.id, perSecond: (eventCount - 1) / seconds, eventCount }
}

/** Pays charges while no worker runs, so that their deliveries stay due. */
async function payCharges(charges: WrittenCharge[]): Promise<void> {
  for (let from = 0; from < charges.length; from += SETTLE_BATCH_SIZE) {
    const batch = charges.slice(from, from + SETTLE_BATCH_SIZE)
    const makePayment = () => ({
      endToEndId: newEndToEndId(),
      amount: CHARGE.amount,
      paidAt: new Date(),
    })
    await settleCharges(
      batch.map(({ accountId, id }) => ({ accountId, chargeId: id, ...makePayment() })),
    )
  }
}

function formatRate({ perSecond }: DeliveryRate): string {
  return `${formatCount(Math.round(perSecond))} per second`
}
