import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { type Answer, AnswerReader } from '#e2e/fuzz/answers.ts'
import type { FuzzRequest } from '#e2e/fuzz/requests.ts'
import type { HeaderLines } from '#e2e/fuzz/world.ts'

export interface Outcome {
  answers: Answer[]
  /** An incomplete response. */
  rest: string
  isHung: boolean
  tookMs: number
}

/** The server waits 10 s for a request and 10 s for a concurrent one with the same key. */
const HUNG_AFTER_MS = 25_000

/** Outcome on a server that has exited. */
export const NOTHING: Outcome = { answers: [], rest: '', isHung: false, tookMs: 0 }

/** A client that reuses one connection as long as the server keeps it open. */
export class Line {
  #port: number
  #kept: Socket | null = null
  #left: Socket[] = []

  constructor(port: number) {
    this.#port = port
  }

  async ask(request: FuzzRequest): Promise<Outcome> {
    if (request.byFetch) return askByFetch(this.#port, request)
    if (request.finish === 'wait') {
      const socket = await this.#connect({ allowHalfOpen: true })
      this.#left.push(socket)
      return converse(socket, request)
    }
    if (request.finish !== 'keep') return converse(await this.#connect(), request)
    const isUsed = this.#kept !== null
    const outcome = await this.#askKept(request)
    // The server may close the connection just as the next request is sent.
    const isUnheard = isUsed && outcome.answers.length === 0 && !outcome.isHung
    return isUnheard ? this.#askKept(request) : outcome
  }

  hangUp(): void {
    this.#kept?.destroy()
    this.#kept = null
  }

  /**
   * Closes the client's half of connections that the server had to close: it must not wait for it.
   */
  leave(): void {
    for (const socket of this.#left.splice(0)) socket.destroy()
  }

  async #askKept(request: FuzzRequest): Promise<Outcome> {
    if (this.#kept?.destroyed || this.#kept?.readableEnded) this.hangUp()
    this.#kept ??= await this.#connect()
    const outcome = await converse(this.#kept, request)
    const isOver = outcome.answers.length !== 1 || outcome.rest !== ''
    if (isOver || outcome.answers[0]?.headers.get('connection') === 'close') this.hangUp()
    return outcome
  }

  async #connect(options = {}): Promise<Socket> {
    const socket = connect({ port: this.#port, host: '127.0.0.1', noDelay: true, ...options })
    socket.on('error', () => {})
    await once(socket, 'connect')
    return socket
  }
}

async function converse(socket: Socket, request: FuzzRequest): Promise<Outcome> {
  const { parts, finish, method } = request
  const reader = new AnswerReader(method === 'HEAD')
  const began = performance.now()
  const over = Promise.withResolvers<boolean>()
  const timer = setTimeout(() => over.resolve(true), HUNG_AFTER_MS)
  const close = () => over.resolve(false)
  const read = (bytes: Buffer) => {
    reader.feed(bytes)
    if (reader.answers.length === 0 || reader.rest !== '') return
    if (finish === 'keep') over.resolve(false)
    if (finish === 'end') socket.end()
  }
  socket.on('data', read).on('close', close).on('end', close)
  for (const part of parts) {
    if (!socket.writable) break
    socket.write(part)
    await turn()
  }
  if (finish === 'leave') socket.end()
  if (finish === 'drop') socket.destroy()
  const isHung = await over.promise
  clearTimeout(timer)
  socket.off('data', read).off('close', close).off('end', close)
  if (finish !== 'keep' && finish !== 'wait') socket.destroy()
  const tookMs = performance.now() - began
  return { answers: reader.answers, rest: reader.rest, isHung, tookMs }
}

async function askByFetch(port: number, request: FuzzRequest): Promise<Outcome> {
  const { method, target, headers, body } = request
  const began = performance.now()
  const signal = AbortSignal.timeout(HUNG_AFTER_MS)
  // The pool of fetch would keep idle connections open, which count as never closed.
  const lines: HeaderLines = [...headers, ['Connection', 'close']]
  const init = { method, headers: lines, body: body && new Uint8Array(body), signal }
  const took = () => performance.now() - began
  try {
    const response = await fetch(`http://127.0.0.1:${port}${target}`, init)
    const text = await response.text()
    const answer = { status: response.status, headers: new Map(response.headers), body: text }
    return { answers: [answer], rest: '', isHung: false, tookMs: took() }
  } catch {
    return { answers: [], rest: '', isHung: signal.aborted, tookMs: took() }
  }
}
