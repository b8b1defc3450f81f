import { Pool, type PoolClient, type PoolConfig } from 'pg'
import { isDatabaseUnavailable } from '#lib/base/errors.ts'
import { currentLogContext } from '#lib/base/log.ts'

/** Longest wait for a connection while other requests make progress. */
const WAIT_MAX_MS = 30_000

type Callback = Parameters<Pool['connect']>[0]
type Waiting = Set<() => void>

/**
 * Pool whose waiting requests get connections account by account in turn, so that one account's many
 * requests delay others by one statement each. While statements finish, requests wait instead of
 * failing; if none finishes within `connectionTimeoutMillis`, the database is taken as unavailable.
 */
export class FairPool extends Pool {
  readonly #stallMs: number
  readonly #max: number
  /** Waiting requests by account; the order of the keys is the order of turns. */
  readonly #queues = new Map<string, Waiting>()
  readonly #lent = new WeakSet<PoolClient>()
  #running = 0
  #lastProgressAt = 0

  constructor(config: PoolConfig & { max: number; connectionTimeoutMillis: number }) {
    super(config)
    this.#max = config.max
    this.#stallMs = config.connectionTimeoutMillis
    this.on('release', (error, client) => {
      // The pool also releases connections whose request has timed out; those are not counted.
      if (this.#lent.delete(client)) this.#handleEnd(error)
    })
  }

  override connect(): Promise<PoolClient>
  override connect(callback: Callback): void
  override connect(callback?: Callback): Promise<PoolClient> | undefined {
    if (callback) {
      if (this.#running < this.#max) this.#open(callback)
      else this.#wait(callback)
      return undefined
    }
    return new Promise((resolve, reject) => {
      this.connect((error, client) => (client ? resolve(client) : reject(error)))
    })
  }

  #open(callback: Callback): void {
    this.#running++
    super.connect((error, client, done) => {
      if (client) this.#lent.add(client)
      else this.#handleEnd(error)
      callback(error, client, done)
    })
  }

  #wait(callback: Callback): void {
    const { accountId, tokenPrefix, ip } = currentLogContext()
    const account = accountId ?? tokenPrefix ?? ip ?? ''
    const waiting = this.#queues.get(account) ?? new Set()
    this.#queues.set(account, waiting)
    const began = performance.now()
    const giveUpOrWait = () => {
      const now = performance.now()
      const leftMs = Math.min(
        Math.max(began, this.#lastProgressAt) + this.#stallMs - now,
        began + WAIT_MAX_MS - now,
      )
      if (leftMs > 0) {
        timer = setTimeout(giveUpOrWait, leftMs)
        return
      }
      waiting.delete(open)
      if (waiting.size === 0 && this.#queues.get(account) === waiting) this.#queues.delete(account)
      callback(new Error('timeout exceeded when trying to connect'), undefined, () => {})
    }
    const open = () => {
      clearTimeout(timer)
      this.#open(callback)
    }
    let timer = setTimeout(giveUpOrWait, this.#stallMs)
    waiting.add(open)
  }

  #handleEnd(error: unknown): void {
    this.#running--
    if (!(error && isDatabaseUnavailable(error))) this.#lastProgressAt = performance.now()
    // The pool takes the connection back only after this event.
    if (this.#queues.size > 0) process.nextTick(() => this.#admit())
  }

  #admit(): void {
    if (this.#running >= this.#max) return
    for (const [account, waiting] of this.#queues) {
      const [open] = waiting
      this.#queues.delete(account)
      if (!open) continue
      waiting.delete(open)
      if (waiting.size > 0) this.#queues.set(account, waiting)
      open()
      return
    }
  }
}
