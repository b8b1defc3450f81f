import type { IncomingMessage } from 'node:http'

/** Request body limit for pages: the largest form is smaller; Next has no limit of its own. */
const FORM_BYTES_MAX = 64 * 1024

interface Refusal {
  status: number
  error: string
  headers?: Record<string, string>
}

/** Returns the refusal of a request for a page or a sign-in; null if the request may proceed. */
export function refusePageRequest(request: IncomingMessage, path: string): Refusal | null {
  const { method = '', headers } = request
  // Next resolves dot segments, so such a path would reach the API without the front's checks.
  if (hasDotSegments(path)) return { status: 400, error: 'Malformed request' }
  const isRead = method === 'GET' || method === 'HEAD'
  if (!isRead && !(method === 'POST' && path.startsWith('/api/auth/'))) {
    return { status: 405, error: 'Method not allowed', headers: { allow: 'GET, HEAD' } }
  }
  // A body of unknown length could be stopped only after Next has begun to read it.
  if (headers['transfer-encoding'] !== undefined) {
    return { status: 411, error: 'Length required', headers: { connection: 'close' } }
  }
  if (Number(headers['content-length'] ?? 0) > FORM_BYTES_MAX) {
    return { status: 413, error: 'Payload too large', headers: { connection: 'close' } }
  }
  return null
}

const HOST = /^(\[[\da-f:.]+\]|[\w.~-]+)(:\d{1,5})?$/i

/** Returns path and query of a request; null if the request is not acceptable. */
export function targetOf(request: IncomingMessage): string | null {
  const target = request.url ?? ''
  // Only HTTP/1.x. HTTP/1.1 requires a Host header; HTTP/1.0 does not.
  if (request.httpVersionMajor !== 1) return null
  if (request.httpVersion === '1.1' && !HOST.test(request.headers.host ?? '')) return null
  if (target.startsWith('/')) return target
  const absolute = /^https?:/i.test(target) ? URL.parse(target) : null
  return absolute && absolute.pathname + absolute.search
}

/** Returns whether a segment of the path is `.` or `..`, also percent-encoded. */
export function hasDotSegments(path: string): boolean {
  return /\/(\.|%2e){1,2}(\/|$)/i.test(path)
}
