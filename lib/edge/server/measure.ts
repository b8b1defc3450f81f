import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { increment, observe } from '#lib/base/metrics.ts'
import { MODES } from '#lib/base/mode.ts'

/** The code of nginx for a response that could not be begun. */
const CLIENT_DISCONNECTED = 499
/** All others, which no route serves, count as `other`: a label has few values. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

const PROBES = ['/healthz', '/readyz']

interface Measured {
  method: string
  route: string
  mode: string
  began: number
}
const measured = new WeakMap<ServerResponse, Measured>()

/** Counts the response and its duration when it ends, under the name of its route. */
export function measureResponse(request: IncomingMessage, response: ServerResponse): void {
  const { method = '', url = '', headers } = request
  measured.set(response, {
    method: METHODS.includes(method) ? method : 'other',
    route: PROBES.includes(url) ? url : 'none',
    mode: readMode(headers),
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
  const { method, route, mode, began } = entry
  const code = response.headersSent ? response.statusCode : CLIENT_DISCONNECTED
  increment('troco_http_requests_total', [route, method, String(code), mode])
  observe('troco_http_request_seconds', [route, method], (performance.now() - began) / 1_000)
}

/** Returns the mode that the token, or else the header of the dashboard, claims; empty without one. */
function readMode(headers: IncomingHttpHeaders): string {
  const claimed = /^Bearer +troco_([a-z]+)_/i.exec(headers.authorization ?? '')?.[1]
  return MODES.find(mode => mode === (claimed ?? headers['troco-mode'])) ?? ''
}
