import { once } from 'node:events'
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http'
import type { Duplex } from 'node:stream'
import { GENERAL_PROBLEMS } from '#lib/api-pix/problem.ts'
import {
  isDatabaseUnavailable,
  parseDatabaseError,
  refuse,
  type TrocoError,
} from '#lib/core/errors.ts'
import { Invariant } from '#lib/core/invariant.ts'
import { env } from '#lib/core/settings.ts'
import { db } from '#lib/db/client.ts'
import { findClockFault } from '#lib/db/clock.ts'
import { listMigrations } from '#lib/db/migrate.ts'
import { announceShutdown } from '#lib/db/wake.ts'
import {
  closeAfterDelay,
  inviteBody,
  noteExpectation,
  sendResponse,
  serveApi,
} from '#lib/http/api.ts'
import { isBankNotice, serveBankNotice } from '#lib/http/bank-notices.ts'
import { loadBuiltFiles } from '#lib/http/built-files.ts'
import { compressWhenWritten } from '#lib/http/compression.ts'
import type { HttpResponse } from '#lib/http/exchange.ts'
import {
  admitRequest,
  cutUnreadResponses,
  hasDotSegments,
  isFilePath,
  refuseBusyAddress,
  refusePageRequest,
} from '#lib/http/guard.ts'
import {
  addContentPolicy,
  identifySender,
  type Sender,
  securityHeaders,
  setTrustedHeaders,
} from '#lib/http/headers.ts'
import { measureResponse, nameRoute } from '#lib/http/metrics.ts'
import { RECEIPT_KEYS_ROUTE } from '#lib/http/public-pages.ts'
import { type FileHandler, serveReference } from '#lib/http/reference.ts'
import { buildPageRefusal } from '#lib/http/refusal-page.ts'
import {
  codeHeaders,
  type ErrorFormat,
  errorResponse,
  json,
  refusalResponse,
} from '#lib/http/response.ts'
import {
  isApiPixPath,
  loadApiRoutes,
  loadPublicRoutes,
  loadRoutes,
  matchRoute,
  PUBLIC_FOLDERS,
} from '#lib/http/routes.ts'
import { isSignIn, renderInTurn, serveSignIn } from '#lib/http/turns.ts'
import { RECEIPT_KEYS_PATH } from '#lib/payer/receipt.ts'

type NextHandler = (request: IncomingMessage, response: ServerResponse) => Promise<void>

const REQUEST_TIMEOUT_MS = 10_000
/** Interval of Node's check for timed-out requests; its default is 30 s. */
const TIMEOUT_CHECK_MS = 1_000
/** Longer than the usual 60 s of a proxy, so that the proxy always closes the connection first. */
const KEEP_ALIVE_MS = 65_000
const HEADER_BYTES_MAX = 32 * 1024

interface FrontOptions {
  isDevelopment?: boolean
  unreadTimeoutMs?: number
  /** Folder of the built pages, whose files the front serves. */
  buildFolder?: string
}

/** Serves /api and public pages itself; Next, which gets the other paths, costs about 20 times as much. */
export async function createFront(
  nextHandler: NextHandler,
  { isDevelopment = false, unreadTimeoutMs, buildFolder }: FrontOptions = {},
): Promise<Server> {
  const builtFiles = await loadBuiltFiles(buildFolder)
  const isStopping = () => isDraining(server)
  const handleRequest = await createHandler(nextHandler, builtFiles, { isDevelopment, isStopping })
  const { TRUST_PROXY } = env()
  const serve = (request: IncomingMessage, response: ServerResponse) => {
    if (isStopping()) response.shouldKeepAlive = false
    const sender = beginResponse(request, response, TRUST_PROXY)
    handleRequest(request, response, sender).catch(error => {
      const refusal = errorResponse(error, formatOf(pathOf(request)), sender.requestId)
      if (response.headersSent) response.destroy()
      else sendResponse(response, refusal)
    })
  }
  const server = createServer(
    {
      requestTimeout: REQUEST_TIMEOUT_MS,
      headersTimeout: REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: TIMEOUT_CHECK_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      maxHeaderSize: HEADER_BYTES_MAX,
      // A request without Host is refused in the front, with a JSON body.
      requireHostHeader: false,
      // Next would respond to WebSocket upgrades; only its reload in development needs them.
      shouldUpgradeCallback: () => isDevelopment,
    },
    serve,
  )
  cutUnreadResponses(server, unreadTimeoutMs)
  server.on('clientError', refuseInvalidHttp)
  server.on('connect', (_request, socket) => refuseAndClose(socket, refuse('malformed_request')))
  // Without this listener, Node asks for the body before any check.
  server.on('checkContinue', (request, response) => {
    noteExpectation(request, response)
    serve(request, response)
  })
  server.on('checkExpectation', (request, response) => {
    const sender = beginResponse(request, response, TRUST_PROXY)
    const refusal = refuse('expectation_failed')
    const format = formatOf(pathOf(request))
    sendResponse(response, refusalResponse(refusal, format, sender.requestId), sender)
  })
  return server
}

function beginResponse(
  request: IncomingMessage,
  response: ServerResponse,
  trustedHops: number,
): Sender {
  // Node would read the rest of a body that nobody reads, for up to 10 s.
  if (mayHaveBody(request))
    response.on('prefinish', () => request.complete || closeAfterDelay(request))
  const sender = identifySender(request, trustedHops)
  measureResponse(request, response, sender.requestId)
  return sender
}

function mayHaveBody({ headers }: IncomingMessage): boolean {
  return headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined
}

type Files = Map<string, FileHandler>

interface HandlerOptions {
  isDevelopment: boolean
  isStopping: () => boolean
}

type Handler = (request: IncomingMessage, response: ServerResponse, sender: Sender) => Promise<void>

/** A request on its way through the table of routes. */
interface Visit {
  request: IncomingMessage
  response: ServerResponse
  sender: Sender
  /** Without query, repeated slashes and trailing slash. */
  path: string
  sentPath: string
  serveFile: FileHandler | undefined
}

interface FrontRoute {
  matches: (visit: Visit) => boolean
  /** Pages and files: they count toward the limit of their address, and odd requests are refused. */
  isPage?: boolean
  serve: (visit: Visit) => Promise<void> | void
}

async function createHandler(
  nextHandler: NextHandler,
  builtFiles: Files,
  options: HandlerOptions,
): Promise<Handler> {
  const { routes, files } = await createRoutes(nextHandler, builtFiles, options)
  return async (request, response, sender) => {
    const refused = admitRequest(request)
    const sentPath = stripQuery(request.url)
    const path = pathOf(request)
    if (refused)
      return sendResponse(response, buildFirstRefusal(refused, request, path, sender), sender)
    const visit = {
      request,
      response,
      sender,
      path,
      sentPath,
      serveFile: files.get(path),
    }
    const route = routes.find(({ matches }) => matches(visit))
    const refusal = route?.isPage ? await refusePage(visit, builtFiles, options) : null
    if (refusal) return sendResponse(response, buildPageRefusal(refusal, request.headers), sender)
    return route?.serve(visit)
  }
}

/** Returns the routes in the order in which they are tried; the last one matches everything. */
async function createRoutes(
  nextHandler: NextHandler,
  builtFiles: Files,
  { isDevelopment, isStopping }: HandlerOptions,
): Promise<{ routes: FrontRoute[]; files: Files }> {
  const apiRoutes = await loadApiRoutes()
  const publicRoutes = await loadPublicRoutes()
  const files = new Map([
    ...builtFiles,
    ...(await serveReference(await loadRoutes(), env().PUBLIC_URL)),
  ])
  const passToNext = createPassage(nextHandler, isDevelopment)
  const serveNext = ({ request, response, sender }: Visit) =>
    passToNext(request, response, sender, 'page')

  const serveApiPath = async ({ request, response, sender, path }: Visit) => {
    const apiPath = path.slice('/api'.length)
    const known = matchRoute(apiRoutes, apiPath)
    // In development, a route may have been added after startup.
    const match = known ?? (isDevelopment ? matchRoute(await loadApiRoutes(true), apiPath) : null)
    if (!match) return sendResponse(response, refuseUnknownPath(path, sender), sender)
    const hasMethod = match.handlers.has(request.method ?? '')
    return isDevelopment && hasMethod && !hasDotSegments(path)
      ? passToNext(request, response, sender, 'api', match.route)
      : serveApi(request, response, match, sender)
  }

  const servePublicPath = ({ request, response, sender, path }: Visit) => {
    const isKeys = path === RECEIPT_KEYS_PATH
    const match = isKeys ? RECEIPT_KEYS_ROUTE : matchRoute(publicRoutes, path)
    if (match && !isKeys && isDevelopment) return passToNext(request, response, sender, 'public')
    // A path that cannot be decoded or has more segments matches nothing, like an unknown id.
    const shown = match ?? matchRoute(publicRoutes, `/${path.split('/')[1]}/none`)
    if (!shown) throw new Invariant(`no public page serves ${path.split('/')[1]}`)
    // A page for anyone holds no secret.
    compressWhenWritten(request, response)
    return serveApi(request, response, shown, sender)
  }

  const routes: FrontRoute[] = [
    // Proxies limit who may send to this path, so only the spelling that they see is served.
    {
      matches: ({ path }) => isBankNotice(path),
      serve: ({ request, response, sender, sentPath }) =>
        serveBankNotice(request, response, sentPath, sender),
    },
    { matches: ({ path, serveFile }) => isApiPath(path) && !serveFile, serve: serveApiPath },
    {
      matches: ({ path }) => path === '/healthz',
      serve: ({ response, sender }) => sendResponse(response, json(200, { status: 'ok' }), sender),
    },
    {
      matches: ({ path }) => path === '/readyz',
      serve: ({ response, sender }) => serveReadiness(response, sender, isStopping()),
    },
    { matches: ({ path }) => isPublicPath(path), isPage: true, serve: servePublicPath },
    {
      matches: ({ request, path }) => isSignIn(request, path),
      isPage: true,
      serve: visit =>
        serveSignIn(visit.request, visit.response, visit.sender, () => serveNext(visit)),
    },
    {
      matches: ({ serveFile }) => serveFile !== undefined,
      isPage: true,
      serve: ({ request, response, sender, serveFile }) => {
        setCommonHeaders(response, sender, 'files')
        return serveFile?.(request, response)
      },
    },
    {
      matches: () => true,
      isPage: true,
      serve: async visit => {
        const { request, response, sender, path } = visit
        const client = isFilePath(path) || isDevelopment ? null : sender.address
        const late = await renderInTurn(request, response, client, () => serveNext(visit))
        if (late) sendResponse(response, late, sender)
      },
    },
  ]
  return { routes, files }
}

async function refusePage(
  { request, sender, path, serveFile }: Visit,
  builtFiles: Files,
  { isDevelopment }: HandlerOptions,
) {
  const isFree = builtFiles.has(path) || isPublicPath(path) || isFilePath(path)
  const busy = isFree ? null : await refuseBusyAddress(sender.address)
  if (busy) return busy
  return isDevelopment && !serveFile ? null : refusePageRequest(request, path)
}

async function serveReadiness(
  response: ServerResponse,
  sender: Sender,
  isStopping: boolean,
): Promise<void> {
  const { status, body } = await checkReadiness(isStopping)
  const headers = status === 503 ? codeHeaders('service_unavailable') : {}
  sendResponse(response, json(status, body, headers), sender)
}

/** Returns a function that passes a request to Next: a page or, in development, any route. */
function createPassage(nextHandler: NextHandler, isDevelopment: boolean) {
  const publicUrl = new URL(env().PUBLIC_URL)
  return (
    request: IncomingMessage,
    response: ServerResponse,
    sender: Sender,
    kind: 'page' | 'api' | 'public',
    route = '',
  ): Promise<void> => {
    setCommonHeaders(response, sender, route || kind)
    setTrustedHeaders(request, sender, publicUrl, kind !== 'page', route)
    // Next keeps a header that is already set, but public pages have a stricter policy.
    if (kind === 'public') response.removeHeader('referrer-policy')
    if (kind === 'page') {
      response.setHeader('content-security-policy', addContentPolicy(request, isDevelopment))
      // What next-auth sends holds the CSRF token.
      const isPage = !request.url?.startsWith('/api/')
      if (isPage && !isDevelopment) compressWhenWritten(request, response)
    }
    inviteBody(request)
    return nextHandler(request, response)
  }
}

function setCommonHeaders(response: ServerResponse, { requestId }: Sender, route: string): void {
  nameRoute(response, route)
  response.setHeader('x-request-id', requestId)
  for (const [name, value] of Object.entries(securityHeaders())) response.setHeader(name, value)
}

/** Returns the path without query, repeated slashes and trailing slash. */
function pathOf(request: IncomingMessage): string {
  const [path = '/', ...query] = (request.url ?? '/').split('?')
  if (path === '/' || !/\/$|.\/\//.test(path)) return path
  const normalized = path.replace(/(?<=.)\/{2,}/g, '/').replace(/\/$/, '') || '/'
  if (isApiPath(normalized) || isPublicPath(normalized))
    request.url = [normalized, ...query].join('?')
  return normalized
}

/** Path as sent, without its query and one trailing slash. */
function stripQuery(target = ''): string {
  const path = target.split('?', 1)[0] ?? ''
  return path.endsWith('/') && !path.endsWith('//') ? path.slice(0, -1) : path
}

function buildFirstRefusal(
  error: TrocoError,
  { headers }: IncomingMessage,
  path: string,
  { requestId }: Sender,
): HttpResponse {
  return isApiPath(path) || error.code === 'malformed_request'
    ? refusalResponse(error, formatOf(path), requestId)
    : buildPageRefusal({ error, reason: 'long' }, headers)
}

/** Everything that API Pix has and Troco does not is as if the contract left it out. */
function refuseUnknownPath(path: string, { requestId }: Sender): HttpResponse {
  const isOfApiPix = path.startsWith('/api/pix/v2/')
  const error = isOfApiPix ? refuse('not_in_contract') : refuse('not_found')
  return refusalResponse(error, formatOf(path), requestId)
}

/** Form of a refusal before the route of a path is known. */
function formatOf(path: string): ErrorFormat {
  const isApi = path.startsWith('/api/')
  return isApi && isApiPixPath(path.slice('/api'.length)) ? GENERAL_PROBLEMS : 'field_messages'
}

function isApiPath(path: string): boolean {
  return (path === '/api' || path.startsWith('/api/')) && !path.startsWith('/api/auth/')
}

/** Returns whether the front serves the path to anyone and counts it itself. */
function isPublicPath(path: string): boolean {
  return path === RECEIPT_KEYS_PATH || PUBLIC_FOLDERS.some(folder => path.startsWith(`/${folder}/`))
}

interface Health {
  status: 200 | 503
  body: { status: 'ok' } | { status: 'unavailable'; reason: string }
}

let runningCheck: Promise<Health> | undefined

/**
 * 200: this process can serve requests: it is not stopping, the database is reachable and migrated, and
 * its clock is not the only wrong one. A worker that is missing takes no process out of service; the
 * health page reports it. Probes have no rate limit, so those that arrive during a check share its result.
 */
export async function checkReadiness(isDraining: boolean): Promise<Health> {
  if (isDraining) return unavailable('the process is stopping')
  runningCheck ??= runCheck().finally(() => {
    runningCheck = undefined
  })
  return runningCheck
}

const unavailable = (reason: string): Health => ({
  status: 503,
  body: { status: 'unavailable', reason },
})

async function runCheck(): Promise<Health> {
  const reason = await findUnreadyReason().catch(describeFault)
  return reason === null ? { status: 200, body: { status: 'ok' } } : unavailable(reason)
}

async function findUnreadyReason(): Promise<string | null> {
  const [row] = await db().$queryRaw<{ applied: string[] | null }[]>`
    SELECT array_agg(migration_name) AS applied FROM _prisma_migrations
    WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL`
  const applied = new Set(row?.applied ?? [])
  const missing = listMigrations().filter(name => !applied.has(name))
  return missing.length > 0 ? `migrations are pending: ${missing.join(', ')}` : findClockFault()
}

function describeFault(error: unknown): string {
  const code = parseDatabaseError(error).code
  if (code === '42P01') return 'the database has not been migrated'
  if (isDatabaseUnavailable(error)) return 'the database is unreachable'
  return 'the database returned an unexpected error'
}

const CLOSE_DELAY_MS = 500

/** Responds in JSON to input that is not valid HTTP, then closes the connection. */
export function refuseInvalidHttp(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return
  if (error.code === 'HPE_HEADER_OVERFLOW') {
    refuseAndClose(socket, refuse('headers_too_large'))
  } else if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    refuseAndClose(socket, refuse('request_timeout'))
  } else {
    refuseAndClose(socket, refuse('malformed_request'))
  }
}

export function refuseAndClose(socket: Duplex, error: TrocoError): void {
  const { status, headers, text } = refusalResponse(error)
  const lines = Object.entries({
    ...headers,
    'content-length': Buffer.byteLength(text),
    connection: 'close',
    ...securityHeaders(),
  }).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${text}`)
  // A caller that never closes its side would hold the connection open forever.
  setTimeout(() => socket.destroy(), CLOSE_DELAY_MS).unref()
}

/** Time limit for open requests at the end; then their connections are closed. */
const CLOSE_MAX_MS = 4_000

const draining = new WeakSet<Server>()

/** Returns whether the server is about to stop: it still serves, but is not ready. */
export function isDraining(server: Server): boolean {
  return draining.has(server)
}

/**
 * Serves until `noticed`, when balancers have seen that the server is not ready, then lets open
 * requests end and closes it.
 */
export async function drain(server: Server, noticed: Promise<unknown>): Promise<void> {
  draining.add(server)
  await noticed
  announceShutdown()
  const closed = once(server, 'close')
  server.close()
  server.closeIdleConnections()
  const cutTimer = setTimeout(() => server.closeAllConnections(), CLOSE_MAX_MS)
  await closed
  clearTimeout(cutTimer)
}
