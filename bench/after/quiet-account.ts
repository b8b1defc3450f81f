import type { ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { createAccount } from '#lib/accounts/create.ts'
import { hashPassword, makePassword } from '#lib/people/password.ts'
import type { Receiver } from '../load/receive.ts'
import { buildRequest } from '../load/send.ts'
import { endChild, startServer } from '../servers.ts'
import { CHARGE, makeMerchant } from '../world.ts'
import { Browser } from './browser.ts'
import { writeCharges } from './charges.ts'
import type { BenchEnvironment } from './section.ts'
import { computeLatencies, quantile, READ_PAID_EVENTS } from './webhooks.ts'

const REQUESTS_PER_SECOND = 60
/** A create, a read and a payment in turn. */
const REQUESTS_PER_CHARGE = 3
const CONNECTIONS = 16
/** Before the noise begins, and again before the measurement: a server under noise is a warm one. */
const WARM_UP_MS = 3_000
const RAMP_MS = 2 * WARM_UP_MS
const SIGN_IN_INTERVAL_MS = 1_000

/** As installed: with rate limits and a worker, behind one proxy that names the guessers' networks. */
const INSTALLED_SETTINGS = {
  WORKER: 'true',
  TRUST_PROXY: '1',
  WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8',
  RATE_TOKEN_PER_SECOND: '100',
  RATE_IP_PER_SECOND: '200',
  RATE_TOKEN_IN_FLIGHT: '300',
  RATE_IP_IN_FLIGHT: '600',
}

interface Person {
  email: string
  password: string
}

export interface Figures {
  apiP99: number
  webhookP99: number
  webhookCount: number
  signIns: number[]
  memoryMb: number
}

export async function makePerson(): Promise<Person> {
  const person = { email: 'dona@troco.example', password: makePassword() }
  const ownerPasswordHash = await hashPassword(person.password)
  const actor = { type: 'system' } as const
  await createAccount({ name: 'Loja da Dona', ownerEmail: person.email, ownerPasswordHash }, actor)
  return person
}

export type BeginNoise = (
  port: number,
  browser: { origin: string; cookie: string; csrfToken: string },
) => void

interface Subject {
  environment: BenchEnvironment
  receiver: Receiver
  person: Person
}

export async function measureAccount(subject: Subject, begin?: BeginNoise): Promise<Figures> {
  const { environment, receiver, person } = subject
  const { settings, pool, generator, options } = environment
  const seconds = (RAMP_MS + options.neighboursMs) / 1_000
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
  if (begin) setTimeout(() => begin(port, { origin, ...form }), WARM_UP_MS)
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
    rampMs: RAMP_MS,
    measureMs: options.neighboursMs,
  })
  isMeasured = false
  await signingIn
  const values = [[merchant.id], RAMP_MS]
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

export function describeFigures({
  apiP99,
  webhookP99,
  webhookCount,
  signIns,
  memoryMb,
}: Figures): string {
  return [
    `API p99 ${apiP99.toFixed(1)} ms`,
    `payment to receiver p99 ${webhookP99.toFixed(0)} ms (${webhookCount})`,
    `longest sign-in ${Math.max(...signIns).toFixed(0)} ms (${signIns.length})`,
    `peak memory ${memoryMb} MB`,
  ].join(', ')
}
