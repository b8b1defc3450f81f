import { newEndToEndId } from '#lib/banks/simulator.ts'
import { settleCharges } from '#lib/charges/receive.ts'
import { paymentUrl } from '#lib/charges/urls.ts'
import { formatCount } from '../books.ts'
import { median } from '../measure.ts'
import { endChild, startServer } from '../servers.ts'
import type { Verdict } from '../targets.ts'
import { CHARGE, makeMerchant } from '../world.ts'
import { type WrittenCharge, writeCharges } from './charges.ts'
import { type Examine, openLighthouse, type Scores } from './lighthouse.ts'
import type { BenchEnvironment, Section } from './section.ts'
import { openOwnerSession } from './session.ts'

/**
 * Browsers reject `__Host-` cookies over plain HTTP; an http PUBLIC_URL selects cookie names
 * without the prefix.
 */
const LOOPBACK_SETTINGS = { PUBLIC_URL: 'http://127.0.0.1', WORKER: 'false' }
const PERFORMANCE_MIN = 95
const ACCESSIBILITY_MIN = 100
const RUN_COUNT = 3
const FIRST_BYTE_MAX_MS = 150
const FIRST_BYTE_SAMPLES = 100
/** Three of every five charges are paid; the payments are spread over the whole period. */
const PAID_SHARE = { total: 5, paid: 3 }
const DAY_MS = 86_400_000
const PERIOD_DAYS = 90
const BATCH_SIZE = 1_000

export async function measurePages({
  settings,
  pool,
  options,
}: BenchEnvironment): Promise<Section> {
  const merchant = await makeMerchant('Cem Mil Vendas')
  const charges = await writeCharges(pool, { accountIds: [merchant.id], total: options.smallList })
  await payCharges(charges)
  await pool.query('VACUUM ANALYZE')
  const { child, port } = await startServer('fast', { ...settings, ...LOOPBACK_SETTINGS })
  const origin = `http://127.0.0.1:${port}`
  const cookie = `troco-session=${await openOwnerSession(merchant.id)}; troco-locale=en`
  const { examine, close } = await openLighthouse()
  const lines: string[] = []
  const verdicts: Verdict[] = []
  for (const [name, path, reader, device] of listPages(charges)) {
    const runs = await examineRepeatedly(
      examine,
      origin + path,
      reader === 'payer' ? '' : cookie,
      device,
    )
    lines.push(describeRuns(name, runs))
    verdicts.push(...judgeScores(name, runs))
  }
  await close()
  const firstBytes = await timeFirstBytes(`${origin}/test/charges`, cookie)
  await endChild(child)
  const p95 =
    firstBytes.toSorted((a, b) => a - b)[Math.ceil(FIRST_BYTE_SAMPLES * 0.95) - 1] ?? Number.NaN
  verdicts.push({
    requirement: `pages: first byte of the list of charges within ${FIRST_BYTE_MAX_MS} ms (p95)`,
    measured: `${Math.round(p95)} ms, median ${Math.round(median(firstBytes))} ms`,
    isMet: p95 <= FIRST_BYTE_MAX_MS,
  })
  const title = `Pages of a merchant with ${formatCount(charges.length)} charges, median of ${RUN_COUNT} Lighthouse runs`
  return { title, lines, verdicts }
}

type Visit = [name: string, path: string, reader: 'merchant' | 'payer', on: 'desk' | 'phone']

function listPages(charges: WrittenCharge[]): Visit[] {
  const openChargeId = charges.at(-1)?.id ?? ''
  const payPath = new URL(paymentUrl(openChargeId)).pathname
  return [
    ['home', '/test/home', 'merchant', 'desk'],
    ['charges', '/test/charges', 'merchant', 'desk'],
    ["payer's page", payPath, 'payer', 'phone'],
  ]
}

async function payCharges(charges: WrittenCharge[]): Promise<void> {
  process.stderr.write('Paying charges\n')
  const paid = charges.filter((_, index) => index % PAID_SHARE.total < PAID_SHARE.paid)
  const now = Date.now()
  for (let from = 0; from < paid.length; from += BATCH_SIZE) {
    const payments = paid.slice(from, from + BATCH_SIZE).map(({ accountId, id }, index) => {
      const age = PERIOD_DAYS * DAY_MS * (1 - (from + index) / paid.length)
      const paidAt = new Date(now - age)
      return {
        accountId,
        chargeId: id,
        endToEndId: newEndToEndId(paidAt),
        amount: CHARGE.amount,
        paidAt,
        bookedAt: paidAt,
      }
    })
    await settleCharges(payments)
  }
}

async function examineRepeatedly(
  ...[examine, url, cookie, device]: [Examine, string, string, Visit[3]]
) {
  // Not measured: the first request waits while the server loads the page's code.
  const first = await fetch(url, { headers: { cookie }, redirect: 'manual' })
  if (first.status !== 200) throw new Error(`${url} answered ${first.status}`)
  await first.text()
  const runs: Scores[] = []
  while (runs.length < RUN_COUNT) runs.push(await examine(url, cookie, device))
  return runs
}

function describeRuns(name: string, runs: Scores[]): string {
  const medianOf = (key: 'largestPaintMs' | 'shift') => median(runs.map(run => run[key]))
  const failedAudits = [...new Set(runs.flatMap(run => run.failedAudits))].join(', ')
  return `${name}: largest paint ${Math.round(medianOf('largestPaintMs'))} ms, shift ${medianOf('shift').toFixed(3)}${failedAudits && `; ${failedAudits}`}`
}

function judgeScores(name: string, runs: Scores[]): Verdict[] {
  const minima = { performance: PERFORMANCE_MIN, accessibility: ACCESSIBILITY_MIN } as const
  return (['performance', 'accessibility'] as const).map(category => {
    const score = median(runs.map(run => run[category]))
    const requirement = `pages: ${name}, ${category} at least ${minima[category]}`
    return { requirement, measured: String(score), isMet: score >= minima[category] }
  })
}

async function timeFirstBytes(url: string, cookie: string): Promise<number[]> {
  const times: number[] = []
  while (times.length < FIRST_BYTE_SAMPLES) {
    const began = performance.now()
    const response = await fetch(url, { headers: { cookie }, redirect: 'error' })
    const reader = response.body?.getReader()
    await reader?.read()
    times.push(performance.now() - began)
    await reader?.cancel()
  }
  return times
}
