import { Agent, request } from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import { addressOf, nameOf } from '#e2e/cluster/network.ts'
import { Random } from '#lib/testing/random.ts'
import { chooseSeed } from '#lib/testing/seed.ts'
import { EVENT_TYPES } from '#lib/webhooks/states.ts'

/** Operations that begin per second. */
export const RATE = 50
/** While nothing answers, clients do not pile up without end. */
const OPEN_MAX = 200
const ATTEMPT_MAX_MS = 5_000
/** Clients repeat an operation until it is answered, for this long. */
const OPERATION_MAX_MS = 150_000
const RETRY_PAUSE_MS = { first: 100, max: 1_000 }

/** A slower answer counts as a disturbance: a statement that waited for 2.6 s gets a 503. */
const SLOW_MS = 2_000

type Kind = 'charge' | 'payment' | 'refund' | 'withdrawal' | 'endpoint'

interface Operation {
  kind: Kind
  /** Number of the customer, whose charge, payment and so on these are. */
  customer: number
  path: string
  body: object
}

interface Answer {
  outcome: string
  text: string
  isRetryable: boolean
}

export interface Attempt {
  startedAt: number
  tookMs: number
  /** HTTP status, or the code of a connection that failed. */
  outcome: string
}

/** Whether an attempt failed or was slow. */
export function isDisturbed({ outcome, tookMs }: Attempt): boolean {
  return outcome !== '200' || tookMs > SLOW_MS
}

export interface Acknowledged {
  kind: Kind
  /** Id of the charge, refund or withdrawal. */
  id: string
}

/**
 * A steady load of merchants: charges, refunds and withdrawals, each under a key, and of payers, whose
 * payments have none: one that is repeated is told that it was made.
 */
export class Load {
  readonly acknowledged: Acknowledged[] = []
  /** Operations without a final answer, or with one that no client should get. */
  readonly failures: string[] = []
  attempts: Attempt[] = []
  slowestMs = 0
  readonly #token: string
  readonly #agent: Agent
  readonly #ready: Operation[] = []
  readonly #open = new Set<Promise<void>>()
  #customers = 0
  #timer: NodeJS.Timeout | undefined

  constructor(token: string, certificate: string) {
    this.#token = token
    this.#agent = new Agent({
      keepAlive: true,
      maxSockets: OPEN_MAX,
      ca: certificate,
      servername: nameOf('balancer'),
    })
  }

  start(): void {
    clearInterval(this.#timer)
    this.#timer = setInterval(() => {
      if (this.#open.size >= OPEN_MAX) return
      const running = this.#perform(this.#ready.shift() ?? this.#nextCustomer())
      this.#open.add(running)
      running.finally(() => this.#open.delete(running))
    }, 1_000 / RATE)
  }

  /** Begins no further operation, and waits until all have been answered. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    while (this.#open.size > 0) await Promise.all(this.#open)
  }

  /** Adds an endpoint, which receives all events. */
  async addEndpoint(url: string): Promise<void> {
    const body = { url, event_types: EVENT_TYPES }
    const { outcome, text } = await this.#send({
      kind: 'endpoint',
      customer: 0,
      path: '/webhooks/endpoints',
      body,
    })
    if (outcome !== '200') throw new Error(`The endpoint was refused: ${outcome} ${text}`)
  }

  /** Time since the start of the last attempt that failed or was slow. */
  quietMs(): number {
    const last = this.attempts.findLast(isDisturbed)
    return last ? performance.now() - last.startedAt - last.tookMs : Number.POSITIVE_INFINITY
  }

  /** Forgets what was measured. */
  reset(): void {
    this.attempts = []
    this.slowestMs = 0
  }

  async #perform(operation: Operation): Promise<void> {
    const { kind, customer } = operation
    const began = performance.now()
    const random = new Random(chooseSeed(), customer)
    for (let pause = RETRY_PAUSE_MS.first; ; pause = Math.min(2 * pause, RETRY_PAUSE_MS.max)) {
      const { outcome, text, isRetryable } = await this.#send(operation)
      const tookMs = performance.now() - began
      if (outcome === '200') {
        this.slowestMs = Math.max(this.slowestMs, tookMs)
        this.#accept(operation, JSON.parse(text))
        return
      }
      if (!isRetryable || tookMs > OPERATION_MAX_MS) {
        this.failures.push(`${kind} ${customer}: ${outcome} ${text}`)
        return
      }
      await sleep(pause * (0.5 + random.fraction()))
    }
  }

  #accept({ kind, customer, path }: Operation, answer: Record<string, never>): void {
    const { data = {} } = answer as { data?: { transaction_id?: string; id?: string } }
    const id = (kind === 'charge' ? data.transaction_id : data.id) ?? path.split('/')[3] ?? ''
    this.acknowledged.push({ kind, id })
    if (kind === 'charge') this.#ready.push(payment(customer, id))
    if (kind === 'payment' && customer % 3 === 0) this.#ready.push(refund(customer, id))
    if (kind === 'payment' && customer % 3 === 1) this.#ready.push(withdrawal(customer))
  }

  #nextCustomer(): Operation {
    return charge(this.#customers++)
  }

  async #send({ kind, customer, path, body }: Operation) {
    const startedAt = performance.now()
    const answer = await new Promise<Answer>(resolve => {
      const sent = request({
        host: addressOf('balancer'),
        path: `/api${path}`,
        method: 'POST',
        agent: this.#agent,
        signal: AbortSignal.timeout(ATTEMPT_MAX_MS),
        headers: {
          authorization: `Bearer ${this.#token}`,
          'content-type': 'application/json',
          ...(kind !== 'payment' && { 'idempotency-key': `${kind} ${customer}` }),
        },
      })
      const fail = ({ code, name }: NodeJS.ErrnoException) =>
        resolve({
          outcome: name === 'AbortError' || name === 'TimeoutError' ? 'timeout' : `${code}`,
          text: '',
          isRetryable: true,
        })
      sent.on('error', fail)
      sent.on('response', response => {
        let text = ''
        response.on('data', chunk => {
          text += chunk
        })
        response.on('error', fail)
        const { statusCode = 0, headers } = response
        const isRetryable = statusCode >= 500 || 'retry-after' in headers
        const isPaid = kind === 'payment' && headers['x-error-code'] === 'already_final'
        response.on('end', () =>
          resolve(
            isPaid
              ? { outcome: '200', text: '{}', isRetryable }
              : { outcome: `${statusCode}`, text, isRetryable },
          ),
        )
      })
      sent.end(JSON.stringify(body))
    })
    const tookMs = performance.now() - startedAt
    this.attempts.push({ startedAt, tookMs, outcome: answer.outcome })
    return answer
  }
}

const CHARGE_AMOUNT = 100_000
/** Each withdrawal has another amount, by which it is recognized. */
const WITHDRAWAL_AMOUNT_MIN = 1_000

function charge(customer: number): Operation {
  const body = {
    amount: CHARGE_AMOUNT,
    client_name: `Customer ${customer}`,
    client_email: 'ana@example.com',
    client_doc: '39053344705',
  }
  return { kind: 'charge', customer, path: '/transactions', body }
}

function payment(customer: number, id: string): Operation {
  const path = `/sandbox/transactions/${id}`
  return { kind: 'payment', customer, path, body: { outcome: 'paid' } }
}

function refund(customer: number, id: string): Operation {
  return { kind: 'refund', customer, path: `/transactions/${id}/refunds`, body: { amount: 500 } }
}

function withdrawal(customer: number): Operation {
  const amount = WITHDRAWAL_AMOUNT_MIN + customer
  const body = { amount, pix_key: 'ana@example.com', pix_key_type: 'email' }
  return { kind: 'withdrawal', customer, path: '/withdrawals', body }
}
