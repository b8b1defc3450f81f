import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { getRequestListener } from '@hono/node-server'
import { env } from '#lib/env.ts'
import { json } from '#lib/http/answer.ts'
import { refuseMethod } from '#lib/http/endpoint.ts'
import { log } from '#lib/log.ts'
import { refusePageRequest, targetOf } from '#lib/server/guard.ts'
import { addContentPolicy, SECURITY_HEADERS, settleHeaders } from '#lib/server/headers.ts'
import { checkReadiness } from '#lib/server/health.ts'
import { loadRoutes, type Match, matchRoute } from '#lib/server/routes.ts'

type Pages = (request: IncomingMessage, response: ServerResponse) => Promise<void>

const REQUEST_TIMEOUT_MS = 10_000
/** Node looks for those that are over their time only so often: every 30 s, unless told. */
const TIMEOUT_CHECK_MS = 1_000
/** Longer than the usual 60 s of a proxy, so that it is never us who hangs up first. */
const KEEP_ALIVE_MS = 65_000
const HEADER_BYTES_MAX = 32 * 1024

/**
 * The one server on the one port. It answers under /api itself, through the functions that the
 * route modules export, and hands every other address to Next: Next's own way to a route handler
 * costs about twenty times as much.
 */
export async function createFront(pages: Pages, development = false): Promise<Server> {
  const routes = await loadRoutes()
  const { API_LANE, TRUST_PROXY, PUBLIC_URL } = env()
  const publicUrl = new URL(PUBLIC_URL)
  const fast = API_LANE === 'fast' && !development
  const matches = new WeakMap<IncomingMessage, Match>()
  const answerApi = getRequestListener(
    (request, { incoming }) => callHandler(request, matches.get(incoming as IncomingMessage)),
    { overrideGlobalObjects: false, hostname: publicUrl.host },
  )

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.setHeader('x-request-id', settleHeaders(request, TRUST_PROXY, publicUrl))
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) response.setHeader(name, value)
    const target = targetOf(request)
    if (target === null) return send(response, json(400, { error: 'Malformed request' }))
    request.url = target
    const path = pathOf(request)
    if (path === '/healthz') return send(response, json(200, { status: 'ok' }))
    if (path === '/readyz') {
      const { status, body } = await checkReadiness()
      return send(response, json(status, body))
    }
    if (isApi(path)) {
      const match = matchRoute(routes, path.slice('/api'.length))
      if (!match) return send(response, json(404, { error: 'Not found' }))
      if (!fast && match.handlers.has(request.method ?? '')) return pages(request, response)
      matches.set(request, match)
      await answerApi(request, response)
      return
    }
    const refusal = development ? null : refusePageRequest(request, path)
    if (refusal) {
      return send(response, json(refusal.status, { error: refusal.error }, refusal.headers))
    }
    response.setHeader('content-security-policy', addContentPolicy(request, development))
    await pages(request, response)
  }

  const server = createServer(
    {
      requestTimeout: REQUEST_TIMEOUT_MS,
      headersTimeout: REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: TIMEOUT_CHECK_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      maxHeaderSize: HEADER_BYTES_MAX,
      // Nothing of ours speaks WebSocket, and Next would answer for it; only its reload in dev does.
      shouldUpgradeCallback: () => development,
    },
    (request, response) => {
      answer(request, response).catch(error => {
        log().error({ err: error }, 'the front failed on a request')
        if (response.headersSent) response.destroy()
        else send(response, json(500, { error: 'Internal server error' }))
      })
    },
  )
  server.on('clientError', refuseBroken)
  return server
}

function callHandler(request: Request, match: Match | undefined): Promise<Response> {
  if (!match) throw new Error('A request without a route reached the lane')
  const handler = match.handlers.get(request.method)
  if (!handler) return refuseMethod(request, [...match.handlers.keys()].join(', '))
  return handler(request, { params: Promise.resolve(match.params) })
}

/** The path without its query and without a trailing slash. */
function pathOf(request: IncomingMessage): string {
  const [path = '/', ...query] = (request.url ?? '/').split('?')
  if (path === '/' || !path.endsWith('/')) return path
  const bare = path.replace(/\/+$/, '') || '/'
  if (isApi(bare)) request.url = [bare, ...query].join('?')
  return bare
}

function isApi(path: string): boolean {
  return (path === '/api' || path.startsWith('/api/')) && !path.startsWith('/api/auth/')
}

async function send(response: ServerResponse, answer: Response): Promise<void> {
  const body = Buffer.from(await answer.text())
  const headers = { ...Object.fromEntries(answer.headers), 'content-length': body.byteLength }
  response.writeHead(answer.status, headers)
  response.end(body)
}

/** What is not HTTP still gets an answer in JSON, and the connection ends. */
function refuseBroken(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return
  const [status, said] =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? ['431 Request Header Fields Too Large', 'Headers too large']
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? ['408 Request Timeout', 'Request timed out']
        : ['400 Bad Request', 'Malformed request']
  const body = JSON.stringify({ error: said })
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  )
}
