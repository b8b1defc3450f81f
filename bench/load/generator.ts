/**
 * Load generator in a process of its own, so that it shares no thread with the report. It writes
 * prepared bytes to raw sockets: a general HTTP client would take CPU from the measured server.
 */
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { Histogram } from './histogram.ts'
import { ResponseReader } from './response-reader.ts'

export interface LoadOrder {
  port: number
  /** Sent in turn; each connection waits for its response before it sends the next request. */
  requests: Buffer[]
  connections: number
  /** Fixed rate, independent of response times. If absent, each response triggers a request. */
  perSecond?: number
  /** Warm-up. Its responses are not measured, because connections and query plans are new. */
  rampMs: number
  measureMs: number
}

export interface LoadOutcome {
  /** Number of 200 responses, measured or not; the database must contain their rows. */
  responseCount: number
  perSecond: number
  p50: number
  p99: number
  firstBody: string
}

const READ_BYTES = 64 * 1024
const DRAIN_MAX_MS = 12_000

interface Connection {
  socket: Socket
  /** Sends the next request; its latency counts from `at`. */
  send: (at: number) => void
}

class LoadRun {
  readonly histogram = new Histogram()
  responseCount = 0
  firstBody = ''
  phase: 'ramp' | 'measure' | 'drain' = 'ramp'
  #order: LoadOrder
  #sentCount = 0
  #idle: Connection[] = []
  /** Scheduled times of requests that found every connection busy. */
  #overdue: number[] = []
  #openCount = 0
  #sockets: Socket[] = []
  #ended = Promise.withResolvers<void>()

  constructor(order: LoadOrder) {
    this.#order = order
  }

  async finish(): Promise<LoadOutcome> {
    const { connections, rampMs, measureMs, perSecond } = this.#order
    for (let index = 0; index < connections; index++) this.#connect(index === 0)
    if (perSecond) this.#pace(perSecond)
    const ended = this.#ended.promise
    await Promise.race([sleep(rampMs), ended])
    this.phase = 'measure'
    const began = performance.now()
    await Promise.race([sleep(measureMs), ended])
    const seconds = (performance.now() - began) / 1_000
    this.phase = 'drain'
    for (const { socket } of this.#idle) socket.destroy()
    const timeout = sleep(DRAIN_MAX_MS).then(() =>
      this.#fail(new Error('A response did not arrive')),
    )
    await Promise.race([timeout, ended])
    const { histogram, responseCount, firstBody } = this
    const [p50, p99] = [histogram.quantile(0.5), histogram.quantile(0.99)]
    return { responseCount, perSecond: histogram.count / seconds, p50, p99, firstBody }
  }

  #connect(storesFirst: boolean): void {
    const reader = new ResponseReader(storesFirst)
    let sentAt = 0
    const send = (at: number) => {
      sentAt = at
      socket.write(this.#order.requests[this.#sentCount++ % this.#order.requests.length] ?? '')
    }
    const onData = (length: number, bytes: Uint8Array): boolean => {
      if (!reader.feed((bytes as Buffer).subarray(0, length))) return true
      if (this.phase === 'measure') this.histogram.record(performance.now() - sentAt)
      if (reader.status !== 200) {
        this.#fail(new Error(`Status ${reader.status}: ${reader.body().slice(0, 500)}`))
        return false
      }
      this.responseCount++
      if (storesFirst && this.firstBody === '') this.firstBody = reader.body()
      reader.next(false)
      this.#sendNext({ socket, send })
      return true
    }
    const buffer = Buffer.allocUnsafe(READ_BYTES)
    const onread = {
      buffer,
      callback: (length: number, bytes: Uint8Array) => onData(length, bytes),
    }
    const socket = connect({ host: '127.0.0.1', port: this.#order.port, noDelay: true, onread })
    this.#sockets.push(socket)
    this.#openCount++
    socket.on('connect', () => this.#sendNext({ socket, send }))
    socket.on('error', error => this.#fail(error))
    socket.on('end', () => this.#fail(new Error('The server closed the connection')))
    socket.on('close', () => {
      if (--this.#openCount === 0) this.#ended.resolve()
    })
  }

  #sendNext(connection: Connection): void {
    const scheduledAt = this.#overdue.shift()
    if (this.phase === 'drain') connection.socket.destroy()
    else if (!this.#order.perSecond) connection.send(performance.now())
    else if (scheduledAt !== undefined) connection.send(scheduledAt)
    else this.#idle.push(connection)
  }

  /**
   * Sends at a fixed rate. The latency of a request that waits for a connection counts from its
   * scheduled time.
   */
  #pace(perSecond: number): void {
    const began = performance.now()
    let count = 0
    const timer = setInterval(() => {
      if (this.phase === 'drain') return clearInterval(timer)
      const now = performance.now()
      for (; began + (count * 1_000) / perSecond <= now; count++) {
        const connection = this.#idle.shift()
        if (connection) connection.send(now)
        else this.#overdue.push(began + (count * 1_000) / perSecond)
      }
    }, 1)
  }

  #fail(error: Error): void {
    this.#ended.reject(error)
    this.phase = 'drain'
    for (const socket of this.#sockets) socket.destroy()
  }
}

process.on('message', (order: LoadOrder) => {
  new LoadRun(order).finish().then(
    outcome => process.send?.({ outcome }),
    (error: Error) => process.send?.({ problem: error.message }),
  )
})
