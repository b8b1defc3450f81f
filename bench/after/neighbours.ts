import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type pg from 'pg'
import { cookieNames } from '#lib/session/read.ts'
import { examineLedger, formatCount } from '../books.ts'
import type { NoiseCounts, NoiseOrder } from '../load/noise.ts'
import { startReceiver } from '../load/receive.ts'
import { endChild, trackChild } from '../servers.ts'
import type { Verdict } from '../targets.ts'
import { makeMerchant } from '../world.ts'
import { insertBacklog, insertLargeCharges } from './backlog.ts'
import { writeCharges } from './charges.ts'
import {
  type BeginNoise,
  describeFigures,
  type Figures,
  makePerson,
  measureAccount,
} from './quiet-account.ts'
import type { BenchEnvironment, Section } from './section.ts'
import { openOwnerSession } from './session.ts'

const UNREAD_CONNECTIONS = 150
const GUESSES_PER_SECOND = 200
const NETWORKS = 200
const PAGES_AT_ONCE = 300
const PAGES_CHARGES = 2_000
const PAGES = ['home', 'charges', 'withdrawals', 'statement', 'webhooks', 'settings/tokens']

const WEBHOOK_P99_MAX_MS = 1_000
const API_SLOWDOWN_MAX = 3
const SIGN_IN_MAX_MS = 1_000
const MEMORY_MAX_MB = 350

/** Measures an account and a person alone, then beside callers that take all that they can get. */
export async function measureNeighbours(environment: BenchEnvironment): Promise<Section> {
  const { pool, options } = environment
  const { pendingDeliveries: pending, dueReceivers: receivers } = options
  const receiver = await startReceiver(trackChild)
  const noise = fork(join(import.meta.dirname, '../load/noise.ts'), { serialization: 'advanced' })
  trackChild(noise)
  const [silentPort] = (await once(noise, 'message')) as [number]
  const noisy = await makeMerchant('Loja Barulhenta')
  const person = await makePerson()
  const measure = (begin?: BeginNoise) => measureAccount({ environment, receiver, person }, begin)
  const endNoise = async () => {
    noise.send('stop')
    const [counts] = (await once(noise, 'message')) as [NoiseCounts]
    return counts
  }
  const alone = await measure()
  const cookie = await signInToPages(pool)
  const besidePages = await measure(port => {
    const paths = PAGES.map(name => `/test/${name}`)
    const pages = { cookie, connections: PAGES_AT_ONCE, paths }
    noise.send({ port, pages } satisfies NoiseOrder)
  })
  const pageCounts = await endNoise()
  process.stderr.write(`Writing ${formatCount(pending)} pending deliveries\n`)
  await insertLargeCharges(pool, noisy.id)
  await insertBacklog(pool, { accountId: noisy.id, silentPort, receivers, pending })
  await pool.query('VACUUM ANALYZE')
  const beside = await measure((port, browser) => {
    const guesses = { perSecond: GUESSES_PER_SECOND, networks: NETWORKS, ...browser }
    const unread = { token: noisy.token, connections: UNREAD_CONNECTIONS }
    noise.send({ port, guesses, unread } satisfies NoiseOrder)
  })
  const guessCounts = await endNoise()
  await endChild(noise)
  await endChild(receiver.child)
  return {
    title: 'One account beside others that take all that they can get',
    lines: [
      `alone: ${describeFigures(alone)}`,
      `beside ${PAGES_AT_ONCE} pages at once of one session (${describeCounts(pageCounts)}):`,
      `  ${describeFigures(besidePages)}`,
      `beside ${formatCount(pending)} pending deliveries to ${formatCount(receivers)} due receivers, ${UNREAD_CONNECTIONS} unread lists and ${GUESSES_PER_SECOND} password guesses per second from ${NETWORKS} networks (${describeCounts(guessCounts)}):`,
      `  ${describeFigures(beside)}`,
    ],
    verdicts: [
      ...judge('pages', alone, besidePages),
      ...judge('neighbours', alone, beside),
      await examineLedger(),
    ],
  }
}

/** Returns the session cookie of a merchant's owner. */
async function signInToPages(pool: pg.Pool): Promise<string> {
  const { id } = await makeMerchant('Loja Curiosa')
  await writeCharges(pool, { accountIds: [id], total: PAGES_CHARGES })
  return `${cookieNames().session}=${await openOwnerSession(id)}`
}

/** Number of responses by status. */
function describeCounts(counts: NoiseCounts): string {
  return Object.entries(counts)
    .map(([status, count]) => `${status}: ${formatCount(count)}`)
    .join(', ')
}

function judge(name: string, alone: Figures, beside: Figures): Verdict[] {
  const slowdown = beside.apiP99 / alone.apiP99
  const longest = Math.max(...beside.signIns)
  return [
    {
      requirement: `${name}: payment to receiver, p99 at most ${WEBHOOK_P99_MAX_MS} ms`,
      measured: `${beside.webhookP99.toFixed(0)} ms`,
      isMet: beside.webhookP99 <= WEBHOOK_P99_MAX_MS,
    },
    {
      requirement: `${name}: API p99 at most ${API_SLOWDOWN_MAX} times that of the account alone`,
      measured: `${slowdown.toFixed(1)} times`,
      isMet: slowdown <= API_SLOWDOWN_MAX,
    },
    {
      requirement: `${name}: sign-in on a known device within ${SIGN_IN_MAX_MS} ms`,
      measured: `${longest.toFixed(0)} ms`,
      isMet: longest <= SIGN_IN_MAX_MS,
    },
    {
      requirement: `${name}: peak memory of the process at most ${MEMORY_MAX_MB} MB`,
      measured: `${beside.memoryMb} MB`,
      isMet: beside.memoryMb <= MEMORY_MAX_MB,
    },
  ]
}
