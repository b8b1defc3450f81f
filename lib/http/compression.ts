import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { constants, createGzip, type Gzip } from 'node:zlib'
import type { HttpResponse } from '#lib/http/exchange.ts'

export type Encoding = 'br' | 'gzip'

/** Compressions in progress. Node's four threads also serve files, DNS and hashes, so others go uncompressed. */
export const COMPRESSIONS_MAX = 4
/** Smaller bodies fit into one packet anyway. */
const BYTES_MIN = 1_024
const TYPES = /^(text\/(html|css|javascript|markdown|plain|x-component)|application\/json)\b/
const STATUSES_WITHOUT_BODY = [204, 205, 206, 304]
let compressing = 0

/** Returns the offered encoding that the client prefers; null if it prefers none. Ties go to the first. */
export function chooseEncoding(accepted = '', offered: readonly Encoding[]): Encoding | null {
  const weights = new Map<string, number>()
  for (const item of accepted.toLowerCase().split(',')) {
    const [name = '', ...parameters] = item.split(';').map(part => part.trim())
    const weight = parameters.find(parameter => parameter.startsWith('q='))?.slice(2)
    weights.set(name, weight === undefined ? 1 : Number(weight))
  }
  const weightOf = (name: string) => weights.get(name) ?? weights.get('*') ?? 0
  const [best] = offered
    .filter(name => weightOf(name) > 0 && weightOf(name) >= (weights.get('identity') ?? 0))
    .sort((a, b) => weightOf(b) - weightOf(a))
  return best ?? null
}

/**
 * Compresses what is written to the response, if client, type and size allow it and a place is free.
 * Call it only for content without secrets: pages, and endpoints that declare it (docs/decisions/055).
 */
export function compressWhenWritten(request: IncomingMessage, response: ServerResponse): void {
  const writeHead = response.writeHead.bind(response) as (
    ...parameters: unknown[]
  ) => ServerResponse
  const write = response.write.bind(response)
  const end = response.end.bind(response)
  let gzip: Gzip | null = null

  response.writeHead = ((status: number, ...rest: unknown[]) => {
    const headers = rest.find(value => typeof value === 'object') ?? {}
    if (response.headersSent || Array.isArray(headers)) return writeHead(status, ...rest)
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
    if (prepareHeaders(request, response, status) && request.method !== 'HEAD')
      gzip = startGzip(request, response, write, end)
    return writeHead(status, ...rest.filter(value => typeof value === 'string'))
  }) as typeof response.writeHead

  response.write = ((...parameters: Parameters<typeof write>) => {
    if (!response.headersSent) response.writeHead(response.statusCode)
    return gzip ? gzip.write(...parameters) : write(...parameters)
  }) as typeof response.write

  response.end = ((...parameters: [unknown?, unknown?, unknown?]) => {
    const [chunk, encoding] = parameters
    if (!response.headersSent) {
      const isBody = typeof chunk === 'string' || chunk instanceof Uint8Array
      const bytes = isBody ? Buffer.byteLength(chunk, encoding as BufferEncoding) : 0
      const isEmpty =
        request.method === 'HEAD' || STATUSES_WITHOUT_BODY.includes(response.statusCode)
      if (!response.hasHeader('content-length') && (isBody || !isEmpty))
        response.setHeader('content-length', bytes)
      response.writeHead(response.statusCode)
    }
    if (!gzip) return end(...(parameters as Parameters<typeof end>))
    const callback = parameters.find(value => typeof value === 'function')
    if (callback) response.once('finish', callback as () => void)
    if (!gzip.writableEnded) gzip.end(typeof chunk === 'function' ? undefined : chunk)
    return response
  }) as typeof response.end

  // Next calls it after each chunk, so that the browser gets the shell of a page before its rest.
  Object.assign(response, { flush: () => gzip?.writable && gzip.flush(constants.Z_SYNC_FLUSH) })
}

/**
 * Has a response of the API compressed when it is written. A short one, or one for a client that takes no
 * gzip, only says that others differ: the response is left as it is, because changing its methods slows all.
 */
export function compressResponse(
  request: IncomingMessage,
  response: ServerResponse,
  { headers, text, bytes, chunks }: HttpResponse,
): void {
  const isLong = chunks !== undefined || Buffer.byteLength(bytes ?? text) >= BYTES_MIN
  const { 'content-type': type = '', 'cache-control': caching = '', vary } = headers
  if (isLong && takesGzip(request)) compressWhenWritten(request, response)
  else if (isVarying(type, caching)) headers.vary = addVary(vary)
}

/** Returns whether a file of this type and size is compressed. */
export function isWorthCompressing(type: string, bytes: number): boolean {
  return TYPES.test(type) && bytes >= BYTES_MIN
}

function isVarying(type: string, caching: string): boolean {
  return TYPES.test(type) && !/\bno-transform\b/i.test(caching)
}

function addVary(vary = ''): string {
  return [vary, 'Accept-Encoding'].filter(Boolean).join(', ')
}

function takesGzip({ headers }: IncomingMessage): boolean {
  return chooseEncoding(joined(headers['accept-encoding']), ['gzip']) !== null
}

/** Returns whether the body is to be compressed, and then sets the headers of a compressed one. */
function prepareHeaders(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
): boolean {
  const header = (name: string) => String(response.getHeader(name) ?? '')
  if (response.hasHeader('content-encoding')) return false
  if (!isVarying(header('content-type'), header('cache-control'))) return false
  response.setHeader('vary', addVary(header('vary')))
  if (STATUSES_WITHOUT_BODY.includes(status) || isFromOtherSite(request)) return false
  const length = response.getHeader('content-length')
  if (length !== undefined && Number(length) < BYTES_MIN) return false
  if (!takesGzip(request)) return false
  if (compressing >= COMPRESSIONS_MAX) return false
  response.setHeader('content-encoding', 'gzip')
  response.removeHeader('content-length')
  const etag = header('etag')
  if (etag.startsWith('"')) response.setHeader('etag', `W/${etag}`)
  return true
}

/** BREACH needs a site that makes a signed-in browser repeat requests and sees how long the responses are. */
function isFromOtherSite({ headers }: IncomingMessage): boolean {
  const site = headers['sec-fetch-site'] ?? 'none'
  return site !== 'same-origin' && site !== 'none'
}

function joined(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.join(',') : header
}

/** Passes each end on to the other side: the last byte, a slow reader, an error and a closed connection. */
function startGzip(
  request: IncomingMessage,
  response: ServerResponse,
  write: (chunk: Buffer) => boolean,
  end: () => unknown,
): Gzip {
  const gzip = createGzip({ level: constants.Z_BEST_COMPRESSION })
  compressing++
  // The response may stay open without an event of its own, such as a pipelined one: see onResponseEnd.
  gzip.once('close', () => compressing--)
  onResponseEnd(request.socket, response, () => gzip.destroy())
  gzip.on('data', chunk => {
    if (!write(chunk)) gzip.pause()
  })
  gzip.on('end', () => end())
  gzip.on('error', error => response.destroy(error))
  // Whoever writes waits for the response, of which only the compressor knows whether it takes more.
  gzip.on('drain', () => response.emit('drain'))
  response.on('drain', () => response.writableNeedDrain || gzip.resume())
  return gzip
}

/** Lists, not sets, for the reason at `Turns` of lib/core/concurrency.ts. */
const openResponses = new WeakMap<Socket, (() => void)[]>()

/**
 * Calls back once the kernel has accepted the whole response, or its connection is closed. Node emits
 * no event for a pipelined response whose turn never came, hence the list per connection.
 */
export function onResponseEnd(
  socket: Socket,
  response: ServerResponse,
  callback: () => void,
): void {
  if (socket.destroyed || response.closed) {
    callback()
    return
  }
  const open = openResponses.get(socket) ?? listOpenResponses(socket)
  const end = () => {
    const index = open.indexOf(end)
    if (index === -1) return
    open.splice(index, 1)
    callback()
  }
  open.push(end)
  response.on('close', end)
}

function listOpenResponses(socket: Socket): (() => void)[] {
  const open: (() => void)[] = []
  openResponses.set(socket, open)
  socket.once('close', () => {
    for (const end of [...open]) end()
  })
  return open
}
