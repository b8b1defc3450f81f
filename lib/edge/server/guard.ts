import type { IncomingMessage } from 'node:http'

/** As much as any form of ours sends; Next itself would take whatever comes. */
const FORM_BYTES_MAX = 64 * 1024

interface Refusal {
  status: number
  error: string
  headers?: Record<string, string>
}

/** Why a request for a page or for signing in goes no further; null when it may. */
export function refusePageRequest(request: IncomingMessage, path: string): Refusal | null {
  const { method = '', headers } = request
  // Next goes where the dots lead: to the API, under a name that is not the API's.
  if (hasDots(path)) return { status: 400, error: 'Malformed request' }
  const reads = method === 'GET' || method === 'HEAD'
  if (!reads && !(method === 'POST' && path.startsWith('/api/auth/'))) {
    return { status: 405, error: 'Method not allowed', headers: { allow: 'GET, HEAD' } }
  }
  // A body of unknown length could only be stopped in the middle, when Next holds it already.
  if (headers['transfer-encoding'] !== undefined) {
    return { status: 411, error: 'Length required', headers: { connection: 'close' } }
  }
  if (Number(headers['content-length'] ?? 0) > FORM_BYTES_MAX) {
    return { status: 413, error: 'Payload too large', headers: { connection: 'close' } }
  }
  return null
}

const HOST = /^(\[[\da-f:.]+\]|[\w.~-]+)(:\d{1,5})?$/i

/** The target of a request as a path with its query; null when it is none of ours. */
export function targetOf(request: IncomingMessage): string | null {
  const target = request.url ?? ''
  // An older version has no length of an answer, and a newer one does not come as text.
  if (request.httpVersionMajor !== 1) return null
  if (request.httpVersion === '1.1' && !HOST.test(request.headers.host ?? '')) return null
  if (target.startsWith('/')) return target
  const absolute = /^https?:/i.test(target) ? URL.parse(target) : null
  return absolute && absolute.pathname + absolute.search
}

/** Whether a part of a path stands for the folder itself or the one above. */
export function hasDots(path: string): boolean {
  return /\/(\.|%2e){1,2}(\/|$)/i.test(path)
}
