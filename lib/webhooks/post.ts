import http, { type ClientRequest, type IncomingMessage } from 'node:http'
import https from 'node:https'
import { isIP } from 'node:net'
import type { Duplex } from 'node:stream'
import { type Address, hostnameOf } from '#lib/core/addresses.ts'
import { parseRetryAfter } from '#lib/core/headers.ts'
import { Invariant } from '#lib/core/invariant.ts'
import type { Mode } from '#lib/core/mode.ts'
import type { CodeWithoutParams, DeliveryProblem } from '#lib/webhooks/problem.ts'
import { findTarget, portOf, type ResolveName, type Target } from '#lib/webhooks/target.ts'

export interface WebhookRequest {
  url: string
  mode: Mode
  headers: Record<string, string>
  body: string
}

export interface Outcome {
  status: number | null
  headers: Record<string, string> | null
  body: string | null
  problem: DeliveryProblem | null
  address: string | null
  durationMs: number
  retryAfterMs: number | null
}

interface Options {
  signal?: AbortSignal
  resolve?: ResolveName
  connectMs?: number
  totalMs?: number
}

const CONNECT_MS = 5_000
export const TOTAL_MS = 15_000
/** Minimum connect time of each of several addresses, so that a distant receiver can respond. */
const ADDRESS_CONNECT_MS_MIN = 1_000

/**
 * Sends one POST to a checked address. Never throws, follows no redirect, limits the time and
 * stores at most 8 KiB of the body. Only the status decides the outcome.
 */
export async function postWebhook(
  request: WebhookRequest,
  options: Options = {},
): Promise<Outcome> {
  const { connectMs = CONNECT_MS, totalMs = TOTAL_MS } = options
  const startedAt = performance.now()
  const controller = new AbortController()
  const interrupt = () => controller.abort(exchangeError('interrupted'))
  const timeout = new ExchangeError({ code: 'timeout', params: { seconds: totalMs / 1_000 } })
  const timer = setTimeout(() => controller.abort(timeout), totalMs)
  options.signal?.addEventListener('abort', interrupt)
  if (options.signal?.aborted) interrupt()
  try {
    return {
      ...(await attemptPost(request, controller.signal, connectMs, options.resolve)),
      ...elapsed(),
    }
  } catch (error) {
    return { ...NO_RESPONSE, problem: errorToProblem(error, request.url), ...elapsed() }
  } finally {
    clearTimeout(timer)
    options.signal?.removeEventListener('abort', interrupt)
  }

  function elapsed() {
    return { durationMs: Math.round(performance.now() - startedAt) }
  }
}

type AttemptResult = Omit<Outcome, 'durationMs'>
const NO_RESPONSE: AttemptResult = {
  status: null,
  headers: null,
  body: null,
  problem: null,
  address: null,
  retryAfterMs: null,
}

async function attemptPost(
  request: WebhookRequest,
  signal: AbortSignal,
  connectMs: number,
  resolve?: ResolveName,
): Promise<AttemptResult> {
  const target = await rejectOnAbort(findTarget(request.url, request.mode, resolve), signal)
  if ('problem' in target) return { ...NO_RESPONSE, problem: target.problem }
  const { headers, body } = request
  const { response, error, address } = await tryAddresses(
    { target, headers, body, signal },
    connectMs,
  )
  if (!response)
    return { ...NO_RESPONSE, problem: errorToProblem(error, hostnameOf(target.url)), address }
  const retryAfterMs = isSuccess(response.status)
    ? null
    : parseRetryAfter(response.headers['retry-after'])
  return { ...response, problem: responseToProblem(response), address, retryAfterMs }
}

/** Tries the next address only if the receiver cannot have received anything. */
async function tryAddresses(call: Call, connectMs: number): Promise<Exchange> {
  const endsAt = performance.now() + connectMs
  const addresses = orderAddresses(call.target)
  let last: Exchange | undefined
  for (const [index, address] of addresses.entries()) {
    const remainingMs = endsAt - performance.now()
    if (last && remainingMs <= 0) return last
    const shareMs = Math.min(
      remainingMs,
      Math.max(remainingMs / (addresses.length - index), ADDRESS_CONNECT_MS_MIN),
    )
    last = await exchange(call, address, shareMs, true)
    if (last.isStale) last = await exchange(call, address, shareMs, false)
    if (last.isConnected || call.signal.aborted) return last
  }
  if (!last) throw new Invariant('a webhook target has no address')
  return last
}

function rejectOnAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason)
    signal.addEventListener('abort', stop)
    if (signal.aborted) stop()
    work.then(resolve, reject)
  })
}

interface Call {
  target: Target
  headers: Record<string, string>
  body: string
  signal: AbortSignal
}

/** Result of one connection: a response, or an error and the stage that was reached. */
interface Exchange {
  response: WebhookResponse | null
  error: unknown
  /** Null until the TCP connection is established. */
  address: string | null
  /** Whether TCP and TLS were established. If not, nothing of the request was sent. */
  isConnected: boolean
  /** Whether a reused connection closed without a byte of response: it was already dead. */
  isStale: boolean
}

const INITIAL: Exchange = {
  response: null,
  error: null,
  address: null,
  isConnected: false,
  isStale: false,
}
/** Maximum bytes before the final header: room for a few 1xx responses. */
const BEFORE_HEAD_BYTES_MAX = 128 * 1024
/** Headers that callers may not set: they determine destination and framing of the request. */
const RESERVED_HEADERS =
  /^(host|content-length|transfer-encoding|connection|expect|upgrade|cookie)$/i

/** Sends the request to one address. Resolves on response, error, timeout or abort. */
function exchange(
  call: Call,
  address: Address,
  connectMs: number,
  isPooled: boolean,
): Promise<Exchange> {
  const { signal } = call
  const result = { ...INITIAL }
  return new Promise(resolve => {
    const request = openRequest(call, address, isPooled)
    const timer = setTimeout(() => fail(exchangeError('connect_timeout')), connectMs)
    const interrupt = () => fail(signal.reason)
    const seen = watchHead(request, fail)
    signal.addEventListener('abort', interrupt)
    const recordAddress = () => {
      result.address = address.address
    }
    watchConnection(request, recordAddress, connected)
    request.once('response', async response => {
      seen.head = true
      result.response = await readResponse(response, signal)
      end()
    })
    request.on('error', fail)
    request.once('close', () => fail(exchangeError('closed')))
    if (signal.aborted) interrupt()
    else request.end(call.body)

    function connected() {
      clearTimeout(timer)
      result.isConnected = true
    }

    /** After the response headers, the error is ignored and the body received so far is used. */
    function fail(error: unknown) {
      if (seen.head || result.error) return
      result.error = error
      result.isStale = request.reusedSocket && seen.bytes === 0 && isConnectionReset(error)
      end()
    }

    function end() {
      clearTimeout(timer)
      signal.removeEventListener('abort', interrupt)
      // A receiver that responds without reading the request would keep the connection open.
      if (!result.response || !request.writableFinished) request.destroy()
      resolve(result)
    }
  })
}

function watchConnection(request: ClientRequest, reached: () => void, connected: () => void) {
  request.once('socket', socket => {
    if (request.reusedSocket) {
      reached()
      connected()
    } else {
      socket.once('connect', reached)
      socket.once('encrypted' in socket ? 'secureConnect' : 'connect', connected)
    }
  })
}

/** Counts bytes before the final header, which the HTTP parser does not limit. */
function watchHead(request: ClientRequest, fail: (error: Error) => void) {
  const seen = { head: false, bytes: 0 }
  const count = (chunk: Buffer) => {
    seen.bytes += chunk.length
    if (seen.bytes > BEFORE_HEAD_BYTES_MAX) fail(exchangeError('no_answer'))
  }
  request.once('socket', socket => {
    socket.on('data', count)
    request.once('response', () => socket.off('data', count))
  })
  request.once('upgrade', (_response, socket) => {
    socket.destroy()
    fail(exchangeError('other_protocol'))
  })
  return seen
}

function isConnectionReset(error: unknown): boolean {
  return /^(ECONNRESET|EPIPE)$/.test((error as NodeJS.ErrnoException).code ?? '')
}

function openRequest(
  { target, headers, body }: Call,
  address: Address,
  isPooled: boolean,
): ClientRequest {
  const { url } = target
  const { request } = url.protocol === 'https:' ? https : http
  return request({
    ...buildPinnedOptions(target, address, isPooled),
    method: 'POST',
    path: url.pathname + url.search,
    headers: {
      'user-agent': 'Troco-Webhooks/1',
      'accept-encoding': 'identity',
      ...Object.fromEntries(
        Object.entries(headers).filter(([name]) => !RESERVED_HEADERS.test(name)),
      ),
      host: url.host,
      'content-length': String(Buffer.byteLength(body)),
    },
  })
}

/** Long enough for a busy receiver's next event, short enough that few connections are dead. */
const IDLE_MS = 5_000
const IDLE_MAX = { perAddress: 4, total: 64 }
/** Maximum response header. Set here, because a command line flag can raise Node's default. */
const HEAD_BYTES_MAX = 16 * 1024

const agents = { http: new http.Agent(agentOptions()), https: new https.Agent(agentOptions()) }
for (const agent of [agents.http, agents.https]) {
  const { getName, keepSocketAlive } = Object.getPrototypeOf(agent) as http.Agent
  // The connection's host is an IP address: receivers that share it must not share a connection.
  agent.getName = options => `${getName.call(agent, options)}|${hostHeader(options)}`
  agent.keepSocketAlive = (socket: Duplex) =>
    countIdle() < IDLE_MAX.total && keepSocketAlive.call(agent, socket)
}

/** Connects only to this address; Host, SNI and the certificate check use the URL's name. */
function buildPinnedOptions(target: Target, { address }: Address, isPooled: boolean) {
  const name = hostnameOf(target.url)
  const isSecure = target.url.protocol === 'https:'
  return {
    host: address,
    port: portOf(target.url),
    // An IP address needs no lookup; a call to this function means that the pin is broken.
    lookup: refuseLookup,
    agent: isPooled && (isSecure ? agents.https : agents.http),
    // Empty for an IP address, which has no SNI: the certificate must then match the address.
    servername: isIP(name) ? '' : name,
    minVersion: 'TLSv1.2' as const,
    rejectUnauthorized: true,
    maxHeaderSize: HEAD_BYTES_MAX,
    insecureHTTPParser: false,
  }
}

/** Returns the addresses in attempt order: addresses with an idle connection first. */
function orderAddresses(target: Target): Address[] {
  const agent = target.url.protocol === 'https:' ? agents.https : agents.http
  const connected = new Set(
    Object.values(agent.freeSockets)
      .flatMap(sockets => sockets ?? [])
      .map(socket => socket.remoteAddress),
  )
  return target.addresses.toSorted(
    (one, other) => Number(connected.has(other.address)) - Number(connected.has(one.address)),
  )
}

export function closeConnections(): void {
  agents.http.destroy()
  agents.https.destroy()
}

function agentOptions(): http.AgentOptions {
  return { keepAlive: true, timeout: IDLE_MS, maxFreeSockets: IDLE_MAX.perAddress }
}

function countIdle(): number {
  const lists = [agents.http, agents.https].flatMap(agent => Object.values(agent.freeSockets))
  return lists.reduce((sum, sockets) => sum + (sockets?.length ?? 0), 0)
}

function hostHeader(options: http.ClientRequestArgs | undefined): string {
  return String((options?.headers as http.OutgoingHttpHeaders | undefined)?.host ?? '')
}

function refuseLookup(): never {
  throw new Invariant('a webhook connects to checked addresses only')
}

interface WebhookResponse {
  status: number
  headers: Record<string, string>
  body: string
}

const BODY_BYTES_MAX = 8 * 1024
const HEADERS_LENGTH_MAX = 8 * 1024
/** Time limit for the body, which is only displayed: the status decides the outcome. */
const BODY_TIMEOUT_MS = 2_000
/** Control characters: PostgreSQL rejects NUL, and terminals interpret others. */
const CONTROL_CHARACTERS = /\p{Cc}/gu

/** Reads at most 8 KiB of body for at most 2 s, then closes the connection. */
async function readResponse(
  response: IncomingMessage,
  signal: AbortSignal,
): Promise<WebhookResponse> {
  const bytes = await readBody(response, signal)
  const headers = collectHeaders(response.rawHeaders)
  return { status: response.statusCode ?? 0, headers, body: toText(bytes, BODY_BYTES_MAX) }
}

function readBody(response: IncomingMessage, signal: AbortSignal): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  return new Promise(resolve => {
    const finish = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', finish)
      if (!response.complete) response.destroy()
      resolve(Buffer.concat(chunks).subarray(0, BODY_BYTES_MAX))
    }
    const timer = setTimeout(finish, BODY_TIMEOUT_MS)
    signal.addEventListener('abort', finish)
    response.on('data', (chunk: Buffer) => {
      length += chunk.length
      if (length <= BODY_BYTES_MAX + chunk.length) chunks.push(chunk)
      if (length > BODY_BYTES_MAX) finish()
    })
    // An error here only means that the receiver ended the body early.
    response.on('end', finish).on('close', finish).on('error', finish)
    if (signal.aborted) finish()
  })
}

/** Cuts the decoded text to the limit again: replacement characters take 3 bytes each. */
function toText(bytes: Uint8Array, bytesMax: number): string {
  // Stream mode drops a character cut off at the end instead of replacing it.
  const text = new TextDecoder().decode(bytes, { stream: true }).replaceAll('\0', '')
  const encoded = Buffer.from(text)
  return encoded.length <= bytesMax ? text : toText(encoded.subarray(0, bytesMax), bytesMax)
}

function collectHeaders(raw: string[]): Record<string, string> {
  const headers = new Map<string, string>()
  let length = 0
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const name = (raw[index] ?? '').toLowerCase()
    const value =
      name === 'set-cookie' ? '[hidden]' : (raw[index + 1] ?? '').replace(CONTROL_CHARACTERS, '')
    length += name.length + value.length + 2
    if (length > HEADERS_LENGTH_MAX) break
    const before = headers.get(name)
    if (before === undefined) headers.set(name, value)
    else if (name !== 'set-cookie') headers.set(name, `${before}, ${value}`)
  }
  return Object.fromEntries(headers)
}

function isSuccess(status: number): boolean {
  return status >= 200 && status <= 299
}

export function responseToProblem({ status }: WebhookResponse): DeliveryProblem | null {
  if (isSuccess(status)) return null
  const isRedirect = [301, 302, 303, 307, 308].includes(status)
  return { code: isRedirect ? 'redirect' : 'status', params: { status } }
}

export class ExchangeError extends Error {
  override readonly name = 'ExchangeError'
  readonly problem: DeliveryProblem

  constructor(problem: DeliveryProblem) {
    super(problem.code)
    this.problem = problem
  }
}

function exchangeError(code: CodeWithoutParams): ExchangeError {
  return new ExchangeError({ code, params: {} })
}

/** Maps error codes of Node, OpenSSL and the HTTP parser to problems. */
const ERROR_PATTERNS: [RegExp, CodeWithoutParams][] = [
  [/^ECONNREFUSED$/, 'refused'],
  [/^(ECONNRESET|EPIPE|ECONNABORTED)$/, 'closed'],
  [
    /^(ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|EHOSTDOWN|ENETDOWN|EACCES|EPERM)$/,
    'unreachable',
  ],
  [/^HPE_HEADER_OVERFLOW$/, 'header_too_large'],
  [/^HPE_/, 'not_http'],
  [/^CERT_HAS_EXPIRED$/, 'certificate_expired'],
  [/CERT|^UNABLE_TO_|^HOSTNAME_MISMATCH$/, 'certificate_untrusted'],
  [/^(EPROTO|ERR_SSL_|ERR_TLS_)/, 'tls'],
]

export function errorToProblem(error: unknown, hostname: string): DeliveryProblem {
  // Compares names, not classes: a process can load this module twice.
  const { name: kind, problem, code = '' } = error as ExchangeError & NodeJS.ErrnoException
  if (kind === 'ExchangeError') return problem
  if (/^ERR_TLS_CERT_ALTNAME/.test(code))
    return { code: 'certificate_name', params: { name: hostname } }
  const match = ERROR_PATTERNS.find(([pattern]) => pattern.test(code))
  return { code: match?.[1] ?? 'not_called', params: {} }
}
