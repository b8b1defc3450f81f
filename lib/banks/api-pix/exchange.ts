import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { type Agent, request } from 'node:https'
import type { TLSSocket } from 'node:tls'

export interface HttpsRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  url: URL
  headers: Record<string, string>
  body?: string
}

/** `isSent`: the bank may have received the request. `code`: kind of the error, without its text. */
export type Exchange =
  | { kind: 'response'; status: number; headers: IncomingHttpHeaders; text: string }
  | { kind: 'failure'; isSent: boolean; code: string }

export interface Limits {
  /** Time until the handshake is done. */
  connectMs: number
  /** Time from then on until the response is complete. */
  responseMs: number
  /** Above a page of a thousand payments, each with its refunds. */
  responseBytes: number
}

export const EXCHANGE_LIMITS: Limits = {
  connectMs: 5_000,
  responseMs: 15_000,
  responseBytes: 8 * 1024 * 1024,
}

/**
 * Sends one request, follows no redirect, and never throws. A question that meets a connection which
 * the bank closed while it was idle is repeated once.
 */
export async function exchange(
  agent: Agent,
  request: HttpsRequest,
  signal: AbortSignal,
  limits = EXCHANGE_LIMITS,
): Promise<Exchange> {
  const first = await send(agent, request, signal, limits)
  return first.isStale && request.method === 'GET'
    ? (await send(agent, request, signal, limits)).exchange
    : first.exchange
}

interface Sent {
  exchange: Exchange
  /** A connection that was open before failed without a response. */
  isStale: boolean
}

function send(
  agent: Agent,
  { method, url, headers, body = '' }: HttpsRequest,
  signal: AbortSignal,
  { connectMs, responseMs, responseBytes }: Limits,
): Promise<Sent> {
  return new Promise(resolve => {
    let isSent = false
    let hasResponse = false
    let isCertificateExpired = false
    const length = method === 'GET' ? {} : { 'content-length': String(Buffer.byteLength(body)) }
    const outgoing = request(url, { agent, method, headers: { ...headers, ...length } })
    const end = (code: string) => {
      finish({ kind: 'failure', isSent, code })
      outgoing.destroy()
    }
    const abort = () => end('ABORTED')
    let timer = setTimeout(end, connectMs, 'CONNECT_TIMEOUT')
    const finish = (exchange: Exchange, isStale = false) => {
      clearTimeout(timer)
      signal.removeEventListener('abort', abort)
      resolve({ exchange, isStale })
    }
    const fail = (error: Error) => {
      const code = codeOf(error)
      const isReset = (code === 'ECONNRESET' || code === 'EPIPE') && !hasResponse
      // Not every bank sends an alert that says why it ends a connection.
      if (isReset && isCertificateExpired)
        finish({ kind: 'failure', isSent, code: 'CLIENT_CERTIFICATE_EXPIRED' })
      else finish({ kind: 'failure', isSent, code }, isReset && outgoing.reusedSocket)
    }
    const begin = () => {
      isSent = true
      clearTimeout(timer)
      timer = setTimeout(end, responseMs, 'RESPONSE_TIMEOUT')
    }
    outgoing.on('socket', socket => {
      if (outgoing.reusedSocket) return begin()
      socket.once('secureConnect', () => {
        isCertificateExpired = hasExpired(socket as TLSSocket)
        begin()
      })
    })
    outgoing.on('error', fail)
    outgoing.on('response', response => {
      hasResponse = true
      response.on('error', fail)
      readBody(response, responseBytes, text => {
        if (text === null) return end('RESPONSE_TOO_LARGE')
        finish({
          kind: 'response',
          status: response.statusCode ?? 0,
          headers: response.headers,
          text,
        })
      })
    })
    signal.addEventListener('abort', abort)
    if (signal.aborted) abort()
    else outgoing.end(body)
  })
}

/** Calls back once with the whole body, or with null once it is larger than `bytesMax`. */
function readBody(
  response: IncomingMessage,
  bytesMax: number,
  done: (text: string | null) => void,
): void {
  const chunks: Buffer[] = []
  let length = 0
  response.on('data', (chunk: Buffer) => {
    length += chunk.length
    if (length > bytesMax) done(null)
    else chunks.push(chunk)
  })
  response.on('end', () => done(Buffer.concat(chunks).toString()))
}

function hasExpired(socket: TLSSocket): boolean {
  const certificate = socket.getX509Certificate()
  return certificate !== undefined && Date.parse(certificate.validTo) < Date.now()
}

/**
 * Names the kind of an error: its text may contain the request. In TLS 1.2, only the text names the alert
 * that ended the handshake.
 */
export function codeOf(error: Error): string {
  const { code, message } = error as NodeJS.ErrnoException
  const [, alert] = (code === 'EPROTO' && /alert ([a-z ]{1,60}):/.exec(message)) || []
  if (alert) return `EPROTO_ALERT_${alert.toUpperCase().replaceAll(' ', '_')}`
  return typeof code === 'string' ? code : error.name
}
