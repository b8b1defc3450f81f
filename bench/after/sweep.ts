import type pg from 'pg'
import { indexCharges } from '#lib/charges/search.ts'
import { examineLedger, formatCount } from '../books.ts'
import { buildRequest } from '../load/send.ts'
import { median } from '../measure.ts'
import { CONNECTIONS } from '../options.ts'
import { endChild, startServer, startWorker } from '../servers.ts'
import type { Verdict } from '../targets.ts'
import { CHARGE, makeMerchant } from '../world.ts'
import { writeCharges } from './charges.ts'
import type { BenchEnvironment, Section } from './section.ts'

const MERCHANT_COUNT = 20
/** Time limit for a sweep of 100,000 charges; the limit for fewer charges is proportional. */
const SECONDS_MAX = 25
const REFERENCE_CHARGE_COUNT = 100_000
const SLOWDOWN_MAX = 2
/**
 * Request rate of the API load. It leaves capacity on two cores; on a saturated server any other
 * work adds latency.
 */
const REQUESTS_PER_SECOND = 400
const READ_CHARGE_COUNT = 512
const SLICE_COUNT_BEFORE = 8
/** The measurement is abandoned after this multiple of the time limit. */
const TIMEOUT_FACTOR = 3

/**
 * Finds charges that are due or claimed: a claim moves the due time one lease ahead. Charges
 * created by the load are due in a day.
 */
const FIND_UNSWEPT = `SELECT FROM charges WHERE due_at < now() + interval '1 hour' LIMIT 1`
const READ_OUTCOME = `
  SELECT
    (SELECT count(*)::int FROM charges WHERE status = 'expired' AND account_id = ANY ($1)) AS expired,
    count(*)::int AS events, count(DISTINCT subject_id)::int AS subjects,
    COALESCE(extract(epoch FROM max(created_at)), 'infinity')::float8 * 1000 AS ended
  FROM events WHERE type = 'transaction.expired' AND account_id = ANY ($1)`

/** Measures how long one worker takes to expire due charges, and the API's latency meanwhile. */
export async function measureSweep(environment: BenchEnvironment): Promise<Section> {
  const { settings, pool, options } = environment
  const accountIds: string[] = []
  for (let number = 1; number <= MERCHANT_COUNT; number++)
    accountIds.push((await makeMerchant(`Loja ${number}`)).id)
  const { slice, end } = await startLoad(environment)
  await writeCharges(pool, { accountIds, total: options.dueCharges, isDue: true })
  // In production, charges that are a day old are already in the search index.
  while ((await indexCharges()) > 0);
  await pool.query('VACUUM ANALYZE')
  await slice(options.warmUpMs)
  const before: number[] = []
  while (before.length < SLICE_COUNT_BEFORE) before.push(await slice(options.sliceMs))
  const began = Date.now()
  const worker = await startWorker(settings)
  const during = await measureDuringSweep(
    pool,
    () => slice(options.sliceMs),
    began,
    secondsMax(environment),
  )
  await endChild(worker)
  await end()
  const { rows } = await pool.query(READ_OUTCOME, [accountIds])
  const { expired, events, subjects, ended } = rows[0]
  const seconds = (ended - began) / 1_000
  return {
    title: `${formatCount(options.dueCharges)} due charges of ${MERCHANT_COUNT} accounts, one worker`,
    lines: [
      `all expired ${seconds.toFixed(1)} s after the worker started`,
      `API load: ${REQUESTS_PER_SECOND} requests per second on ${CONNECTIONS} connections, creates and reads;`,
      `p99 ${formatMedianMs(before)} before (${before.length} slices of ${options.sliceMs} ms), ${formatMedianMs(during)} during (${during.length})`,
    ],
    verdicts: [
      {
        requirement: `sweep: ${formatCount(options.dueCharges)} due charges expire within ${secondsMax(environment)} s`,
        measured: `${seconds.toFixed(1)} s`,
        isMet: expired === options.dueCharges && seconds <= secondsMax(environment),
      },
      judgeSlowdown(before, during),
      {
        requirement: 'sweep: every charge is expired and has one event',
        measured: `${formatCount(expired)}, ${formatCount(events)} events of ${formatCount(subjects)} charges`,
        isMet: [expired, events, subjects].every(count => count === options.dueCharges),
      },
      await examineLedger(),
    ],
  }
}

function secondsMax({ options }: BenchEnvironment): number {
  return (SECONDS_MAX * options.dueCharges) / REFERENCE_CHARGE_COUNT
}

/** Starts a server without a worker; `slice` returns the p99 of the responses over a period. */
async function startLoad({ settings, pool, generator, options }: BenchEnvironment) {
  const merchant = await makeMerchant('Padaria do Bairro')
  const readable = await writeCharges(pool, { accountIds: [merchant.id], total: READ_CHARGE_COUNT })
  const { child, port } = await startServer('fast', settings)
  const requests = readable.flatMap(({ id }, index) => [
    buildRequest('POST', '/api/transactions', merchant.token, { ...CHARGE, amount: 1_500 + index }),
    buildRequest('GET', `/api/transactions/${id}`, merchant.token),
  ])
  const order = { port, requests, connections: CONNECTIONS, perSecond: REQUESTS_PER_SECOND }
  const slice = async (measureMs: number) =>
    (await generator.send({ ...order, rampMs: options.rampMs, measureMs })).p99
  return { slice, end: () => endChild(child) }
}

/** Measures slices until the sweep ends. Discards the slice in which it ended. */
async function measureDuringSweep(
  pool: pg.Pool,
  slice: () => Promise<number>,
  began: number,
  seconds: number,
): Promise<number[]> {
  const during: number[] = []
  while (Date.now() - began < seconds * TIMEOUT_FACTOR * 1_000) {
    const p99 = await slice()
    if ((await pool.query(FIND_UNSWEPT)).rowCount === 0) break
    during.push(p99)
  }
  return during
}

/**
 * Compares medians of slices instead of one p99: a hiccup of the machine affects one slice, while a
 * sweep that slows the API affects all of them.
 */
function judgeSlowdown(before: number[], during: number[]): Verdict {
  const ratio = median(during) / median(before)
  return {
    requirement: `sweep: the p99 of the API stays below ${SLOWDOWN_MAX} times its value before`,
    measured: `${formatMedianMs(before)} before, ${formatMedianMs(during)} during, ${ratio.toFixed(2)} times`,
    isMet: ratio < SLOWDOWN_MAX,
  }
}

function formatMedianMs(p99s: number[]): string {
  return `${median(p99s).toFixed(1)} ms`
}
