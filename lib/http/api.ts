import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { log } from '#lib/core/log.ts'
import { compressResponse, onResponseEnd } from '#lib/http/compression.ts'
import { refuseAccountlessMethod, refuseMethod } from '#lib/http/endpoint.ts'
import { type HttpRequest, type HttpResponse, hasBody } from '#lib/http/exchange.ts'
import { type Sender, securityHeaders } from '#lib/http/headers.ts'
import { beginStream, logContextOf, nameRoute, noteCode } from '#lib/http/metrics.ts'
import type { Match } from '#lib/http/routes.ts'

/** Time for a caller that is still sending to read the response before the connection is cut. */
const CLOSE_DELAY_MS = 500
/**
 * Maximum chunks of a body, which a client may send a few bytes at a time. 65,000 of one byte take 90 ms,
 * and each that is held takes 350 bytes.
 */
const CHUNKS_MAX = 4_096
const HELD_CHUNKS_MAX = 64
const inManyChunks = new WeakSet<IncomingMessage>()

/** Requests whose senders wait for `100 Continue` before they send the body. */
const waiting = new WeakMap<IncomingMessage, ServerResponse>()

export function noteExpectation(message: IncomingMessage, response: ServerResponse): void {
  waiting.set(message, response)
}

/** Has a waiting sender send the body, after all checks that need none (RFC 9110, 10.1.1). */
export function inviteBody(message: IncomingMessage): void {
  waiting.get(message)?.writeContinue()
  waiting.delete(message)
}

/** Works without Request and Response objects. Responses equal those sent through Next. */
export async function serveApi(
  message: IncomingMessage,
  response: ServerResponse,
  { handlers, route, params }: Match,
  sender: Sender,
): Promise<void> {
  // Without a template: the notices of banks, whose path contains a secret.
  nameRoute(response, route || 'bank notices')
  const method = message.method ?? ''
  const incoming: HttpRequest = {
    method,
    url: message.url ?? '',
    ip: sender.address,
    requestId: sender.requestId,
    logContext: logContextOf(response),
    route,
    params,
    header: name => joinHeader(message.headers[name]),
    isBodyComplete: () => message.complete,
    readBody: bytesMax => readBody(message, bytesMax),
    onEnd: callback => onResponseEnd(message.socket, response, callback),
  }
  const endpoint = handlers.get(method)
  const outgoing = endpoint
    ? await endpoint.serve(incoming)
    : await refuseUnknownMethod(incoming, handlers)
  if ((endpoint?.declared ?? endpoint?.accountlessDeclaration)?.isCompressible)
    compressResponse(message, response, outgoing)
  if (outgoing.chunks && method !== 'HEAD') await sendStream(response, outgoing, sender)
  else sendResponse(response, outgoing, sender)
}

function refuseUnknownMethod(
  incoming: HttpRequest,
  handlers: Match['handlers'],
): Promise<HttpResponse> {
  const allow = [...handlers.keys()].join(', ')
  const [first] = handlers.values()
  return first?.accountlessDeclaration
    ? refuseAccountlessMethod(incoming, first.accountlessDeclaration, allow)
    : refuseMethod(incoming, allow, first?.declared)
}

export function sendResponse(
  response: ServerResponse,
  outgoing: HttpResponse,
  sender?: Sender,
): void {
  const { status, headers, text, bytes = text } = outgoing
  noteCode(response, headers['x-error-code'])
  response.writeHead(status, {
    ...securityHeaders(),
    ...(sender ? { 'x-request-id': sender.requestId } : {}),
    ...headers,
    ...(hasBody(status) && { 'content-length': Buffer.byteLength(bytes) }),
  })
  response.end(bytes)
}

const DISCONNECT_CODES = ['ERR_STREAM_PREMATURE_CLOSE', 'ERR_STREAM_UNABLE_TO_PIPE']

/** Streams at the caller's pace. An error cuts the connection, so the body looks incomplete. */
async function sendStream(
  response: ServerResponse,
  { status, headers, chunks = Readable.from([]) }: HttpResponse,
  { requestId }: Sender,
): Promise<void> {
  // The caller disconnected while the response was prepared.
  if (response.destroyed) return
  response.writeHead(status, { ...securityHeaders(), 'x-request-id': requestId, ...headers })
  response.flushHeaders()
  beginStream(response)
  // `pipeline` ends the stream as soon as the caller disconnects, not only at the next chunk.
  await pipeline(Readable.from(chunks), response).catch(error => {
    if (!DISCONNECT_CODES.includes(error.code))
      log().error({ err: error }, 'response stream failed')
    response.destroy()
  })
}

function joinHeader(value: string | string[] | undefined): string | null {
  return Array.isArray(value) ? value.join(', ') : (value ?? null)
}

function readBody(message: IncomingMessage, bytesMax: number): Promise<Uint8Array | null> {
  inviteBody(message)
  // A file in packets of a slow network, of 1,400 bytes, is within it.
  const chunksMax = Math.max(CHUNKS_MAX, Math.ceil(bytesMax / 1_024))
  return new Promise((resolve, reject) => {
    // A connection that is already closed emits no further event.
    if (message.destroyed) reject(new Error('The client disconnected'))
    let chunks: Buffer[] = []
    let size = 0
    let count = 0
    message.on('data', (chunk: Buffer) => {
      size += chunk.byteLength
      count += 1
      if (count > chunksMax) inManyChunks.add(message)
      if (size > bytesMax || count > chunksMax) return resolve(null)
      chunks.push(chunk)
      if (chunks.length === HELD_CHUNKS_MAX) chunks = [Buffer.concat(chunks)]
    })
    message.on('end', () =>
      resolve(chunks.length === 1 ? (chunks[0] ?? null) : Buffer.concat(chunks)),
    )
    message.on('error', reject)
    message.on('close', () => reject(new Error('The client disconnected')))
  })
}

/** Closes the connection of a request whose body is not complete although it has been responded to. */
export function closeAfterDelay(message: IncomingMessage): void {
  const timer = setTimeout(() => message.socket.destroySoon(), CLOSE_DELAY_MS)
  timer.unref()
  message.once('end', () => clearTimeout(timer))
  message.once('close', () => clearTimeout(timer))
  let left = inManyChunks.has(message) ? 0 : CHUNKS_MAX
  message.on('data', () => {
    if (left === 0) message.socket.destroy()
    left -= 1
  })
  message.resume()
}
