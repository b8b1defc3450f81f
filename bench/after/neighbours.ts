import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createAccount } from '#lib/rooms/accounts/create.ts'
import { hashPassword, makePassword } from '#lib/services/people/password.ts'
import { examineLedger, formatCount } from '../books.ts'
import type { GuessCounts, NoiseOrder } from '../load/noise.ts'
import { type Receiver, startReceiver } from '../load/receive.ts'
import { buildRequest } from '../load/send.ts'
import { endChild, startServer, trackChild } from '../servers.ts'
import type { Verdict } from '../targets.ts'
import { CHARGE, makeMerchant } from '../world.ts'
import { insertBacklog, insertLargeCharges } from './backlog.ts'
import { Browser } from './browser.ts'
import { writeCharges } from './charges.ts'
import type { BenchEnvironment, Section } from './section.ts'
import { computeLatencies, quantile, READ_PAID_EVENTS } from './webhooks.ts'

const REQUESTS_PER_SECOND = 60
/** A create, a read and a payment in turn. */
const REQUESTS_PER_CHARGE = 3
const CONNECTIONS = 16
const WARM_UP_MS = 3_000
const SIGN_IN_INTERVAL_MS = 1_000
const UNREAD_CONNECTIONS = 150
const GUESSES_PER_SECOND = 200
const NETWORKS = 200

const WEBHOOK_P99_MAX_MS = 1_000
const API_SLOWDOWN_MAX = 3
const SIGN_IN_MAX_MS = 1_000
const MEMORY_MAX_MB = 350

/** As installed: with rate limits and a worker, behind one proxy that names the guessers' networks. */
const INSTALLED_SETTINGS = {
  WORKER: 'true',
  TRUST_PROXY: '1',
  WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8',
  RATE_TOKEN_PER_SECOND: '100',
  RATE_IP_PER_SECOND: '200',
  RATE_TOKEN_IN_FLIGHT: '300',
  RATE_TOKEN_BYTES_PER_SECOND: '20000000',
  RATE_IP_IN_FLIGHT: '600',
}

interface Person {
  email: string
  password: string
}

interface Figures {
  apiP99: number
  webhookP99: number
  webhookCount: number
  signIns: number[]
  memoryMb: number
}

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
  const alone = await measure()
  process.stderr.write(`Writing ${formatCount(pending)} pending deliveries\n`)
  await insertLargeCharges(pool, noisy.id)
  await insertBacklog(pool, { accountId: noisy.id, silentPort, receivers, pending })
  await pool.query('VACUUM ANALYZE')
  const beside = await measure((port, browser) => {
    const guesses = { perSecond: GUESSES_PER_SECOND, networks: NETWORKS, ...browser }
    const unread = { token: noisy.token, connections: UNREAD_CONNECTIONS }
    noise.send({ port, guesses, unread } satisfies NoiseOrder)
  })
  noise.send('stop')
  const [guesses] = (await once(noise, 'message')) as [GuessCounts]
  await endChild(noise)
  await endChild(receiver.child)
  return {
    title: `One account beside another with ${formatCount(pending)} pending deliveries`,
    lines: [
      `beside it: ${formatCount(receivers)} due receivers, ${UNREAD_CONNECTIONS} unread lists, ${GUESSES_PER_SECOND} password guesses per second from ${NETWORKS} networks`,
      `responses to the guesses: ${describeGuesses(guesses)}`,
      `alone:  ${describe(alone)}`,
      `beside: ${describe(beside)}`,
    ],
    verdicts: [...judge(alone, beside), await examineLedger()],
  }
}

async function makePerson(): Promise<Person> {
  const person = { email: 'dona@troco.example', password: makePassword() }
  const ownerPasswordHash = await hashPassword(person.password)
  const actor = { type: 'system' } as const
  await createAccount({ name: 'Loja da Dona', ownerEmail: person.email, ownerPasswordHash }, actor)
  return person
}

type BeginNoise = (
  port: number,
  browser: { origin: string; cookie: string; csrfToken: string },
) => void

interface Subject {
  environment: BenchEnvironment
  receiver: Receiver
  person: Person
}

async function measureAccount(subject: Subject, begin?: BeginNoise): Promise<Figures> {
  const { environment, receiver, person } = subject
  const { settings, pool, generator, options } = environment
  const seconds = (WARM_UP_MS + options.neighboursMs) / 1_000
  const total = Math.ceil(((seconds + 1) * REQUESTS_PER_SECOND) / REQUESTS_PER_CHARGE)
  // One per measurement, because each reads the events of its merchant.
  const merchant = await makeMerchant('Loja Tranquila')
  const urls = [`${receiver.url}/webhooks`]
  const charges = await writeCharges(pool, { accountIds: [merchant.id], total, urls })
  const { child, port } = await startServer('fast', { ...settings, ...INSTALLED_SETTINGS })
  const origin = settings.PUBLIC_URL ?? ''
  const browser = new Browser(port, origin)
  const form = await browser.open()
  await browser.signIn(person.email, person.password)
  begin?.(port, { origin, ...form })
  const signIns: number[] = []
  let isMeasured = true
  const signingIn = (async () => {
    for (; isMeasured; await sleep(SIGN_IN_INTERVAL_MS))
      signIns.push(await browser.signIn(person.email, person.password))
  })()
  const { p99 } = await generator.send({
    port,
    requests: charges.flatMap(({ id }) => [
      buildRequest('POST', '/api/transactions', merchant.token, CHARGE),
      buildRequest('GET', `/api/transactions/${id}`, merchant.token),
      buildRequest('POST', `/api/sandbox/transactions/${id}`, merchant.token, { outcome: 'paid' }),
    ]),
    connections: CONNECTIONS,
    perSecond: REQUESTS_PER_SECOND,
    rampMs: WARM_UP_MS,
    measureMs: options.neighboursMs,
  })
  isMeasured = false
  await signingIn
  const values = [[merchant.id], WARM_UP_MS]
  const { rows } = await pool.query<{ id: string; at: number }>(READ_PAID_EVENTS, values)
  const latencies = computeLatencies(rows, await receiver.collect(charges.length))
  const memoryMb = peakResidentMb(child)
  await endChild(child)
  const webhookP99 = quantile(latencies, 0.99)
  return { apiP99: p99, webhookP99, webhookCount: latencies.length, signIns, memoryMb }
}

function peakResidentMb({ pid }: ChildProcess): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Math.round(Number(/^VmHWM:\s+(\d+)/m.exec(status)?.[1]) / 1_024)
}

function describe({ apiP99, webhookP99, webhookCount, signIns, memoryMb }: Figures): string {
  return [
    `API p99 ${apiP99.toFixed(1)} ms`,
    `payment to receiver p99 ${webhookP99.toFixed(0)} ms (${webhookCount})`,
    `longest sign-in ${Math.max(...signIns).toFixed(0)} ms (${signIns.length})`,
    `peak memory ${memoryMb} MB`,
  ].join(', ')
}

function describeGuesses(counts: GuessCounts): string {
  return Object.entries(counts)
    .map(([status, count]) => `${status}: ${formatCount(count)}`)
    .join(', ')
}

function judge(alone: Figures, beside: Figures): Verdict[] {
  const slowdown = beside.apiP99 / alone.apiP99
  const longest = Math.max(...beside.signIns)
  return [
    {
      requirement: `neighbours: payment to receiver, p99 at most ${WEBHOOK_P99_MAX_MS} ms`,
      measured: `${beside.webhookP99.toFixed(0)} ms`,
      isMet: beside.webhookP99 <= WEBHOOK_P99_MAX_MS,
    },
    {
      requirement: `neighbours: API p99 at most ${API_SLOWDOWN_MAX} times that of the account alone`,
      measured: `${slowdown.toFixed(1)} times`,
      isMet: slowdown <= API_SLOWDOWN_MAX,
    },
    {
      requirement: `neighbours: sign-in on a known device within ${SIGN_IN_MAX_MS} ms`,
      measured: `${longest.toFixed(0)} ms`,
      isMet: longest <= SIGN_IN_MAX_MS,
    },
    {
      requirement: `neighbours: peak memory of the process at most ${MEMORY_MAX_MB} MB`,
      measured: `${beside.memoryMb} MB`,
      isMet: beside.memoryMb <= MEMORY_MAX_MB,
    },
  ]
}
