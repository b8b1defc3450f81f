import { readdirSync } from 'node:fs'
import type { IncomingHttpHeaders, IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'
import * as z from 'zod'
import { isTrocoError, refuse, type TrocoError } from '#lib/core/errors.ts'
import { log } from '#lib/core/log.ts'
import { busyAddressHeaders, consumeAllowance } from '#lib/http/rate-limit.ts'
import type { PageRefusal } from '#lib/http/refusal-page.ts'
import { decodePath, PUBLIC_FOLDERS } from '#lib/http/routes.ts'
import { pickOwnCookies } from '#lib/session/read.ts'

const FORM = 'application/x-www-form-urlencoded'
const FORM_TYPE = /^application\/x-www-form-urlencoded *(;|$)/i
/** Request body limit for pages: the largest form is smaller; Next has no limit of its own. */
const FORM_BYTES_MAX = 64 * 1024

const AUTH_FOLDER = '/api/auth/'
/** Action and provider, as next-auth spells them. */
const AUTH_PATH = /^\/api\/auth\/[\w-]+(\/[\w-]+)?$/

const QUERY_BYTES_MAX = 2 * 1024
const QUERY_PAIRS_MAX = 50
/** Maximum path of a page; that of a charge has 60 bytes. Next takes milliseconds for a path of 30 KB. */
const PAGE_PATH_MAX = 2 * 1024
/** Maximum headers of a request. Browsers send about 20, proxies add some. */
const HEADERS_MAX = 250

const MALFORMED: PageRefusal = { error: refuse('malformed_request'), reason: 'malformed' }
const CLOSE = { connection: 'close' }

/** Counts a request for a page toward the limit of its address; null if it may proceed. */
export async function refuseBusyAddress(address: string): Promise<PageRefusal | null> {
  try {
    await consumeAllowance('ip', address)
    return null
  } catch (error) {
    if (!isTrocoError(error) || error.code !== 'too_many_requests') throw error
    const headers = busyAddressHeaders(error.retryAfterS ?? 1)
    return { error, reason: 'busy', headers }
  }
}

/**
 * Sets the target and the cookies that anything else reads of a request, and returns why it is refused. No
 * client needs more; Next takes 9.5 s for 15,000 names in a query, next-auth 1.3 s for 1,400 cookies.
 */
export function admitRequest(request: IncomingMessage): TrocoError | null {
  if (request.rawHeaders.length > HEADERS_MAX * 2) return refuse('headers_too_large')
  const target = targetOf(request)
  if (target === null) return refuse('malformed_request')
  request.url = target
  const { cookie } = request.headers
  if (cookie !== undefined) request.headers.cookie = pickOwnCookies(cookie)
  const start = target.indexOf('?') + 1
  if (start === 0) return null
  const query = target.slice(start, start + QUERY_BYTES_MAX + 1)
  const isLong = query.length > QUERY_BYTES_MAX || query.split('&').length > QUERY_PAIRS_MAX
  return isLong ? refuse('uri_too_long') : null
}

export function refusePageRequest(request: IncomingMessage, path: string): PageRefusal | null {
  const { method = '', headers } = request
  // Next resolves dot segments, so such a path would reach the API without the front's checks.
  if (hasDotSegments(path)) return MALFORMED
  // Next and next-auth would decode or ignore the rest, past the limits of sign-ins.
  if (path.startsWith(AUTH_FOLDER) && !AUTH_PATH.test(path)) return MALFORMED
  // Next responds 500 or logs an error. Public pages treat such a path as an unknown one.
  const isPublic = PUBLIC_FOLDERS.some(folder => path.startsWith(`/${folder}/`))
  if (path.length > PAGE_PATH_MAX && !isPublic)
    return { error: refuse('uri_too_long'), reason: 'long' }
  const isReadable = isPublic || decodePath(path) !== null
  if (!isReadable || path === ERROR_PAGE || !isRouterRequest(headers)) return MALFORMED

  const isRead = method === 'GET' || method === 'HEAD'
  if (!isRead && !(method === 'POST' && path.startsWith(AUTH_FOLDER))) {
    return { error: refuse('method_not_allowed', { allow: 'GET, HEAD' }) }
  }
  // A body of unknown length could be stopped only after Next has begun to read it.
  if (headers['transfer-encoding'] !== undefined) {
    return { error: refuse('length_required'), headers: CLOSE }
  }
  if (Number(headers['content-length'] ?? 0) > FORM_BYTES_MAX) {
    return { error: refuse('payload_too_large'), headers: CLOSE }
  }
  // next-auth fails on malformed JSON, and no page sends any.
  if (!isRead && !FORM_TYPE.test(headers['content-type'] ?? FORM)) {
    return { error: refuse('form_required') }
  }
  return null
}

const PUBLIC_FILES = new Set(readdirSync('public').map(name => `/${name}`))

/** Paths of files, which cost Next no rendering; a page loads dozens of them at once. */
export function isFilePath(path: string): boolean {
  return /^\/(_next\/static|docs\/assets)\//.test(path) || PUBLIC_FILES.has(path)
}

/** Next serves this page of its own under its name, with status 500. */
const ERROR_PAGE = '/_global-error'

/** Returns whether the headers of Next's client-side navigation have the form that it sends. */
function isRouterRequest(headers: IncomingHttpHeaders): boolean {
  // Other kinds of prefetch need `cacheComponents`; without it, Next logs an error of the page.
  const { [PREFETCH]: prefetch = '1' } = headers
  return prefetch === '1' && hasValidRouterState(headers)
}

const PREFETCH = 'next-router-prefetch'
/** Next parses this header and fails on any other content. */
const ROUTER_STATE = 'next-router-state-tree'
const PARAMETER_TYPES = ['c', 'oc', 'd', 'ci', 'di'].flatMap(type =>
  type.endsWith('i') ? ['(..)(..)', '(.)', '(..)', '(...)'].map(dots => type + dots) : type,
)
const segment = z.union([
  z.string(),
  z.tuple([z.string(), z.string(), z.enum(PARAMETER_TYPES), z.array(z.string()).nullable()]),
])
/** Maximum nesting of a router state: pages have 8. Next takes 100 ms and responds 500 to 1,500. */
const ROUTER_STATE_DEPTH_MAX = 16

/** Equals the schema of the installed Next up to this depth; guard.test.ts compares them. */
function buildRouterState(depth: number): z.ZodType {
  const inner = depth === 1 ? z.never() : buildRouterState(depth - 1)
  return z.tuple([
    segment,
    z.record(z.string(), inner),
    z.tuple([z.string(), z.string()]).nullish(),
    z.enum(['refetch', 'inside-shared-layout', 'metadata-only']).nullish(),
    z.number().nullish(),
    z.string().optional(),
  ])
}
const routerState = buildRouterState(ROUTER_STATE_DEPTH_MAX)

export function hasValidRouterState(headers: IncomingHttpHeaders): boolean {
  const text = headers[ROUTER_STATE]
  if (text === undefined) return true
  try {
    return routerState.safeParse(JSON.parse(decodeURIComponent(String(text)))).success
  } catch {
    return false
  }
}

const HOST = /^(\[[\da-f:.]{2,45}\]|[\w.~-]{1,255})(:\d{1,5})?$/i
/** Scheme and authority of a target in absolute form. The path stays as sent: parsing would resolve its dots. */
const AUTHORITY = /^https?:\/\/[^/?#\\]{1,300}(?=[/?]|$)/i

/** Returns path and query of a request; null if the request is not acceptable. */
function targetOf(request: IncomingMessage): string | null {
  const target = request.url ?? ''
  // Only HTTP/1.x. HTTP/1.1 requires one Host header; HTTP/1.0 does not.
  if (request.httpVersionMajor !== 1 || countHosts(request) > 1) return null
  if (request.httpVersion === '1.1' && !HOST.test(request.headers.host ?? '')) return null
  if (target.startsWith('/')) return target
  if (!AUTHORITY.test(target)) return null
  const rest = target.replace(AUTHORITY, '')
  return rest.startsWith('/') ? rest : `/${rest}`
}

/** Node uses the first of several, and a proxy perhaps the last. */
function countHosts({ rawHeaders }: IncomingMessage): number {
  let count = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]
    if (name?.length === 4 && name.toLowerCase() === 'host') count++
  }
  return count
}

/** Returns whether a segment of the path is `.` or `..`, also percent-encoded. */
export function hasDotSegments(path: string): boolean {
  return /\/(\.|%2e){1,2}(\/|$)/i.test(path)
}

/** A client that stops reading holds its response, up to 256 KiB of a list, in memory. */
export const UNREAD_TIMEOUT_MS = 20_000
/** Checks per timeout. Counting checks, not time, ignores a suspended or busy process. */
const CHECKS = 20

interface Progress {
  sent: number
  queued: number
  checksWithout: number
}

/**
 * Closes connections that accept no bytes for `timeoutMs` although data waits to be sent. Idle live
 * streams have no waiting data. `socket.setTimeout` would count received bytes as progress.
 */
export function cutUnreadResponses(server: Server, timeoutMs = UNREAD_TIMEOUT_MS): void {
  const connections = new Map<Socket, Progress>()
  server.on('connection', socket => {
    connections.set(socket, { sent: 0, queued: 0, checksWithout: 0 })
    socket.once('close', () => connections.delete(socket))
  })
  const timer = setInterval(() => {
    for (const [socket, progress] of connections) {
      if (hasProgress(socket, progress)) progress.checksWithout = 0
      else if (++progress.checksWithout >= CHECKS) cut(socket)
    }
  }, timeoutMs / CHECKS)
  timer.unref()
  server.once('close', () => clearInterval(timer))
}

/** Returns whether data was sent since the last check, or none waits. */
function hasProgress(socket: Socket, progress: Progress): boolean {
  const sent = socket.bytesWritten - socket.writableLength
  const queued = queuedBytes(socket)
  const hasMoved = sent !== progress.sent || queued !== progress.queued
  Object.assign(progress, { sent, queued })
  return hasMoved || (socket.writableLength === 0 && queued === 0)
}

/** Returns the part of the current write that the kernel has not accepted, as Node's time-outs do. */
function queuedBytes(socket: Socket): number {
  return (socket as { _handle?: { writeQueueSize?: number } | null })._handle?.writeQueueSize ?? 0
}

/** Resets the connection: a normal close would leave the data in the kernel's buffers. */
function cut(socket: Socket): void {
  log().info(
    { unreadBytes: socket.writableLength },
    'closed a connection whose client did not read',
  )
  socket.resetAndDestroy()
}
