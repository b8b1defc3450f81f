import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { type LogContext, logRequest } from '#lib/core/log.ts'
import { increment, observe } from '#lib/core/metrics.ts'
import { MODES } from '#lib/core/mode.ts'

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
  /** That of the request's other log lines. The endpoint adds the account. */
  context: LogContext
  code: string | undefined
  isStream: boolean
}
const measured = new WeakMap<ServerResponse, Measured>()

/** Counts and logs the response and its duration when it ends, under the name of its route. */
export function measureResponse(
  request: IncomingMessage,
  response: ServerResponse,
  requestId: string,
): void {
  const { method = '', url = '', headers } = request
  measured.set(response, {
    method: METHODS.includes(method) ? method : 'other',
    route: PROBES.includes(url) ? url : 'none',
    mode: readMode(headers),
    began: performance.now(),
    context: { requestId },
    code: undefined,
    isStream: false,
  })
  response.once('close', () => endResponse(response))
}

export function logContextOf(response: ServerResponse): LogContext {
  return measured.get(response)?.context ?? {}
}

/** Notes the error code of a response, which node:http does not return from the headers that it sent. */
export function noteCode(response: ServerResponse, code: string | undefined): void {
  const entry = measured.get(response)
  if (entry) entry.code = code
}

/** Sets the name of the route: a template of the path, or a kind of pages. */
export function nameRoute(response: ServerResponse, route: string): void {
  const entry = measured.get(response)
  if (entry) entry.route = route
}

/** Counts a stream when it begins, because its length is no latency, and logs its begin and its end. */
export function beginStream(response: ServerResponse): void {
  const entry = measured.get(response)
  if (!entry) return
  entry.isStream = true
  countResponse(response, entry)
  logResponse(response, entry, 'stream began')
}

function endResponse(response: ServerResponse): void {
  const entry = measured.get(response)
  if (!entry) return
  measured.delete(response)
  if (!entry.isStream) countResponse(response, entry)
  logResponse(response, entry, entry.isStream ? 'stream ended' : 'request completed')
}

function countResponse(response: ServerResponse, { method, route, mode, began }: Measured): void {
  increment('troco_http_requests_total', [route, method, String(statusOf(response)), mode])
  observe('troco_http_request_seconds', [route, method], (performance.now() - began) / 1_000)
}

function logResponse(response: ServerResponse, entry: Measured, message: string): void {
  const { method, route, mode, began, context, code = response.getHeader('x-error-code') } = entry
  const tookMs = Math.round((performance.now() - began) * 10) / 10
  const told = { method, route, status: statusOf(response), ...(code ? { code } : {}) }
  const fields = { ...told, ...(mode && { mode }), tookMs }
  logRequest(context, fields, message, PROBES.includes(route) ? 'debug' : 'info')
}

function statusOf(response: ServerResponse): number {
  return response.headersSent ? response.statusCode : CLIENT_DISCONNECTED
}

/** Returns the mode that the token, or else the header of the dashboard, claims; empty without one. */
function readMode(headers: IncomingHttpHeaders): string {
  const claimed = /^Bearer +troco_([a-z]+)_/i.exec(headers.authorization ?? '')?.[1]
  return MODES.find(mode => mode === (claimed ?? headers['troco-mode'])) ?? ''
}
