import type { IncomingMessage, ServerResponse } from 'node:http'
import { increment, observe } from '#lib/base/metrics.ts'

/** The code of nginx for a response that could not be begun. */
const CLIENT_DISCONNECTED = 499
/** The parser accepts about 30 further methods, none of which is served. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

const PROBES = ['/healthz', '/readyz']

const measured = new WeakMap<ServerResponse, { method: string; route: string; began: number }>()

/** Counts the response and its duration when it ends, under the name of its route. */
export function measureResponse(request: IncomingMessage, response: ServerResponse): void {
  const { method = '', url = '' } = request
  measured.set(response, {
    method: METHODS.includes(method) ? method : 'other',
    route: PROBES.includes(url) ? url : 'none',
    began: performance.now(),
  })
  response.once('close', () => countResponse(response))
}

/** Sets the name of the route: a template of the path, or a kind of pages. */
export function nameRoute(response: ServerResponse, route: string): void {
  const entry = measured.get(response)
  if (entry) entry.route = route
}

/** Counts a response once. Called at the beginning of a stream, whose length is no latency. */
export function countResponse(response: ServerResponse): void {
  const entry = measured.get(response)
  if (!entry) return
  measured.delete(response)
  const { method, route, began } = entry
  const code = response.headersSent ? response.statusCode : CLIENT_DISCONNECTED
  increment('troco_http_requests_total', [route, method, String(code)])
  observe('troco_http_request_seconds', [route, method], (performance.now() - began) / 1_000)
}
