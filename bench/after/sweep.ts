import type pg from 'pg'
import { registerCharges } from '#lib/rooms/charges/register.ts'
import { count, examineLedger } from '../books.ts'
import { writeRequest } from '../load/send.ts'
import { CONNECTIONS, median } from '../measure.ts'
import type { Verdict } from '../musts.ts'
import { endChild, startServer, startWorker } from '../servers.ts'
import { CHARGE, makeMerchant } from '../world.ts'
import { writeCharges } from './charges.ts'
import type { Ground, Section } from './section.ts'

const MERCHANTS = 20
/** For 100,000 charges; fewer must be done in their part of it. */
const SECONDS_MAX = 30
const OF_CHARGES = 100_000
const SLOWER_MAX = 2
/** A busy house, and still room on two cores: what is saturated waits for whatever comes besides. */
const PER_SECOND = 400
const READABLE = 512
const SLICES_BEFORE = 8
/** A sweep that takes so much longer than it may is not waited for. */
const GIVEN_UP_AFTER = 3

/** Those that are taken lie a lease ahead, those that the load creates a day. */
const ANY_LEFT = `SELECT FROM charges WHERE due_at < now() + interval '1 hour' LIMIT 1`
const OUTCOME = `
  SELECT
    (SELECT count(*)::int FROM charges WHERE status = 'expired' AND account_id = ANY ($1)) AS expired,
    count(*)::int AS events, count(DISTINCT subject_id)::int AS subjects,
    COALESCE(extract(epoch FROM max(created_at)), 'infinity')::float8 * 1000 AS ended
  FROM events WHERE type = 'transaction.expired' AND account_id = ANY ($1)`

/** How long one worker takes to expire what is due, and what the API's callers notice of it. */
export async function measureSweep(ground: Ground): Promise<Section> {
  const { settings, pool, options } = ground
  const accountIds: string[] = []
  for (let nth = 1; nth <= MERCHANTS; nth++) accountIds.push((await makeMerchant(`Loja ${nth}`)).id)
  const { slice, end } = await openLoad(ground)
  await writeCharges(pool, { accountIds, total: options.dueCharges, isDue: true })
  // They are a day old, so whatever makes them searchable has long been there.
  while ((await registerCharges()) > 0);
  await pool.query('VACUUM ANALYZE')
  await slice(options.warmUpMs)
  const before: number[] = []
  while (before.length < SLICES_BEFORE) before.push(await slice(options.sliceMs))
  const began = Date.now()
  const worker = await startWorker(settings)
  const during = await sliceWhile(pool, () => slice(options.sliceMs), began, secondsMax(ground))
  await endChild(worker)
  await end()
  const { rows } = await pool.query(OUTCOME, [accountIds])
  const { expired, events, subjects, ended } = rows[0]
  const seconds = (ended - began) / 1_000
  return {
    title: `${count(options.dueCharges)} due charges of ${MERCHANTS} accounts, one worker`,
    lines: [
      `expired within ${seconds.toFixed(1)} s of the start of its process`,
      `the API meanwhile, ${PER_SECOND} requests a second on ${CONNECTIONS} connections, creating and reading:`,
      `p99 ${ms(before)} before (${before.length} slices of ${options.sliceMs} ms), ${ms(during)} during (${during.length})`,
    ],
    verdicts: [
      {
        promise: `sweep: ${count(options.dueCharges)} due charges are expired in at most ${secondsMax(ground)} s`,
        figure: `${seconds.toFixed(1)} s`,
        holds: expired === options.dueCharges && seconds <= secondsMax(ground),
      },
      slowdown(before, during),
      {
        promise: 'sweep: every one is expired, with one event each',
        figure: `${count(expired)}, ${count(events)} events of ${count(subjects)} charges`,
        holds: [expired, events, subjects].every(many => many === options.dueCharges),
      },
      await examineLedger(),
    ],
  }
}

function secondsMax({ options }: Ground): number {
  return (SECONDS_MAX * options.dueCharges) / OF_CHARGES
}

/** The front alone in its process; `slice` says the p99 of its answers over some time. */
async function openLoad({ settings, pool, generator, options }: Ground) {
  const merchant = await makeMerchant('Padaria do Bairro')
  const readable = await writeCharges(pool, { accountIds: [merchant.id], total: READABLE })
  const { child, port } = await startServer('fast', settings)
  const requests = readable.flatMap(({ id }, more) => [
    writeRequest('POST', '/api/transactions', merchant.token, { ...CHARGE, amount: 1_500 + more }),
    writeRequest('GET', `/api/transactions/${id}`, merchant.token),
  ])
  const order = { port, requests, connections: CONNECTIONS, perSecond: PER_SECOND }
  const slice = async (measureMs: number) =>
    (await generator.send({ ...order, rampMs: options.rampMs, measureMs })).p99
  return { slice, end: () => endChild(child) }
}

/** Only slices that were over before the sweep was count. */
async function sliceWhile(
  pool: pg.Pool,
  slice: () => Promise<number>,
  began: number,
  seconds: number,
): Promise<number[]> {
  const during: number[] = []
  while (Date.now() - began < seconds * GIVEN_UP_AFTER * 1_000) {
    const p99 = await slice()
    if ((await pool.query(ANY_LEFT)).rowCount === 0) break
    during.push(p99)
  }
  return during
}

/**
 * The median of the slices, not the p99 of all together: a hiccup of the machine falls into one
 * slice and would else be the whole tail, while the sweep, if it disturbs, disturbs all of them.
 */
function slowdown(before: number[], during: number[]): Verdict {
  const times = median(during) / median(before)
  return {
    promise: `sweep: the p99 of the API grows to less than ${SLOWER_MAX} times meanwhile`,
    figure: `${ms(before)} before, ${ms(during)} during, ${times.toFixed(2)} times`,
    holds: times < SLOWER_MAX,
  }
}

function ms(p99s: number[]): string {
  return `${median(p99s).toFixed(1)} ms`
}
