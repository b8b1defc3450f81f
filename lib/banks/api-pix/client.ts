import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { Agent, request } from 'node:https'
import type { LookupFunction } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { TLSSocket } from 'node:tls'
import { fieldsOf, isStatusOk, PACED, parseJson, type Reply } from '#lib/banks/api-pix/json.ts'
import type { BankProfile, Filling } from '#lib/banks/api-pix/profiles.ts'
import { parseRetryAfter } from '#lib/core/headers.ts'

/** What a socket presents to the bank. */
export type Identity =
  | { cert: string; key: string; passphrase?: string }
  | { pfx: Buffer; passphrase: string }

export interface Credentials {
  clientId: string
  /** Absent at banks that authenticate by the certificate alone. */
  clientSecret?: string
  /** Key of the application, which some banks want with every call. */
  appKey?: string
  identity: Identity
}

interface HttpsRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  url: URL
  headers: Record<string, string>
  body?: string
}

/** `isSent`: the bank may have received the request. `code`: kind of the error, without its text. */
export type Exchange =
  | { kind: 'response'; status: number; headers: IncomingHttpHeaders; text: string }
  | { kind: 'failure'; isSent: boolean; code: string }

export interface Limits {
  /** Time until the handshake is done. */
  connectMs: number
  /** Time from then on until the response is complete. */
  responseMs: number
  /** Above a page of a thousand payments, each with its refunds. */
  responseBytes: number
}

export const EXCHANGE_LIMITS: Limits = {
  connectMs: 5_000,
  responseMs: 15_000,
  responseBytes: 8 * 1024 * 1024,
}

/**
 * Sends one request, follows no redirect, and never throws. A question that meets a connection which
 * the bank closed while it was idle is repeated once.
 */
export async function exchange(
  agent: Agent,
  request: HttpsRequest,
  signal: AbortSignal,
  limits = EXCHANGE_LIMITS,
): Promise<Exchange> {
  const first = await send(agent, request, signal, limits)
  return first.isStale && request.method === 'GET'
    ? (await send(agent, request, signal, limits)).exchange
    : first.exchange
}

interface Sent {
  exchange: Exchange
  /** A connection that was open before failed without a response. */
  isStale: boolean
}

function send(
  agent: Agent,
  { method, url, headers, body = '' }: HttpsRequest,
  signal: AbortSignal,
  { connectMs, responseMs, responseBytes }: Limits,
): Promise<Sent> {
  return new Promise(resolve => {
    let isSent = false
    let hasResponse = false
    let isCertificateExpired = false
    const length = method === 'GET' ? {} : { 'content-length': String(Buffer.byteLength(body)) }
    const outgoing = request(url, { agent, method, headers: { ...headers, ...length } })
    const end = (code: string) => {
      finish({ kind: 'failure', isSent, code })
      outgoing.destroy()
    }
    const abort = () => end('ABORTED')
    let timer = setTimeout(end, connectMs, 'CONNECT_TIMEOUT')
    const finish = (exchange: Exchange, isStale = false) => {
      clearTimeout(timer)
      signal.removeEventListener('abort', abort)
      resolve({ exchange, isStale })
    }
    const fail = (error: Error) => {
      const code = codeOf(error)
      const isReset = (code === 'ECONNRESET' || code === 'EPIPE') && !hasResponse
      // Not every bank sends an alert that says why it ends a connection.
      if (isReset && isCertificateExpired)
        finish({ kind: 'failure', isSent, code: 'CLIENT_CERTIFICATE_EXPIRED' })
      else finish({ kind: 'failure', isSent, code }, isReset && outgoing.reusedSocket)
    }
    const begin = () => {
      isSent = true
      clearTimeout(timer)
      timer = setTimeout(end, responseMs, 'RESPONSE_TIMEOUT')
    }
    outgoing.on('socket', socket => {
      if (outgoing.reusedSocket) return begin()
      socket.once('secureConnect', () => {
        isCertificateExpired = hasExpired(socket as TLSSocket)
        begin()
      })
    })
    outgoing.on('error', fail)
    outgoing.on('response', response => {
      hasResponse = true
      response.on('error', fail)
      readBody(response, responseBytes, text => {
        if (text === null) return end('RESPONSE_TOO_LARGE')
        finish({
          kind: 'response',
          status: response.statusCode ?? 0,
          headers: response.headers,
          text,
        })
      })
    })
    signal.addEventListener('abort', abort)
    if (signal.aborted) abort()
    else outgoing.end(body)
  })
}

/** Calls back once with the whole body, or with null once it is larger than `bytesMax`. */
function readBody(
  response: IncomingMessage,
  bytesMax: number,
  done: (text: string | null) => void,
): void {
  const chunks: Buffer[] = []
  let length = 0
  response.on('data', (chunk: Buffer) => {
    length += chunk.length
    if (length > bytesMax) done(null)
    else chunks.push(chunk)
  })
  response.on('end', () => done(Buffer.concat(chunks).toString()))
}

function hasExpired(socket: TLSSocket): boolean {
  const certificate = socket.getX509Certificate()
  return certificate !== undefined && Date.parse(certificate.validTo) < Date.now()
}

/**
 * Names the kind of an error: its text may contain the request. In TLS 1.2, only the text names the alert
 * that ended the handshake.
 */
export function codeOf(error: Error): string {
  const { code, message } = error as NodeJS.ErrnoException
  const [, alert] = (code === 'EPROTO' && /alert ([a-z ]{1,60}):/.exec(message)) || []
  if (alert) return `EPROTO_ALERT_${alert.toUpperCase().replaceAll(' ', '_')}`
  return typeof code === 'string' ? code : error.name
}

interface ClientOptions {
  profile: BankProfile
  apiUrl: string
  tokenUrl: string
  credentials: Credentials
  lookup: LookupFunction
  /** Authorities (PEM) that alone may issue the bank's certificate; absent: those of Node.js. */
  trusted?: string
}

export interface BankCall {
  method: HttpsRequest['method']
  /** Below the base path, encoded. */
  path: string
  /** Replaces the version at the end of the base path. */
  version?: 'v3'
  headers?: Record<string, string>
  query?: Record<string, string>
  body?: object
  /** The response may be a long text without JSON. */
  isText?: boolean
}

/** Banks and proxies between close connections that were idle for longer. */
const IDLE_MS = 15_000
/** Longest pause before a call to keep the bank's limit of the rate. */
const PACE_MAX_MS = 2_000
/** A report of a day with 100,000 payments and their fees has about 30 MiB. */
const TEXT_LIMITS: Limits = { ...EXCHANGE_LIMITS, responseBytes: 64 * 1024 * 1024 }
/** A shorter text would be replaced where it means something else. */
const SECRET_LENGTH_MIN = 6

/** nginx's page about a client certificate that it refuses: the bank behind it gets no request. */
const REFUSAL_PAGE = /<title>400 [^<]*SSL certificate/i

const NEVER_ABORTED = new AbortController().signal

/** Limits the rate of calls of this process: a second's calls at once, then one by one. */
export class Pace {
  private readonly gapMs: number
  private readonly burstMs: number
  /** Time at which the calls so far are paid for. */
  private paidAt = Number.NEGATIVE_INFINITY

  constructor(perSecond: number) {
    this.gapMs = 1_000 / perSecond
    this.burstMs = 1_000 - this.gapMs
  }

  /** Returns the pause before the call. One above `maxMs` takes no turn: the call is not made. */
  take(maxMs: number, now = performance.now()): number {
    const paidAt = Math.max(this.paidAt, now - this.burstMs - this.gapMs) + this.gapMs
    const waitMs = Math.max(0, paidAt - now)
    if (waitMs <= maxMs) this.paidAt = paidAt
    return waitMs
  }
}

/** Calls a bank: one agent and one token per connection and process. Never throws. */
export class BankClient {
  private readonly agent: Agent
  private readonly pace: Pace
  private readonly tokens = new TokenCache(() => this.requestToken())
  readonly options: ClientOptions
  /** How far the bank's clock is ahead of this machine's, by its latest response; null: unknown. */
  clockAheadMs: number | null = null

  constructor(options: ClientOptions) {
    const { credentials, lookup, trusted, profile } = options
    const trust = trusted === undefined ? {} : { ca: trusted }
    this.options = options
    this.pace = new Pace(profile.requestsPerSecond)
    this.agent = new Agent({
      keepAlive: true,
      timeout: IDLE_MS,
      lookup,
      minVersion: 'TLSv1.2',
      ...credentials.identity,
      ...trust,
    })
  }

  /** After a 401, calls once more with a new token. */
  async call(call: BankCall, signal: AbortSignal): Promise<Reply> {
    const first = await this.callWithToken(call, signal)
    const isRefused = first.reply.kind === 'response' && first.reply.status === 401
    if (!isRefused || !first.used) return first.reply
    return (await this.callWithToken(call, signal, first.used)).reply
  }

  private async callWithToken(
    call: BankCall,
    signal: AbortSignal,
    refused?: Token,
  ): Promise<{ reply: Reply; used?: Token }> {
    const waitMs = this.pace.take(PACE_MAX_MS)
    if (waitMs > PACE_MAX_MS)
      return { reply: { kind: 'failure', isSent: false, code: PACED, retryAfterMs: waitMs } }
    if (waitMs > 0) await sleep(waitMs, undefined, { signal }).catch(() => {})
    const answer = await endWith(signal, this.tokens.get(refused))
    if (answer === null) return { reply: { kind: 'failure', isSent: false, code: 'ABORTED' } }
    if (answer.token === null) return { reply: { ...answer.reply, isAboutToken: true } }
    const { token } = answer
    const request = this.buildRequest(call, token)
    return { reply: await this.send(request, signal, token, call.isText), used: answer }
  }

  private buildRequest(call: BankCall, token: string): HttpsRequest {
    const { profile, apiUrl } = this.options
    const { method, path, version, query, body } = call
    const base = apiUrl.replace(/\/$/, '')
    const url = new URL((version ? base.replace(/(?<![^/])[^/]+$/, version) : base) + path)
    const parameters = { ...this.fill(profile.query), ...query }
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
    const headers = {
      accept: 'application/json',
      authorization: `Bearer ${token}`,
      ...(body && { 'content-type': 'application/json' }),
      ...this.fill(profile.headers),
      ...call.headers,
    }
    return { method, url, headers, ...(body && { body: JSON.stringify(body) }) }
  }

  /** Requests a token that no call will use. */
  async tryToken(scopes: readonly string[], signal: AbortSignal): Promise<Reply> {
    return { ...(await this.requestToken(scopes, signal)), isAboutToken: true }
  }

  private requestToken(
    scopes = this.options.profile.scopes,
    signal = NEVER_ABORTED,
  ): Promise<Reply> {
    const { tokenUrl, profile, credentials } = this.options
    const { clientId, clientSecret = '' } = credentials
    const basic = Buffer.from(`${clientId}:${clientSecret}`).toString('base64')
    const isBasic = profile.tokenAuth === 'basic'
    const fields = {
      grant_type: 'client_credentials',
      ...(scopes.length > 0 && { scope: scopes.join(' ') }),
      ...(!isBasic && { client_id: clientId }),
      ...(!isBasic && clientSecret && { client_secret: clientSecret }),
    }
    const isJson = profile.tokenBody === 'json'
    const type = isJson ? 'application/json' : 'application/x-www-form-urlencoded'
    const request: HttpsRequest = {
      method: 'POST',
      url: new URL(tokenUrl),
      headers: {
        accept: 'application/json',
        'content-type': type,
        ...(isBasic && { authorization: `Basic ${basic}` }),
      },
      body: isJson ? JSON.stringify(fields) : String(new URLSearchParams(fields)),
    }
    return this.send(request, signal, basic)
  }

  /** `secret`: text of the request that the bank may repeat in an error. */
  private async send(
    request: HttpsRequest,
    signal: AbortSignal,
    secret: string,
    isText = false,
  ): Promise<Reply> {
    const limits = isText ? TEXT_LIMITS : EXCHANGE_LIMITS
    const result = await exchange(this.agent, request, signal, limits)
    if (result.kind === 'failure') return result
    const { status, headers, text } = result
    const bankTime = Date.parse(headers.date ?? '')
    if (!Number.isNaN(bankTime)) this.clockAheadMs = bankTime - Date.now()
    const { clientSecret = '', appKey = '' } = this.options.credentials
    const parsed = parseJson(text)
    if (isStatusOk(status))
      return { kind: 'response', status, body: isText ? (parsed ?? text) : parsed }
    if (status === 400 && REFUSAL_PAGE.test(text))
      return { kind: 'failure', isSent: true, code: 'CLIENT_CERTIFICATE_REFUSED' }
    const body = parseJson(hide(text, [secret, clientSecret, appKey]))
    const retryAfterMs = parseRetryAfter(headers['retry-after'])
    return { kind: 'response', status, body, ...(retryAfterMs !== null && { retryAfterMs }) }
  }

  private fill(fillings: Readonly<Record<string, Filling>>): Record<string, string> {
    const { clientId: client_id, appKey: app_key = '' } = this.options.credentials
    const values = { client_id, app_key, random_uuid: randomUUID() }
    return Object.fromEntries(
      Object.entries(fillings).map(([name, filling]) => [name, values[filling]]),
    )
  }
}

/** Returns null if the signal is aborted first. */
function endWith<Value>(signal: AbortSignal, work: Promise<Value>): Promise<Value | null> {
  if (signal.aborted) return Promise.resolve(null)
  return new Promise((resolve, reject) => {
    const abort = () => resolve(null)
    signal.addEventListener('abort', abort)
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}

function hide(text: string, secrets: string[]): string {
  return secrets
    .filter(({ length }) => length >= SECRET_LENGTH_MIN)
    .reduce((rest, secret) => rest.replaceAll(secret, '***'), text)
}

/** Time before the end of a token at which it is renewed; of a shorter one, half its life. */
const RENEWED_BEFORE_MS = 60_000
/** Life of a token whose response names none. */
const DEFAULT_LIFE_S = 300

export interface Token {
  token: string
  renewAt: number
}
/** A token, or the reply of the bank that contains none. */
type TokenReply = Token | { token: null; reply: Reply }

/**
 * Caches the token of a connection. All callers share one request for a token, which no caller's
 * signal ends.
 */
export class TokenCache {
  private readonly request: () => Promise<Reply>
  private readonly now: () => number
  private current: Token | null = null
  private pending: Promise<TokenReply> | null = null

  constructor(request: () => Promise<Reply>, now = () => performance.now()) {
    this.request = request
    this.now = now
  }

  /** `refused`: token that the bank refused; another caller may have renewed it since. */
  async get(refused?: Token): Promise<TokenReply> {
    if (refused && this.current === refused) this.current = null
    if (this.current && this.now() < this.current.renewAt) return this.current
    this.pending ??= this.renew().finally(() => {
      this.pending = null
    })
    return this.pending
  }

  private async renew(): Promise<TokenReply> {
    const reply = await this.request()
    const { access_token: token, expires_in: life } =
      reply.kind === 'response' ? fieldsOf(reply.body) : {}
    if (reply.kind === 'failure' || reply.status > 299 || typeof token !== 'string' || !token)
      return { token: null, reply }
    const lifeMs = (Number(life) || DEFAULT_LIFE_S) * 1_000
    const usedMs = Math.max(lifeMs - RENEWED_BEFORE_MS, lifeMs / 2)
    this.current = { token, renewAt: this.now() + usedMs }
    return this.current
  }
}
