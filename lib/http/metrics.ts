import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { setupError } from '#lib/core/errors.ts'
import { type LogContext, log, logRequest } from '#lib/core/log.ts'
import { increment, observe, type Reading, renderMetrics } from '#lib/core/metrics.ts'
import { MODES } from '#lib/core/mode.ts'
import { env } from '#lib/core/settings.ts'
import { pool } from '#lib/db/client.ts'
import { DATABASE_DOWN, readDatabaseMetrics } from '#lib/operator/metrics.ts'

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
const MEASURED = Symbol('measured')
/** A property, because a map would be searched several times for each request. */
type MeasuredResponse = ServerResponse & { [MEASURED]?: Measured | undefined }

/** Counts and logs the response and its duration when it ends, under the name of its route. */
export function measureResponse(
  request: IncomingMessage,
  response: ServerResponse,
  requestId: string,
): void {
  const { method = '', url = '', headers } = request
  const entry: Measured = {
    method: METHODS.includes(method) ? method : 'other',
    route: PROBES.includes(url) ? url : 'none',
    mode: readMode(headers),
    began: performance.now(),
    context: { requestId },
    code: undefined,
    isStream: false,
  }
  ;(response as MeasuredResponse)[MEASURED] = entry
  response.on('close', () => endResponse(response))
}

function measuredOf(response: MeasuredResponse): Measured | undefined {
  return response[MEASURED]
}

export function logContextOf(response: ServerResponse): LogContext {
  return measuredOf(response)?.context ?? {}
}

/** Notes the error code of a response, which node:http does not return from the headers that it sent. */
export function noteCode(response: ServerResponse, code: string | undefined): void {
  const entry = measuredOf(response)
  if (entry) entry.code = code
}

/** Sets the name of the route: a template of the path, or a kind of pages. */
export function nameRoute(response: ServerResponse, route: string): void {
  const entry = measuredOf(response)
  if (entry) entry.route = route
}

/** Counts a stream when it begins, because its length is no latency, and logs its begin and its end. */
export function beginStream(response: ServerResponse): void {
  const entry = measuredOf(response)
  if (!entry) return
  entry.isStream = true
  countResponse(response, entry)
  logResponse(response, entry, 'stream began')
}

function endResponse(response: ServerResponse): void {
  const entry = measuredOf(response)
  if (!entry) return
  ;(response as MeasuredResponse)[MEASURED] = undefined
  if (!entry.isStream) countResponse(response, entry)
  logResponse(response, entry, entry.isStream ? 'stream ended' : 'request completed')
}

function countResponse(response: ServerResponse, { method, route, mode, began }: Measured): void {
  increment('troco_http_requests_total', [route, method, String(statusOf(response)), mode])
  observe('troco_http_request_seconds', [route, method], (performance.now() - began) / 1_000)
}

function logResponse(
  response: ServerResponse,
  { method, route, mode, began, context, code = headerText(response, 'x-error-code') }: Measured,
  message: Parameters<typeof logRequest>[2],
): void {
  const tookMs = Math.round((performance.now() - began) * 10) / 10
  const status = statusOf(response)
  const fields = { method, route, status, code, mode: mode || undefined, tookMs }
  logRequest(context, fields, message, PROBES.includes(route) ? 'debug' : 'info')
}

function headerText(response: ServerResponse, name: string): string | undefined {
  const value = response.getHeader(name)
  return value === undefined ? undefined : String(value)
}

function statusOf(response: ServerResponse): number {
  return response.headersSent ? response.statusCode : CLIENT_DISCONNECTED
}

/** Returns the mode that the token, or else the header of the dashboard, claims; empty without one. */
function readMode(headers: IncomingHttpHeaders): string {
  const claimed = /^Bearer +troco_([a-z]+)_/i.exec(headers.authorization ?? '')?.[1]
  return MODES.find(mode => mode === (claimed ?? headers['troco-mode'])) ?? ''
}

/** A reading takes 0.1 s or more with 100,000 accounts, and each process has its own. */
const READ_AGAIN_MS = 30_000
/** Below the usual 10 s limit of a scrape: without the database, the rest is still served. */
const DATABASE_MAX_MS = 4_000
const REQUEST_TIMEOUT_MS = 10_000
const LAG_RESOLUTION_MS = 50
type EventLoopDelay = ReturnType<typeof monitorEventLoopDelay>

const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/**
 * Serves /metrics of this process at a port of its own, if METRICS_PORT is set. Returns a function
 * that ends it. Call it after the database has been opened.
 */
export async function startMetrics(): Promise<() => void> {
  const { METRICS_PORT: port, METRICS_HOST: host } = env()
  if (port === undefined) return () => {}
  const lag = monitorEventLoopDelay({ resolution: LAG_RESOLUTION_MS })
  const scrape = createScrape(lag)
  const server = createServer({ requestTimeout: REQUEST_TIMEOUT_MS }, (request, response) => {
    serve(request, response, scrape).catch(error => {
      log().error({ err: error }, 'scrape of metrics failed')
      response.destroy()
    })
  })
  await listen(server, port, host)
  // A command that fails must end.
  server.unref()
  lag.enable()
  log().info({ port, address: host }, 'metrics listening')
  return () => {
    lag.disable()
    server.close()
    server.closeAllConnections()
  }
}

async function listen(server: Server, port: number, host: string): Promise<void> {
  server.listen(port, host)
  await once(server, 'listening').catch((error: NodeJS.ErrnoException) => {
    throw setupError(
      `Listening on METRICS_HOST ${host}, METRICS_PORT ${port} failed (${error.code}): each process on a machine needs a port of its own`,
    )
  })
}

async function serve(
  { method = '', url = '' }: IncomingMessage,
  response: ServerResponse,
  scrape: () => Promise<string>,
): Promise<void> {
  if (url.split('?')[0] !== '/metrics') response.writeHead(404).end('Metrics are at /metrics\n')
  else if (method !== 'GET' && method !== 'HEAD') response.writeHead(405, { allow: 'GET' }).end()
  else response.writeHead(200, { 'content-type': CONTENT_TYPE }).end(await scrape())
}

/** Scrapes at the same time, or soon after each other, share what was read from the database. */
function createScrape(lag: EventLoopDelay): () => Promise<string> {
  let reading: Promise<Reading[]> | null = null
  let read: Reading[] = []
  let readAt = Number.NEGATIVE_INFINITY
  const readAgain = async () => {
    read = await readDatabaseMetrics()
    if (read !== DATABASE_DOWN) readAt = performance.now()
    return read
  }
  const readDatabase = () => {
    if (performance.now() - readAt < READ_AGAIN_MS) return read
    reading ??= readAgain().finally(() => {
      reading = null
    })
    return Promise.race([reading, sleep(DATABASE_MAX_MS, DATABASE_DOWN, { ref: false })])
  }
  return async () => renderMetrics([...(await readDatabase()), ...readProcess(lag)])
}

const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
const startedAt = Date.now() / 1_000 - process.uptime()

/** Names beginning with process_ are those that all libraries of Prometheus use. */
function readProcess(lag: EventLoopDelay): Reading[] {
  const { inUse, idle, waiting } = pool().use
  const { rss, heapUsed } = process.memoryUsage()
  const { user, system } = process.cpuUsage()
  const lagMs = Math.max(0, lag.max / 1e6 - LAG_RESOLUTION_MS)
  lag.reset()
  return [
    { name: 'troco_build_info', labels: [version, process.versions.node], value: 1 },
    { name: 'troco_database_pool_connections', labels: ['in_use'], value: inUse },
    { name: 'troco_database_pool_connections', labels: ['idle'], value: idle },
    { name: 'troco_database_pool_waiting', value: waiting },
    { name: 'process_start_time_seconds', value: startedAt },
    { name: 'process_cpu_seconds_total', value: (user + system) / 1e6 },
    { name: 'process_resident_memory_bytes', value: rss },
    { name: 'troco_heap_used_bytes', value: heapUsed },
    { name: 'troco_event_loop_lag_seconds', value: lagMs / 1_000 },
  ]
}
