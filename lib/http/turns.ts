import type { IncomingMessage, ServerResponse } from 'node:http'
import { networkOf, siteOf } from '#lib/core/addresses.ts'
import {
  BUSY_SHARE_MAX,
  enterGate,
  leaveGate,
  measureLoad,
  REST_MAX_MS,
  REST_MS,
  Turns,
} from '#lib/core/concurrency.ts'
import { isTrocoError, refuse } from '#lib/core/errors.ts'
import { env } from '#lib/core/settings.ts'
import { inviteBody, sendResponse } from '#lib/http/api.ts'
import type { HttpResponse } from '#lib/http/exchange.ts'
import type { Sender } from '#lib/http/headers.ts'
import { WAIT_MAX_MS } from '#lib/http/rate-limit.ts'
import { buildPageRefusal, type PageRefusal } from '#lib/http/refusal-page.ts'
import { refusalResponse } from '#lib/http/response.ts'
import { cookieNames, readCookie } from '#lib/session/read.ts'
import { findIssuedMark } from '#lib/session/sign-in.ts'

/** Maximum renders in progress, while all of them wait for the database. */
const RENDERS_MAX = 40
/** Interval at which more renders may begin beside those in progress. */
const CHECK_INTERVAL_MS = 50
/**
 * Begins one render after the other. Rendering needs the processor: several at once end no sooner, and
 * an API request waits for a part of each. While renders only wait for the database, more begin.
 */
export class RenderQueue {
  #active = 0
  readonly #waiting = new Turns()
  #timer: NodeJS.Timeout | null = null
  #readBusyShare = () => 0
  #endedAt = 0
  readonly #measure: () => () => number

  constructor(measure = measureLoad) {
    this.#measure = measure
  }

  /** Returns true when a render may begin, or false at the deadline. Addresses take turns. */
  enter(address: string, deadline: number): Promise<boolean> {
    if (this.#active === 0 && this.#waiting.isEmpty) {
      this.#active++
      return Promise.resolve(true)
    }
    return new Promise(resolve => {
      const begin = () => {
        clearTimeout(timeout)
        resolve(true)
      }
      const timeout = setTimeout(() => {
        this.#waiting.delete(address, begin)
        resolve(false)
      }, deadline - performance.now())
      this.#waiting.add(address, begin)
      if (!this.#timer) this.#checkAfter(CHECK_INTERVAL_MS)
    })
  }

  leave(): void {
    this.#active--
    if (this.#active > 0 || this.#waiting.isEmpty) return
    this.#endedAt = performance.now()
    this.#checkAfter(REST_MS)
  }

  #checkAfter(delayMs: number): void {
    if (this.#timer) clearTimeout(this.#timer)
    this.#readBusyShare = this.#measure()
    this.#timer = setTimeout(() => this.#check(), delayMs)
  }

  #check(): void {
    this.#timer = null
    const isBusy = this.#readBusyShare() > BUSY_SHARE_MAX
    const isRested = performance.now() - this.#endedAt >= REST_MAX_MS
    if (this.#active === 0 && isBusy && !isRested) {
      this.#checkAfter(REST_MS)
      return
    }
    const more = this.#active === 0 ? 1 : isBusy ? 0 : this.#active
    for (let nth = 0; nth < more && this.#active < RENDERS_MAX; nth++) this.#beginNext()
    if (!this.#waiting.isEmpty) this.#checkAfter(CHECK_INTERVAL_MS)
  }

  #beginNext(): void {
    const begin = this.#waiting.take()
    if (!begin) return
    this.#active++
    begin()
  }
}

/** Pages of an address that are rendered or wait for their turn. */
const RENDERS_OF_ADDRESS_MAX = 10
/** As long as renders end, a page waits for its turn, like a request for a database connection. */
const TURN_WAIT_MAX_MS = 30_000
/** Time after the headers in which the rest of a page is rendered; its client may read slowly. */
const BODY_MAX_MS = 100
/** Time after which a page whose client has left counts as rendered, even if Next does not end. */
const ABANDONED_MS = 10_000
const queue = new RenderQueue()

const BUSY: PageRefusal = { error: refuse('too_many_requests', { retryAfterS: 1 }), reason: 'busy' }
const OVERLOADED: PageRefusal = {
  error: refuse('service_unavailable', { retryAfterS: 1 }),
  reason: 'overloaded',
}

/**
 * Renders a page when it is its turn; returns a refusal if its address has too many for 2 s, or if its
 * turn does not come.
 * Without an address, for files and in development, nothing is limited.
 */
export async function renderInTurn(
  request: IncomingMessage,
  response: ServerResponse,
  address: string | null,
  render: () => Promise<void>,
): Promise<HttpResponse | null> {
  // Sign-ins have places of their own, and a body that does not arrive must hold none of a page.
  const isPage = ['GET', 'HEAD'].includes(request.method ?? '')
  if (address === null || !isPage || request.url?.startsWith('/api/auth/')) {
    await render()
    return null
  }
  const network = networkOf(address)
  const ofAddress = `render ${network}`
  const isAddressLimited = env().RATE_IP_IN_FLIGHT > 0
  if (isAddressLimited && !(await enterAddress(ofAddress)))
    return buildPageRefusal(BUSY, request.headers)
  const leaveAddress = () => isAddressLimited && leaveGate(ofAddress)
  if (!(await queue.enter(network, performance.now() + TURN_WAIT_MAX_MS))) {
    leaveAddress()
    return buildPageRefusal(OVERLOADED, request.headers)
  }
  if (!response.closed) await renderWithPlaces(response, render, leaveAddress)
  else {
    leaveAddress()
    queue.leave()
  }
  return null
}

async function renderWithPlaces(
  response: ServerResponse,
  render: () => Promise<void>,
  leaveAddress: () => void,
): Promise<void> {
  const leaveProcess = once(() => queue.leave())
  const { writeHead } = response
  response.writeHead = ((...parameters: Parameters<typeof writeHead>) => {
    setTimeout(leaveProcess, BODY_MAX_MS)
    return writeHead.apply(response, parameters)
  }) as typeof writeHead
  const end = once(() => {
    leaveProcess()
    leaveAddress()
  })
  const rendering = render()
  const closed = new Promise(resolve => response.once('close', resolve))
  closed.then(() => setTimeout(end, ABANDONED_MS).unref())
  Promise.allSettled([rendering, closed]).then(end)
  await rendering
}

async function enterAddress(name: string): Promise<boolean> {
  try {
    await enterGate(name, RENDERS_OF_ADDRESS_MAX, performance.now() + WAIT_MAX_MS)
    return true
  } catch (error) {
    if (isTrocoError(error)) return false
    throw error
  }
}

function once(work: () => void): () => void {
  let isDone = false
  return () => {
    if (!isDone) work()
    isDone = true
  }
}

const SIGN_IN_PATH = '/api/auth/callback/credentials'
/** Below the bytes that Node buffers of a request, so that a body arrives before anyone reads it. */
const BODY_BYTES_MAX = 16 * 1024

/**
 * Maximum sign-ins in progress, in total, by network and by mark. Next takes milliseconds to refuse
 * one, the front microseconds. `unknown` is less than the queue of password hashes holds, so a flood
 * ends here. `step` is the second step or a passkey, which needs no hash.
 */
const PLACES = {
  known: { max: 200, perNetworkMax: 40, perMarkMax: 10 },
  unknown: { max: 50, perNetworkMax: 12, perMarkMax: 0 },
  step: { max: 50, perNetworkMax: 12, perMarkMax: 0 },
} as const

interface Place {
  kind: keyof typeof PLACES
  network: string
  mark: string | null
}

const taken = new Set<Place>()

export function isSignIn({ method }: IncomingMessage, path: string): boolean {
  return path === SIGN_IN_PATH && method === 'POST'
}

/**
 * Serves a sign-in if there is a place for it, once its body has arrived: a client that sends slowly
 * takes no place.
 */
export async function serveSignIn(
  request: IncomingMessage,
  response: ServerResponse,
  sender: Sender,
  serve: () => Promise<void>,
): Promise<void> {
  if (Number(request.headers['content-length'] ?? 0) > BODY_BYTES_MAX) {
    response.setHeader('connection', 'close')
    return sendResponse(response, refusalResponse(refuse('payload_too_large')), sender)
  }
  inviteBody(request)
  if (!(await hasArrived(request))) return
  const place = makePlace(request, sender.address)
  // Without a socket, the response waits for another one of its connection, perhaps forever.
  if (!response.socket || !hasFreePlace(place)) {
    request.resume()
    return sendResponse(response, refusalResponse(refuse('service_unavailable')), sender)
  }
  taken.add(place)
  // When the response is complete, not when the client has read it.
  response.once('prefinish', () => taken.delete(place))
  try {
    await serve()
  } finally {
    taken.delete(place)
  }
}

/** Waits for the whole body, which stays unread. Returns false if the client disconnected before. */
function hasArrived(request: IncomingMessage): Promise<boolean> {
  if (!(Number(request.headers['content-length']) > 0)) return Promise.resolve(true)
  return new Promise(resolve => {
    const check = () => {
      if (!request.complete && !request.destroyed) return
      request.off('readable', check).off('close', check)
      resolve(request.complete)
    }
    request.on('readable', check).on('close', check)
    check()
  })
}

function makePlace({ headers, url = '' }: IncomingMessage, address: string): Place {
  const mark = findIssuedMark(readCookie(headers.cookie ?? '', cookieNames().device) ?? '')
  const isStep = url.split('?')[1] === 'step'
  const network = siteOf(address) ?? networkOf(address)
  return { kind: mark ? 'known' : isStep ? 'step' : 'unknown', network, mark }
}

function hasFreePlace({ kind, network, mark }: Place): boolean {
  const { max, perNetworkMax, perMarkMax } = PLACES[kind]
  const others = [...taken].filter(other => other.kind === kind)
  if (others.length >= max) return false
  if (others.filter(other => other.network === network).length >= perNetworkMax) return false
  return !mark || others.filter(other => other.mark === mark).length < perMarkMax
}
