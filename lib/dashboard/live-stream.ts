import { findCharge } from '#lib/charges/queries.ts'
import { refuse } from '#lib/core/errors.ts'
import type { Mode } from '#lib/core/mode.ts'
import { hasMaxWatchers, watchCharge } from '#lib/dashboard/live.ts'
import type { ChargeStatusUpdate } from '#lib/dashboard/schema.ts'

/** Interval of access checks and of heartbeats: proxies drop silent connections. */
const HEARTBEAT_MS = 15_000
/** Maximum duration of a stream; then the page opens a new one. */
const DURATION_MAX_MS = 600_000

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'private, no-store, no-transform',
  'x-accel-buffering': 'no',
  // Each stream has its own connection, which closes when the stream ends.
  connection: 'close',
}

interface Listener {
  accountId: string
  mode: Mode
  /** Throws once the listener has lost access. */
  reauthorize: () => Promise<void>
}

export async function streamCharge(
  { accountId, mode, reauthorize }: Listener,
  idOrReference: string,
) {
  const charge = await findCharge(accountId, mode, idOrReference)
  if (!charge) throw refuse('transaction_not_found')
  if (hasMaxWatchers(accountId)) {
    throw refuse('limit_reached', 'Too many live charges are open in this account: close one first')
  }
  const chunks = new ChunkStream(stream => {
    const sendStatus = (status: ChargeStatusUpdate['status']) =>
      stream.push(`data: ${JSON.stringify({ status } satisfies ChargeStatusUpdate)}\n\n`)
    const end = () => stream.end()
    const unwatch = watchCharge({
      accountId,
      chargeId: charge.id,
      onStatus: sendStatus,
      onEnd: end,
    })
    const timers = [
      setInterval(() => reauthorize().then(() => stream.push(':\n\n'), end), HEARTBEAT_MS),
      setTimeout(end, DURATION_MAX_MS),
    ]
    return () => {
      unwatch()
      for (const timer of timers) clearInterval(timer)
    }
  })
  return { headers: HEADERS, chunks }
}

/** Starts at the first read and stops at a disconnect; a generator would stop at its next value. */
class ChunkStream implements AsyncIterableIterator<string> {
  readonly #begin: (outlet: ChunkStream) => () => void
  #stop: (() => void) | null = null
  #isClosed = false
  #chunks: string[] = []
  #resolveNext: ((result: IteratorResult<string>) => void) | null = null

  constructor(start: (outlet: ChunkStream) => () => void) {
    this.#begin = start
  }

  push(text: string): void {
    if (this.#isClosed) return
    this.#chunks.push(text)
    this.#flush()
  }

  end(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#stop?.()
    this.#flush()
  }

  next(): Promise<IteratorResult<string>> {
    if (!this.#isClosed) this.#stop ??= this.#begin(this)
    return new Promise(resolve => {
      this.#resolveNext = resolve
      this.#flush()
    })
  }

  async return(): Promise<IteratorResult<string>> {
    this.#chunks = []
    this.end()
    return { done: true, value: undefined }
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  #flush(): void {
    const resolve = this.#resolveNext
    if (!resolve || (this.#chunks.length === 0 && !this.#isClosed)) return
    this.#resolveNext = null
    const value = this.#chunks.shift()
    resolve(value === undefined ? { done: true, value } : { done: false, value })
  }
}
