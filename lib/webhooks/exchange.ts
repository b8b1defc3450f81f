import http, { type ClientRequest } from 'node:http'
import https from 'node:https'
import type { Address } from '#lib/core/addresses.ts'
import { buildPinnedOptions } from '#lib/webhooks/connection.ts'
import { exchangeError } from '#lib/webhooks/failure.ts'
import { readResponse, type WebhookResponse } from '#lib/webhooks/response.ts'
import type { Target } from '#lib/webhooks/target.ts'

export interface Call {
  target: Target
  headers: Record<string, string>
  body: string
  signal: AbortSignal
}

/** Result of one connection: a response, or an error and the stage that was reached. */
export interface Exchange {
  response: WebhookResponse | null
  error: unknown
  /** Null until the TCP connection is established. */
  address: string | null
  /** Whether TCP and TLS were established. If not, nothing of the request was sent. */
  isConnected: boolean
  /** Whether a reused connection closed without a byte of response: it was already dead. */
  isStale: boolean
}

const INITIAL: Exchange = {
  ...{ response: null, error: null, address: null, isConnected: false, isStale: false },
}
/** Maximum bytes before the final header: room for a few 1xx responses. */
const BEFORE_HEAD_BYTES_MAX = 128 * 1024
/** Headers that callers may not set: they determine destination and framing of the request. */
const RESERVED_HEADERS =
  /^(host|content-length|transfer-encoding|connection|expect|upgrade|cookie)$/i

/** Sends the request to one address. Resolves on response, error, timeout or abort. */
export function exchange(
  call: Call,
  address: Address,
  connectMs: number,
  isPooled: boolean,
): Promise<Exchange> {
  const { signal } = call
  const result = { ...INITIAL }
  return new Promise(resolve => {
    const request = openRequest(call, address, isPooled)
    const timer = setTimeout(() => fail(exchangeError('connect_timeout')), connectMs)
    const interrupt = () => fail(signal.reason)
    const seen = watchHead(request, fail)
    signal.addEventListener('abort', interrupt)
    const recordAddress = () => {
      result.address = address.address
    }
    watchConnection(request, recordAddress, connected)
    request.once('response', async response => {
      seen.head = true
      result.response = await readResponse(response, signal)
      end()
    })
    request.on('error', fail)
    request.once('close', () => fail(exchangeError('closed')))
    if (signal.aborted) interrupt()
    else request.end(call.body)

    function connected() {
      clearTimeout(timer)
      result.isConnected = true
    }

    /** After the response headers, the error is ignored and the body received so far is used. */
    function fail(error: unknown) {
      if (seen.head || result.error) return
      result.error = error
      result.isStale = request.reusedSocket && seen.bytes === 0 && isConnectionReset(error)
      end()
    }

    function end() {
      clearTimeout(timer)
      signal.removeEventListener('abort', interrupt)
      // A receiver that responds without reading the request would keep the connection open.
      if (!result.response || !request.writableFinished) request.destroy()
      resolve(result)
    }
  })
}

function watchConnection(request: ClientRequest, reached: () => void, connected: () => void) {
  request.once('socket', socket => {
    if (request.reusedSocket) {
      reached()
      connected()
    } else {
      socket.once('connect', reached)
      socket.once('encrypted' in socket ? 'secureConnect' : 'connect', connected)
    }
  })
}

/** Counts bytes before the final header, which the HTTP parser does not limit. */
function watchHead(request: ClientRequest, fail: (error: Error) => void) {
  const seen = { head: false, bytes: 0 }
  const count = (chunk: Buffer) => {
    seen.bytes += chunk.length
    if (seen.bytes > BEFORE_HEAD_BYTES_MAX) fail(exchangeError('no_answer'))
  }
  request.once('socket', socket => {
    socket.on('data', count)
    request.once('response', () => socket.off('data', count))
  })
  request.once('upgrade', (_response, socket) => {
    socket.destroy()
    fail(exchangeError('other_protocol'))
  })
  return seen
}

function isConnectionReset(error: unknown): boolean {
  return /^(ECONNRESET|EPIPE)$/.test((error as NodeJS.ErrnoException).code ?? '')
}

function openRequest(
  { target, headers, body }: Call,
  address: Address,
  isPooled: boolean,
): ClientRequest {
  const { url } = target
  const { request } = url.protocol === 'https:' ? https : http
  return request({
    ...buildPinnedOptions(target, address, isPooled),
    method: 'POST',
    path: url.pathname + url.search,
    headers: {
      'user-agent': 'Troco-Webhooks/1',
      'accept-encoding': 'identity',
      ...Object.fromEntries(
        Object.entries(headers).filter(([name]) => !RESERVED_HEADERS.test(name)),
      ),
      host: url.host,
      'content-length': String(Buffer.byteLength(body)),
    },
  })
}
