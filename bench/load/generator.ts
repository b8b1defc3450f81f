/**
 * The load generator: a process of its own, so that it does not share a thread with what reports.
 * Raw sockets and ready-made bytes, because a general client would take the CPU of what it measures.
 */
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { AnswerReader } from './answer-reader.ts'
import { Histogram } from './histogram.ts'

export interface Order {
  port: number
  /** Sent in turn; each connection waits for its answer before it sends the next. */
  requests: Buffer[]
  connections: number
  /** Answers in this first part are taken and not counted: connections and plans are new. */
  rampMs: number
  measureMs: number
}

export interface Outcome {
  /** Every 200, counted or not: what a database must remember afterwards. */
  answered: number
  perSecond: number
  p50: number
  p99: number
  /** The body of the first request's answer. */
  first: string
}

const READ_BYTES = 64 * 1024
const DRAIN_MAX_MS = 12_000

class Run {
  readonly histogram = new Histogram()
  answered = 0
  first = ''
  phase: 'ramp' | 'measure' | 'drain' = 'ramp'
  #order: Order
  #sent = 0
  #open = 0
  #sockets: Socket[] = []
  #ended = Promise.withResolvers<void>()

  constructor(order: Order) {
    this.#order = order
  }

  async finish(): Promise<Outcome> {
    const { connections, rampMs, measureMs } = this.#order
    for (let number = 0; number < connections; number++) this.#connect(number === 0)
    const ended = this.#ended.promise
    await Promise.race([sleep(rampMs), ended])
    this.phase = 'measure'
    const began = performance.now()
    await Promise.race([sleep(measureMs), ended])
    const seconds = (performance.now() - began) / 1_000
    this.phase = 'drain'
    const late = sleep(DRAIN_MAX_MS).then(() => this.#fail(new Error('An answer never came')))
    await Promise.race([late, ended])
    const { histogram, answered, first } = this
    const [p50, p99] = [histogram.quantile(0.5), histogram.quantile(0.99)]
    return { answered, perSecond: histogram.count / seconds, p50, p99, first }
  }

  #connect(keepsFirst: boolean): void {
    const reader = new AnswerReader(keepsFirst)
    let sentAt = 0
    const send = () => {
      sentAt = performance.now()
      socket.write(this.#order.requests[this.#sent++ % this.#order.requests.length] ?? '')
    }
    const take = (length: number, bytes: Uint8Array): boolean => {
      if (!reader.feed((bytes as Buffer).subarray(0, length))) return true
      if (this.phase === 'measure') this.histogram.record(performance.now() - sentAt)
      if (reader.status !== 200) {
        this.#fail(new Error(`Answered ${reader.status}: ${reader.body().slice(0, 500)}`))
        return false
      }
      this.answered++
      if (keepsFirst && this.first === '') this.first = reader.body()
      reader.next(false)
      if (this.phase === 'drain') socket.destroy()
      else send()
      return true
    }
    const buffer = Buffer.allocUnsafe(READ_BYTES)
    const onread = { buffer, callback: (length: number, bytes: Uint8Array) => take(length, bytes) }
    const socket = connect({ host: '127.0.0.1', port: this.#order.port, noDelay: true, onread })
    this.#sockets.push(socket)
    this.#open++
    socket.on('connect', send)
    socket.on('error', error => this.#fail(error))
    socket.on('end', () => this.#fail(new Error('The server hung up')))
    socket.on('close', () => {
      if (--this.#open === 0) this.#ended.resolve()
    })
  }

  #fail(error: Error): void {
    this.#ended.reject(error)
    for (const socket of this.#sockets) socket.destroy()
  }
}

process.on('message', (order: Order) => {
  new Run(order).finish().then(
    outcome => process.send?.({ outcome }),
    (error: Error) => process.send?.({ problem: error.message }),
  )
})
