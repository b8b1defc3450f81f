import { readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Bank } from './bank.ts'
import { readPair } from './certificates.ts'
import { type Fault, responseOf } from './faults.ts'
import { applyHabits, isTurn } from './habits.ts'
import { applyQuirks } from './quirks.ts'
import { Refusal, renderRefusal } from './refusal.ts'
import type { Reply, Route } from './route.ts'
import { matchRoute } from './routes.ts'
import { flattenHeaders } from './traffic.ts'

const TOKEN_PATH = '/oauth/token'
const LIMITED = new Refusal('limitExceeded', 'Too many requests')
/** Which certificate the server shows, and whose clients it lets in. */
export interface Identity {
  shows: 'server' | 'expiredServer' | 'foreignServer'
  trusts: 'authority' | 'foreignAuthority'
}

interface Inbound {
  request: IncomingMessage
  text: string
  path: string
  query: URLSearchParams
}

interface Outbound {
  status: number
  headers: Record<string, string>
  text: string
  /** The response deviates from the standard. */
  hasQuirk?: boolean
}

/** The bank's HTTPS server. A connection without a certificate that it trusts fails in TLS. */
export class BankServer {
  readonly #bank: Bank
  readonly #server: ReturnType<typeof createServer>
  /** TCP sockets below TLS by the client's port: only they can be reset. */
  readonly #sockets = new Map<number, Socket>()
  #openCount = 0

  constructor(bank: Bank) {
    this.#bank = bank
    const context = this.#secureContext({ shows: 'server', trusts: 'authority' })
    const options = { ...context, requestCert: true, rejectUnauthorized: true }
    this.#server = createServer(options, (request, response) => {
      this.#openCount += 1
      this.#serve(request, response)
        .catch(error => {
          process.stderr.write(`${error.stack}\n`)
          response.destroy()
        })
        .finally(() => {
          this.#openCount -= 1
        })
    })
    this.#server.on('connection', (socket: Socket) => {
      const port = socket.remotePort ?? 0
      this.#sockets.set(port, socket)
      socket.on('close', () => this.#sockets.delete(port))
    })
  }

  async listen(port = 0): Promise<number> {
    await new Promise<void>(resolve => this.#server.listen(port, '127.0.0.1', resolve))
    return (this.#server.address() as AddressInfo).port
  }

  /** Number of requests that the bank may still act on. */
  get openCount(): number {
    return this.#openCount
  }

  /** Changes certificates; open connections are closed. */
  present(identity: Identity): void {
    this.#server.setSecureContext(this.#secureContext(identity))
    this.#server.closeAllConnections()
  }

  #secureContext({ shows, trusts }: Identity) {
    const { certificates } = this.#bank
    const ca = readFileSync(certificates[trusts].cert)
    return { ...readPair(certificates[shows]), ca, minVersion: 'TLSv1.2' as const }
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const at = new Date().toISOString()
    const { pathname: path, searchParams: query } = new URL(request.url ?? '/', 'https://bank')
    const text = Buffer.concat(await request.toArray()).toString()
    const method = request.method ?? ''
    const fault = this.#bank.faults.take(method, path)
    const sent = await this.#respond({ request, text, path, query }, response, fault)
    this.#bank.traffic.record({
      to: 'bank',
      at,
      method,
      target: request.url ?? '',
      route: this.#routeOf(method, path),
      requestHeaders: flattenHeaders(request.headers),
      requestBody: text,
      status: sent?.status ?? null,
      responseHeaders: sent?.headers ?? {},
      ...{
        responseBody: sent?.text ?? '',
        fault: sent?.hasQuirk ? 'quirk' : (fault?.kind ?? null),
      },
    })
  }

  #routeOf(method: string, path: string): string | null {
    if (path === TOKEN_PATH) return TOKEN_PATH
    return matchRoute(this.#bank.settings.kind, method, path)?.route.path ?? null
  }

  /** Returns what the client got; null if not a whole response. */
  async #respond(inbound: Inbound, response: ServerResponse, fault: Fault | null) {
    const hasShiftedPages = fault?.kind === 'shift-pages'
    const hasActed = fault?.hasActed || fault?.kind === 'half-body'
    if (fault && !hasActed) {
      await wait(fault.delayMs ?? 0)
      if (fault.kind === 'respond') return this.#send(response, responseOf(fault))
      if (this.#breakOff(fault, response)) return null
    }
    const outbound = await this.#act(inbound, hasShiftedPages)
    if (fault && hasActed) {
      await wait(fault.delayMs ?? 0)
      if (fault.kind === 'respond') return this.#send(response, responseOf(fault))
      if (this.#breakOff(fault, response, outbound)) return null
    }
    return this.#send(response, outbound)
  }

  #send(response: ServerResponse, outbound: Outbound): Outbound {
    const headers = { ...outbound.headers, date: this.#bank.now().toUTCString() }
    response.writeHead(outbound.status, headers).end(outbound.text)
    return { ...outbound, headers }
  }

  /** Ends the exchange as the fault says; returns false if it leaves the response whole. */
  #breakOff(fault: Fault, response: ServerResponse, outbound?: Outbound): boolean {
    if (fault.kind === 'half-body' && outbound) {
      const body = Buffer.from(outbound.text)
      response.writeHead(outbound.status, { ...outbound.headers, 'content-length': body.length })
      response.write(body.subarray(0, body.length / 2), () => response.socket?.destroy())
    } else if (fault.kind === 'half-close') response.socket?.end()
    else if (fault.kind === 'reset')
      this.#sockets.get(response.socket?.remotePort ?? 0)?.resetAndDestroy()
    return ['half-body', 'half-close', 'reset', 'hang'].includes(fault.kind)
  }

  async #act(inbound: Inbound, hasShiftedPages: boolean): Promise<Outbound> {
    const { request, text, path } = inbound
    const { authorization, 'content-type': type } = request.headers
    if (path === TOKEN_PATH && request.method === 'POST')
      return toOutbound(this.#bank.tokens.issue(authorization, type, text))
    const match = matchRoute(this.#bank.settings.kind, request.method ?? '', path)
    try {
      if (!match) throw new Refusal('notFound', 'There is no such route')
      const { route, params } = match
      const refused = this.#authorize(route, authorization)
      if (refused) return toOutbound(refused)
      if (isTurn(this.#bank, 'limitsRequests')) return { ...this.#refuse(LIMITED), hasQuirk: true }
      const { query } = inbound
      const call = { params, query, headers: request.headers, body: parse(text), hasShiftedPages }
      const reply = await route.handle(this.#bank, call)
      const { settings } = this.#bank
      const { quirks } = settings
      const written = applyQuirks(quirks, reply)
      const sent = toOutbound({ ...written, body: applyHabits(settings, written.body) })
      // The document of the standard names no payer.
      const hasQuirk = quirks.hasPayerIdentity || !isDeepStrictEqual(sent, toOutbound(reply))
      return { ...sent, hasQuirk }
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      return this.#refuse(error)
    }
  }

  #refuse(refusal: Refusal): Outbound {
    return toOutbound(renderRefusal(this.#bank.settings.kind, refusal))
  }

  #authorize(route: Route, authorization: string | undefined): Reply | null {
    const check = this.#bank.tokens.check(authorization, route.scope)
    if (check === 'insufficient')
      throw new Refusal('accessDenied', `The scope ${route.scope} is missing`)
    const body = { error: 'invalid_token', error_description: 'The token is invalid or expired' }
    return check === 'invalid' ? { status: 401, body } : null
  }
}

function parse(text: string): unknown {
  if (text === '') return undefined
  try {
    return JSON.parse(text)
  } catch {
    throw new Refusal('invalidRequest', 'The body is not JSON', [], true)
  }
}

function toOutbound({
  status,
  body,
  csv,
  headers,
}: Reply & { headers?: Record<string, string> }): Outbound {
  if (csv !== undefined)
    return { status, headers: { 'content-type': 'text/csv; charset=utf-8' }, text: csv }
  if (body === undefined) return { status, headers: {}, text: '' }
  const all = { 'content-type': 'application/json', ...headers }
  return { status, headers: all, text: JSON.stringify(body) }
}
