import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { setupError } from '#lib/core/errors.ts'
import { log } from '#lib/core/log.ts'
import { type Reading, renderMetrics } from '#lib/core/metrics.ts'
import { env } from '#lib/core/settings.ts'
import { pool } from '#lib/db/client.ts'
import { DATABASE_DOWN, readDatabaseMetrics } from '#lib/operator/metrics.ts'

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
