import { Pool, type PoolClient, type PoolConfig } from 'pg'
import { isDatabaseUnavailable } from '#lib/base/errors.ts'
import { currentLogContext } from '#lib/base/log.ts'

/** Longest wait for a connection while other requests make progress. */
const WAIT_MAX_MS = 30_000

type Callback = Parameters<Pool['connect']>[0]

/** Waiting requests of callers, who take turns. */
class Turns {
  /** The order of the keys is the order of turns. */
  readonly #waiting = new Map<string, Set<() => void>>()

  get isEmpty(): boolean {
    return this.#waiting.size === 0
  }

  add(caller: string, open: () => void): void {
    const waiting = this.#waiting.get(caller) ?? new Set()
    this.#waiting.set(caller, waiting.add(open))
  }

  delete(caller: string, open: () => void): void {
    const waiting = this.#waiting.get(caller)
    waiting?.delete(open)
    if (waiting?.size === 0) this.#waiting.delete(caller)
  }

  /** Removes the longest waiting request of the next caller. */
  take(): (() => void) | undefined {
    for (const [caller, waiting] of this.#waiting) {
      const [open] = waiting
      if (!open) continue
      this.delete(caller, open)
      if (this.#waiting.delete(caller)) this.#waiting.set(caller, waiting)
      return open
    }
    return undefined
  }
}

/**
 * Pool whose waiting requests get connections account by account in turn, so that one account's many
 * requests delay others by one statement each. Callers whose account is not known yet, of whom
 * anybody can send as many as there are addresses, get every other connection. While statements
 * finish, requests wait instead of failing; if none finishes within `connectionTimeoutMillis`, the
 * database is taken as unavailable.
 */
export class FairPool extends Pool {
  readonly #stallMs: number
  readonly #max: number
  readonly #known = new Turns()
  readonly #unknown = new Turns()
  #isUnknownNext = false
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
    const unknown = accountId === undefined ? (tokenPrefix ?? ip) : undefined
    const turns = unknown === undefined ? this.#known : this.#unknown
    const caller = accountId ?? unknown ?? ''
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
      turns.delete(caller, open)
      callback(new Error('timeout exceeded when trying to connect'), undefined, () => {})
    }
    const open = () => {
      clearTimeout(timer)
      this.#open(callback)
    }
    let timer = setTimeout(giveUpOrWait, this.#stallMs)
    turns.add(caller, open)
  }

  #handleEnd(error: unknown): void {
    this.#running--
    if (!(error && isDatabaseUnavailable(error))) this.#lastProgressAt = performance.now()
    // The pool takes the connection back only after this event.
    const isAnyWaiting = !(this.#known.isEmpty && this.#unknown.isEmpty)
    if (isAnyWaiting) process.nextTick(() => this.#admit())
  }

  #admit(): void {
    if (this.#running >= this.#max) return
    const isUnknown = this.#known.isEmpty || (this.#isUnknownNext && !this.#unknown.isEmpty)
    this.#isUnknownNext = !isUnknown
    const turns = isUnknown ? this.#unknown : this.#known
    turns.take()?.()
  }
}
