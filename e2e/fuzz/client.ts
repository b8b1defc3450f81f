import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import type { FuzzRequest } from '#e2e/fuzz/requests.ts'
import { type ParsedResponse, ResponseParser } from '#e2e/fuzz/response-parser.ts'
import type { HeaderLines } from '#e2e/fuzz/world.ts'

export interface Outcome {
  responses: ParsedResponse[]
  /** Received bytes that are not a complete response. */
  unparsed: string
  isHung: boolean
  tookMs: number
}

/**
 * Time after which a request counts as hung. The server waits up to 10 s for the whole request and
 * up to 10 s for a concurrent request with the same key.
 */
const HUNG_AFTER_MS = 25_000

/** Outcome on a server that has exited. */
export const NO_RESPONSE: Outcome = { responses: [], unparsed: '', isHung: false, tookMs: 0 }

/** A client that reuses one connection as long as the server keeps it open. */
export class FuzzClient {
  #port: number
  #persistent: Socket | null = null
  #waiting: Socket[] = []

  constructor(port: number) {
    this.#port = port
  }

  async send(request: FuzzRequest): Promise<Outcome> {
    if (request.usesFetch) return sendByFetch(this.#port, request)
    if (request.finish === 'wait') {
      const socket = await this.#connect({ allowHalfOpen: true })
      this.#waiting.push(socket)
      return exchange(socket, request)
    }
    if (request.finish !== 'keep') return exchange(await this.#connect(), request)
    const isReused = this.#persistent !== null
    const outcome = await this.#sendOnPersistent(request)
    // The server may close the connection just as the next request is sent.
    const isUnanswered = isReused && outcome.responses.length === 0 && !outcome.isHung
    return isUnanswered ? this.#sendOnPersistent(request) : outcome
  }

  disconnect(): void {
    this.#persistent?.destroy()
    this.#persistent = null
  }

  /**
   * Closes the client side of connections that the server had to close by itself; it must not wait
   * for the client.
   */
  destroyWaiting(): void {
    for (const socket of this.#waiting.splice(0)) socket.destroy()
  }

  async #sendOnPersistent(request: FuzzRequest): Promise<Outcome> {
    if (this.#persistent?.destroyed || this.#persistent?.readableEnded) this.disconnect()
    this.#persistent ??= await this.#connect()
    const outcome = await exchange(this.#persistent, request)
    const mustDisconnect = outcome.responses.length !== 1 || outcome.unparsed !== ''
    if (mustDisconnect || outcome.responses[0]?.headers.get('connection') === 'close')
      this.disconnect()
    return outcome
  }

  async #connect(options = {}): Promise<Socket> {
    const socket = connect({ port: this.#port, host: '127.0.0.1', noDelay: true, ...options })
    socket.on('error', () => {})
    await once(socket, 'connect')
    return socket
  }
}

async function exchange(socket: Socket, request: FuzzRequest): Promise<Outcome> {
  const { packets, finish, method } = request
  const parser = new ResponseParser(method === 'HEAD')
  const began = performance.now()
  const finished = Promise.withResolvers<boolean>()
  const timer = setTimeout(() => finished.resolve(true), HUNG_AFTER_MS)
  const close = () => {
    parser.close()
    finished.resolve(false)
  }
  const onData = (bytes: Buffer) => {
    parser.feed(bytes)
    if (parser.responses.length === 0 || parser.unparsed !== '') return
    if (finish === 'keep') finished.resolve(false)
    if (finish === 'end') socket.end()
  }
  socket.on('data', onData).on('close', close).on('end', close)
  for (const packet of packets) {
    if (!socket.writable) break
    socket.write(packet)
    await yieldToEventLoop()
  }
  if (finish === 'leave') socket.end()
  if (finish === 'drop') socket.destroy()
  const isHung = await finished.promise
  clearTimeout(timer)
  socket.off('data', onData).off('close', close).off('end', close)
  if (finish !== 'keep' && finish !== 'wait') socket.destroy()
  const tookMs = performance.now() - began
  return { responses: parser.responses, unparsed: parser.unparsed, isHung, tookMs }
}

async function sendByFetch(port: number, request: FuzzRequest): Promise<Outcome> {
  const { method, target, headers, body } = request
  const began = performance.now()
  const signal = AbortSignal.timeout(HUNG_AFTER_MS)
  // Without `close`, fetch would pool idle connections, which would count as never closed.
  const headerLines: HeaderLines = [...headers, ['Connection', 'close']]
  const init = { method, headers: headerLines, body: body && new Uint8Array(body), signal }
  const measureMs = () => performance.now() - began
  try {
    const response = await fetch(`http://127.0.0.1:${port}${target}`, init)
    const text = await response.text()
    const parsed = { status: response.status, headers: new Map(response.headers), body: text }
    return { responses: [parsed], unparsed: '', isHung: false, tookMs: measureMs() }
  } catch {
    return { responses: [], unparsed: '', isHung: signal.aborted, tookMs: measureMs() }
  }
}
